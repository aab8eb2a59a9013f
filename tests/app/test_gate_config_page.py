"""The table of config keys in docs/gates.md is the one that the program reads."""

import re

from tests.repository import ROOT

from affidavit.app import gate_all as settings

PAGE = (ROOT / "docs" / "gates.md").read_text("utf-8")
FORMS = {
    "rag": settings.RagTableV1,
    "latency": settings.LatencyTableV1,
    "agreement": settings.AgreementTableV1,
    "stability": settings.StabilityTableV1,
    "research": settings.ResearchTableV1,
}


def listed(first_cell: str) -> set[str]:
    row = next(line for line in PAGE.splitlines() if line.startswith(f"| {first_cell} |"))
    return set(re.findall(r"`(\w+)`", row.split("|")[2]))


def test_every_key_is_listed_and_nothing_else() -> None:
    shared = listed("each of the five")
    assert shared == set(settings.GateTableV1.__struct_fields__)
    for name, form in FORMS.items():
        assert listed(f"`[gates.{name}]`") | shared == set(form.__struct_fields__)
    assert listed("`[gates]`") == {"history"}
