"""The table of config keys in docs/gates.md is the one that the program reads."""

import re

from tests.repository import ROOT

from affidavit.app.gate_agreement import AgreementPlan
from affidavit.app.gate_inputs import GatePlan
from affidavit.app.gate_latency import LatencyPlan
from affidavit.app.gate_rag import RagPlan
from affidavit.app.gate_research import ResearchPlan
from affidavit.app.gate_stability import StabilityPlan

PAGE = (ROOT / "docs" / "gates.md").read_text("utf-8")
FORMS = {
    "rag": RagPlan,
    "latency": LatencyPlan,
    "agreement": AgreementPlan,
    "stability": StabilityPlan,
    "research": ResearchPlan,
}


def listed(first_cell: str) -> set[str]:
    row = next(line for line in PAGE.splitlines() if line.startswith(f"| {first_cell} |"))
    return set(re.findall(r"`(\w+)`", row.split("|")[2]))


def test_every_key_is_listed_and_nothing_else() -> None:
    shared = listed("each of the five")
    assert shared == set(GatePlan.__struct_fields__)
    for name, form in FORMS.items():
        assert listed(f"`[gates.{name}]`") | shared == set(form.__struct_fields__)
    assert listed("`[gates]`") == {"history"}
