"""Two agents: agreement, kappa, abstentions, arbitration."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affidavit.base.errors import AffidavitError
from affidavit.decision.comparison import compare_outcomes
from affidavit.decision.report import ReportInput
from affidavit.gates.agreement import (
    LABEL_READER,
    PAIR_READER,
    AgreementCounts,
    Label,
    agreement_counts,
    agreement_items,
    agreement_report,
    arbitrate,
    join_labels,
)

SHORT = {"V": "VALID", "N": "NOT_IN_CONTEXT", "R": "REJECT", "A": "ABSTAIN"}


def pair(labels: str, qid: str = "q", **fields: Any) -> object:
    first, second = tuple(labels)
    return {
        "qid": qid,
        "scholar": {"label": SHORT[first], "reason": "because"},
        "auditor": {"label": SHORT[second]},
        **fields,
    }


def counts(*labels: str) -> AgreementCounts:
    return agreement_counts(
        PAIR_READER.from_value(pair(both, f"q{n:02}")) for n, both in enumerate(labels)
    )


FIGURES = {
    "the diagonal over all": (("VV", "NN", "RV"), "percent_agreement", 2 / 3),
    "a shared refusal is agreement": (("NN", "VV"), "percent_agreement", 1.0),
    "kappa beyond chance": (("VV", "VV", "RR", "VR"), "kappa", 0.5),
    "one label only: kappa is not measured, never 0": (("VV", "VV"), "kappa", None),
    "no pairs: nothing is measured": ((), "percent_agreement", None),
    "the scholar abstains": (("AV", "VV"), "abstain_rate", 0.5),
    "the auditor abstains: counted too": (("VA", "VV"), "abstain_rate", 0.5),
    "both abstain: counted once": (("AA", "VV"), "abstain_rate", 0.5),
}


@pytest.mark.parametrize(("labels", "name", "wanted"), FIGURES.values(), ids=FIGURES.keys())
def test_figure(labels: tuple[str, ...], name: str, wanted: float | None) -> None:
    assert counts(*labels).measures()[name].value == wanted


FLAG = {"provenance_violation": True}
MISMATCH = {"constraints_mismatch": True}
CITES = {"answer_json": {"claim": "c", "citations": ["p1"]}}

ARBITRATED = {
    "a flag rejects": ("VV", {"flags": FLAG}, "REJECT", "hard_flag"),
    "the other flag too": ("VV", {"flags": MISMATCH}, "REJECT", "hard_flag"),
    "a citation out of scope": (
        "VV",
        {**CITES, "retrieved_ids": ["p2"]},
        "REJECT",
        "citation_out_of_scope",
    ),
    "a citation in scope": ("VV", {**CITES, "retrieved_ids": ["p1"]}, "VALID", "auditor_ok"),
    "retrieved ids unknown": ("VV", CITES, "VALID", "auditor_ok"),
    "a shared refusal is accepted": ("NN", {}, "NOT_IN_CONTEXT", "shared_refusal"),
    "the auditor's veto": ("VR", {}, "REJECT", "auditor_veto"),
    "the auditor abstains": ("VA", {}, "REJECT", "auditor_veto"),
    "a refusal that the auditor approves": ("NV", {}, "VALID", "auditor_ok"),
    "the scholar rejects what the auditor approves": ("RV", {}, "REJECT", "incoherent_pair"),
}


@pytest.mark.parametrize(
    ("labels", "fields", "final", "why"), ARBITRATED.values(), ids=ARBITRATED.keys()
)
def test_arbitration(labels: str, fields: dict[str, Any], final: str, why: str) -> None:
    assert arbitrate(PAIR_READER.from_value(pair(labels, **fields))) == (final, why)


DECIDED = {
    "all gates pass": (["VV"] * 12 + ["RR"] * 12, "ship"),
    "they differ too often": (["VV"] * 5 + ["RV"] * 5, "no_ship"),
    "one label only cannot be told from chance": (["VV"] * 20, "inconclusive"),
    "no pairs": ([], "inconclusive"),
    "too many abstentions": (["VV"] * 8 + ["RR"] * 8 + ["AA"], "no_ship"),
}


@pytest.mark.parametrize(("labels", "decision"), DECIDED.values(), ids=DECIDED.keys())
def test_decision(labels: list[str], decision: str) -> None:
    assert agreement_report(counts(*labels), {}).decision == decision


def test_the_report() -> None:
    made = agreement_report(
        counts(*["VV"] * 9, *["RR"] * 9, "VR"),
        {"pairs": ReportInput(path="p.jsonl", digest=None, rows=20, skipped=1)},
        unpaired=["z"],
        duplicates=1,
    )
    wire = made.to_builtins()
    assert wire["offenders"] == [
        {
            "qid": "q18",
            "scholar": "VALID",
            "auditor": "REJECT",
            "final": "REJECT",
            "why": "auditor_veto",
            "question": "",
            "scholar_reason": "because",
            "auditor_reason": None,
            "claim": None,
            "citations": None,
            "retrieved_ids": None,
        }
    ]
    details = wire["details"]
    assert details["confusion"][0] == {"scholar": "REJECT", "auditor": "REJECT", "count": 9}
    assert details["base_rate"] == 0.526316
    assert details["disagreements"] == 1
    assert wire["decision"] == "inconclusive"
    assert wire["metrics"]["kappa"]["ci95"] is not None
    assert made.reasons == (
        "lines that were not rows and were skipped: 1",
        "questions that only one agent labelled: 1",
    )
    allowed = agreement_report(counts("VV", "RR"), {}, unpaired=["z"], allow_missing=True)
    assert allowed.decision == "ship"
    assert allowed.warnings == ("questions that only one agent labelled: 1",)
    assert allowed.listings["labelled_once"].first == ("z",)


def test_the_items_and_a_baseline() -> None:
    rows = [PAIR_READER.from_value(pair("VV", "a")), PAIR_READER.from_value(pair("VR", "b"))]
    items = agreement_items(rows)
    before = {f"q{n}": True for n in range(6)}
    made = agreement_report(
        agreement_counts(rows),
        {},
        items=items,
        comparison=compare_outcomes(before, dict.fromkeys(before, False)),
    )
    assert made.to_builtins()["items"] == [
        {"outcome": "fail", "qids": ["b"]},
        {"outcome": "pass", "qids": ["a"]},
    ]
    assert made.reasons[0].startswith("worse than the baseline")


def test_two_files_of_labels_are_joined() -> None:
    first = {"a": LABEL_READER.from_value({"qid": "a", "label": "VALID"})}
    second = {**first, "b": LABEL_READER.from_value({"qid": "b", "label": "REJECT"})}
    pairs, alone = join_labels(first, second)
    assert [(made.qid, made.scholar.label, made.auditor.label) for made in pairs] == [
        ("a", Label.VALID, Label.VALID)
    ]
    assert alone == ("b",)


def test_an_unknown_label_is_refused_not_skipped() -> None:
    with pytest.raises(AffidavitError) as caught:
        LABEL_READER.from_line(b'{"qid": "a", "label": "OK"}', 2, "s.jsonl")
    assert (caught.value.fault.code, caught.value.where.field) == ("AF412", "label")


both = st.lists(st.sampled_from([a + b for a in SHORT for b in SHORT]), max_size=20)


@given(both, both)
def test_parts_merge(first: list[str], second: list[str]) -> None:
    rows = [
        PAIR_READER.from_value(pair(labels, f"q{n:02}")) for n, labels in enumerate(first + second)
    ]
    one, two = agreement_counts(rows[: len(first)]), agreement_counts(rows[len(first) :])
    assert one + two == two + one == agreement_counts(reversed(rows))


OVERRULED: dict[str, tuple[str, dict[str, Any], bool]] = {
    "a flag against both": ("VV", {"flags": {"provenance_violation": True}}, True),
    "lost constraints": ("VV", {"flags": {"constraints_mismatch": True}}, True),
    "a citation of what was not retrieved": (
        "VV",
        {"answer_json": {"citations": ["p9"]}, "retrieved_ids": ["p1"]},
        True,
    ),
    "a flagged refusal": ("NN", {"flags": {"provenance_violation": True}}, True),
    "a flag in the record of one agent": (
        "VV",
        {"auditor": {"label": "VALID", "flags": {"provenance_violation": True}}},
        True,
    ),
    "both reject it already": ("RR", {"flags": {"provenance_violation": True}}, False),
    "a difference is counted as one": ("VR", {"flags": {"provenance_violation": True}}, False),
    "a veto is not a check": ("AA", {}, False),
    "nothing is wrong": ("VV", {}, False),
}


@pytest.mark.parametrize(("labels", "fields", "wanted"), OVERRULED.values(), ids=OVERRULED.keys())
def test_overruled(labels: str, fields: dict[str, Any], wanted: bool) -> None:
    made = PAIR_READER.from_value(pair(labels, **fields))
    assert agreement_counts([made]).measures()["overruled"].value == wanted
    (item,) = agreement_items([made])
    assert item.outcome is (labels[0] == labels[1] and not wanted)
