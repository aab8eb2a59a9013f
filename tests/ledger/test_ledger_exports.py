"""The exports: sections 9.1 and 9.2 of the seed, and the way back."""

import json

import pytest
from msgspec.structs import replace
from tests.golden_files import Golden
from tests.ledger import examples
from tests.ledger.small_ledgers import ledger

from affidavit.base.errors import AffidavitError
from affidavit.ledger.labels import (
    full_place,
    long_place,
    percent_rounded_down,
    short_place,
    verdict_label,
)
from affidavit.ledger.record import LocatedReading, ledger_from_json, ledger_to_json
from affidavit.ledger.rules import DEFAULT_RULES, with_gates
from affidavit.reports.ledger_markdown import ledger_to_markdown


def test_markdown_of_the_seeds_example(golden: Golden) -> None:
    golden.check("seed_example.md", ledger_to_markdown(examples.seed_ledger()))


def test_json_of_the_seeds_example(golden: Golden) -> None:
    golden.check("seed_example.json", ledger_to_json(examples.seed_ledger()))


def test_markdown_of_every_verdict_and_flag(golden: Golden) -> None:
    made = ledger(
        "critical: A full 0.9 \u2016 material: O partial 0.9, B full 0.85 \u2016 critical: \u2016 "
        "minor: A against 0.9, B full 0.9, A partial 0.5"
    )
    golden.check("every_verdict.md", ledger_to_markdown(made))


def test_markdown_of_an_answer_without_claims(golden: Golden) -> None:
    golden.check("no_claims.md", ledger_to_markdown(ledger("")))


def test_the_json_has_every_field_of_the_seeds_shape() -> None:
    """Section 9.2, field by field."""
    made = json.loads(ledger_to_json(examples.seed_ledger()))
    assert {"ledger_id", "session_id", "generated_at", "summary", "entries", "risk_flags"} < set(
        made
    )
    assert made["schema_version"] == "affidavit.ledger/2"
    summary = made["summary"]
    assert summary["total_claims"] == 4
    assert summary["evidence_coverage"] == 0.75
    assert summary["by_verdict"] == {
        "supported": 2,
        "weak": 1,
        "contradicted": 0,
        "not_found": 1,
    }
    first = made["entries"][0]
    assert first["claim_id"] == "clm_001"
    assert first["claim_text"] == "Employees are entitled to 15 days of annual leave"
    assert (first["claim_type"], first["importance"]) == ("policy", "critical")
    assert first["verdict"] == "supported"
    assert first["evidence"]["chunk_ids"] == ["00f66349"]
    assert first["evidence"]["snippet"] == examples.ENTITLED
    source = first["evidence"]["source"]
    assert (source["document_id"], source["filename"]) == ("doc_hr001", "HR_Policy.pdf")
    assert source["page_number"] == 12
    flag = made["risk_flags"][0]
    assert (flag["type"], flag["severity"]) == ("missing_evidence", "high")
    assert flag["affected_claims"] == ["clm_004"]
    assert made["entries"][3]["evidence"] == {"chunk_ids": [], "snippet": None, "source": None}


def test_text_of_others_cannot_act_as_markdown() -> None:
    answer = "Use `<b>` *here* \\[now\\] and a_b or \\_c\\_."
    text = ledger_to_markdown(examples.ledger_of(answer, {}))
    assert "#### 1. Use \\<b\\> here \\[now\\] and a_b or \\_c\\_\n" in text


LEDGERS = {
    "the seed's": examples.seed_ledger(),
    "without claims": ledger(""),
    "with findings and remarks": examples.ledger_of("Hello! Leave is paid [7] [cite:zz].", {}),
    "with other gates": ledger("minor: A against 0.9", ("coverage=off", "supported>=0.123456789")),
    "every verdict": ledger(
        "critical: A full 0.9 \u2016 minor: B against 0.4 \u2016 minor: U partial 0.1"
    ),
}


@pytest.mark.parametrize("name", LEDGERS)
def test_reading_what_was_written_gives_the_same_ledger(name: str) -> None:
    made = LEDGERS[name]
    assert ledger_from_json(ledger_to_json(made)) == made


def changed(**values: object) -> bytes:
    made = json.loads(ledger_to_json(examples.seed_ledger()))
    for path, value in values.items():
        place = made
        *steps, last = path.split("__")
        for step in steps:
            place = place[int(step) if step.isdigit() else step]
        if value is None:
            del place[last]
        else:
            place[last] = value
    return json.dumps(made).encode()


REFUSED = {
    "not JSON": (b"{", "AF0"),
    "not an object": (b"[]", "AF240"),
    "another schema": (changed(schema_version="affidavit.ledger/9"), "AF241.*'affidavit.ledger/9'"),
    "a missing field": (changed(answer=None), "AF240: field answer: .*missing"),
    "an unknown field": (changed(extra=1), "AF240: .*`extra`"),
    "an unknown verdict": (
        changed(entries__0__verdict="maybe"),
        r"AF240: field entries\[0\]\.verdict",
    ),
    "a time without a zone": (changed(generated_at="2026-01-03"), "AF240: field generated_at"),
    "a snippet that the readings do not have": (
        changed(entries__0__evidence__snippet="Leave is endless."),
        "AF240: .*agree",
    ),
    "a chunk that was not read": (
        changed(entries__0__rests_on=["x"]),
        r"AF240: field entries\[0\]\.rests_on",
    ),
    "a document that is not listed": (
        changed(documents=[]),
        r"AF240: field entries\[0\]\.readings",
    ),
    "a gate that is off": (
        changed(gates__results__0__gate="coverage=off"),
        r"AF240: field gates\.results",
    ),
    "a gate that is none": (changed(gates__results__0__gate="x"), "AF400"),
}


@pytest.mark.parametrize(("data", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_no_ledger_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(AffidavitError, match=message):
        ledger_from_json(data)


def place(page: int | None, *headings: str) -> LocatedReading:
    made = examples.located_reading("HR")
    return replace(made, page_number=page, heading_path=headings)


PLACES = {
    "a page": (place(12), "HR.pdf, p.12", "HR.pdf, Page 12", "HR.pdf, Page 12"),
    "a page and a section": (
        place(15, "4 Leave", "4.2 Carryover"),
        "HR.pdf, p.15",
        "HR.pdf, Page 15",
        "HR.pdf, Page 15, Section 4.2",
    ),
    "a section": (
        place(None, "Section 3.2: Notice"),
        "HR.pdf, \u00a73.2",
        "HR.pdf, Section 3.2",
        "HR.pdf, Section 3.2",
    ),
    "the innermost numbered heading": (
        place(None, "3 Leave", "Notes"),
        "HR.pdf, \u00a73",
        "HR.pdf, Section 3",
        "HR.pdf, Section 3",
    ),
    "a heading without a number": (
        place(None, "Leave", "Notes"),
        "HR.pdf, \u201cNotes\u201d",
        "HR.pdf, \u201cNotes\u201d",
        "HR.pdf, \u201cNotes\u201d",
    ),
    "nothing but the file": (place(None), "HR.pdf", "HR.pdf", "HR.pdf"),
}


@pytest.mark.parametrize(("reading", "short", "long", "full"), PLACES.values(), ids=PLACES.keys())
def test_places(reading: LocatedReading, short: str, long: str, full: str) -> None:
    assert (short_place(reading), long_place(reading), full_place(reading)) == (short, long, full)


def test_a_share_is_never_rounded_up() -> None:
    assert [percent_rounded_down(share) for share in (0.849, 0.29, 1.0, 0.0)] == [
        "84%",
        "29%",
        "100%",
        "0%",
    ]


def test_verdict_labels() -> None:
    assert [verdict_label(entry.verdict) for entry in LEDGERS["every verdict"].entries] == [
        "\u2713 Supported",
        "\u2717 Contradicted",
        "? Weak",
    ]


def test_markdown_says_what_was_found_beside_the_verdicts() -> None:
    assert "### Findings" not in ledger_to_markdown(examples.seed_ledger())
    dangling = examples.ledger_of("Leave is paid for 15 days [cite:deadbeef].", {})
    text = ledger_to_markdown(dangling)
    assert "### Findings" in text
    assert "deadbeef" in text.partition("### Findings")[2]


def test_markdown_says_that_no_gate_decides_nothing() -> None:
    off = tuple(f"{gate.key}=off" for gate in DEFAULT_RULES.active_gates)
    text = ledger_to_markdown(examples.seed_ledger(with_gates(DEFAULT_RULES, off)))
    assert "**Inconclusive**" in text
    assert "No gate was set" in text
