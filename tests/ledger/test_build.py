"""Making a ledger, and making it again: rules B, V, F, K and Q of docs/ledger.md."""

import pytest
from msgspec.structs import replace
from tests.ledger import examples
from tests.ledger.small_ledgers import DOCUMENTS, ledger

from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit
from affidavit.decision.decision import Decision
from affidavit.ledger.adjudication import replay_ledger
from affidavit.ledger.claims import split_answer
from affidavit.ledger.model import FindingKind, Reading, SupportLevel, Verdict
from affidavit.ledger.record import ConfidenceComponents, RiskSeverity, RiskType
from affidavit.ledger.risk import RISKS
from affidavit.ledger.rules import LedgerRules, RiskThresholds, VerdictThresholds
from affidavit.ledger.verdict import round_score

FULL, PARTIAL = SupportLevel.FULL, SupportLevel.PARTIAL


def test_the_seeds_example() -> None:
    made = examples.seed_ledger()
    assert [entry.verdict.value for entry in made.entries] == [
        "supported",
        "supported",
        "weak",
        "not_found",
    ]
    assert made.summary.evidence_coverage == 0.75
    assert made.summary.unsupported_rate == 0.25
    assert made.gates.decision is Decision.NO_SHIP
    assert made.gates.exit is Exit.NO
    assert not made.findings
    flag = made.risk_flags[0]
    assert (flag.type, flag.severity) == (RiskType.MISSING_EVIDENCE, RiskSeverity.HIGH)
    assert flag.affected_claims == ("clm_004",)
    assert flag.description == "1 claim could not be verified from provided documents"


def test_same_inputs_same_ledger() -> None:
    assert examples.seed_ledger() == examples.seed_ledger()


def test_a_ledger_equals_its_replay() -> None:
    made = examples.seed_ledger()
    assert replay_ledger(made) == made
    first, *others = made.entries
    changed = replace(first, verdict=Verdict.WEAK)
    assert replay_ledger(replace(made, entries=(changed, *others))) == made
    moved = replace(first, readings=())
    assert replay_ledger(replace(made, entries=(moved, *others))) != made


def test_replay_keeps_the_findings_of_the_answer_and_of_its_citations() -> None:
    made = examples.ledger_of("Leave is paid [7] [cite:zz].", {})
    assert [finding.kind for finding in made.findings] == [
        FindingKind.MALFORMED_CITATION,
        FindingKind.UNRESOLVED_CITATION,
    ]
    assert replay_ledger(made) == made


def test_ids_are_made_from_content() -> None:
    made = examples.seed_ledger()
    later = replace(examples.REQUEST, generated_at="2026-02-01T00:00:00Z")
    again = examples.ledger_with(request=later)
    assert (again.ledger_id, again.session_id) == (made.ledger_id, made.session_id)
    strict = examples.seed_ledger(LedgerRules(verdict=VerdictThresholds(supported_above=0.99)))
    assert strict.ledger_id != made.ledger_id
    assert strict.session_id != made.session_id, "stricter rules must not replace the record"
    other = replace(examples.REQUEST, query="Another question?")
    asked = examples.ledger_with(request=other)
    assert asked.session_id != made.session_id
    assert [flag.id for flag in asked.risk_flags] == [flag.id for flag in made.risk_flags]
    assert made.ledger_id.startswith("led_")
    assert made.session_id.startswith("ses_")
    assert made.risk_flags[0].id.startswith("rsk_")


def test_the_order_of_readings_decides_nothing() -> None:
    one = ledger("material: A full 0.9, B full 0.9, O partial 0.95")
    other = ledger("material: O partial 0.95, B full 0.9, A full 0.9")
    assert one.entries[0].verdict is other.entries[0].verdict is Verdict.WEAK
    assert one.entries[0].confidence_score == other.entries[0].confidence_score


def test_only_what_must_rest_on_evidence_is_an_entry() -> None:
    made = examples.ledger_of("Hello! Leave is paid. Is it long?", {})
    assert [entry.claim_text for entry in made.entries] == ["Leave is paid"]
    assert [remark.claim_text for remark in made.remarks] == ["Hello", "Is it long?"]


def test_notes_say_what_the_rule_and_the_judge_say() -> None:
    made = examples.seed_ledger()
    notes = [entry.notes for entry in made.entries]
    assert notes[0] == f'Directly supported by: "{examples.ENTITLED}"'
    assert notes[2].startswith(f'Partially supported: "{examples.CARRYOVER}" ')
    assert notes[2].endswith("limits what the claim says without limit")
    assert notes[3] == "Evidence does not adequately support claim"
    nothing = ledger("material:").entries[0]
    assert nothing.notes == "No matching evidence found in provided documents"
    against = ledger("material: A against 0.9").entries[0]
    assert against.notes == 'Evidence contradicts claim: "Passage 0 on clm_001."'


def test_the_passage_is_kept_where_it_matters() -> None:
    (entry,) = ledger("material: A full 0.9, B none 0.5, O against 0.4").entries
    assert [reading.passage is not None for reading in entry.readings] == [True, False, True]


def test_a_reading_may_know_its_page_better_than_the_chunk() -> None:
    known = replace(examples.reading("doc_hr001_0", FULL, 0.9), page_number=13)
    made = examples.ledger_of("Leave is paid.", {"clm_001": (known,)})
    assert made.entries[0].deciding_readings[0].page_number == 13
    chunks = examples.ledger_of("Leave is paid.", {"clm_001": (replace(known, page_number=None),)})
    assert chunks.entries[0].deciding_readings[0].page_number == 12


def test_a_contradiction_is_never_support() -> None:
    reading = examples.reading("doc_hr001_0", FULL, 0.99, against=0.2)
    made = examples.ledger_of("Leave is paid.", {"clm_001": (reading,)})
    assert made.entries[0].verdict is Verdict.CONTRADICTED
    assert made.entries[0].confidence_score == 0.2


def test_the_strongest_contradiction_stands_first() -> None:
    (entry,) = ledger("material: A against 0.6, B against 0.9").entries
    assert [reading.document_id for reading in entry.deciding_readings] == ["B", "A"]


def test_thresholds_of_the_rules_are_used() -> None:
    rules = LedgerRules(verdict=VerdictThresholds(match_from=0.5, contradicted_from=0.7))
    (weak,) = ledger("material: A full 0.4, B against 0.6", rules=rules).entries
    assert weak.verdict is Verdict.NOT_FOUND
    high = LedgerRules(verdict=VerdictThresholds(supported_above=0.95))
    low = ledger("material: A full 0.9", rules=high)
    assert low.entries[0].verdict is Verdict.WEAK


def test_scores_are_rounded_before_they_are_compared() -> None:
    reading = examples.reading("doc_hr001_0", FULL, 0.85004, directness=0.33335)
    made = examples.ledger_of("Leave is paid.", {"clm_001": (reading,)})
    entry = made.entries[0]
    assert entry.verdict is Verdict.WEAK
    assert entry.confidence_components == ConfidenceComponents(0.85, 1, round_score(0.33335), 1.0)


def test_components_are_stored_only_where_the_formula_is_used() -> None:
    made = ledger("material: A full 0.9 \u2016 material: A against 0.9 \u2016 material:")
    assert [entry.confidence_components is None for entry in made.entries] == [False, True, True]


def test_an_undated_source_has_half_the_quality() -> None:
    (entry,) = ledger("material: U full 0.9").entries
    assert entry.confidence_components is not None
    assert entry.confidence_components.source_quality == 0.5
    assert not any(f.type is RiskType.OUTDATED_SOURCE for f in ledger("minor: U full 1").risk_flags)


def test_the_six_risks_say_what_the_seed_says() -> None:
    assert set(RISKS) == set(RiskType)
    severities = [RISKS[kind].severity.value for kind in RiskType]
    assert severities == ["high", "high", "medium", "medium", "high", "medium"]


def flags(line: str) -> dict[RiskType, tuple[str, ...]]:
    return {flag.type: flag.affected_claims for flag in ledger(line).risk_flags}


def test_missing_evidence_names_the_critical_ones() -> None:
    made = ledger("critical: \u2016 material: \u2016 minor:")
    assert made.risk_flags[0].affected_claims == ("clm_001", "clm_002", "clm_003")
    assert made.risk_flags[0].description == (
        "3 claims could not be verified from provided documents, 1 of them critical"
    )


MISSING = {
    "only critical ones": ("critical: \u2016 critical:", "2 critical claims", RiskSeverity.HIGH),
    "only minor ones weigh little": ("minor:", "1 minor claim", RiskSeverity.LOW),
    "one that is not minor": ("minor: \u2016 material:", "2 claims", RiskSeverity.HIGH),
}


@pytest.mark.parametrize(("line", "who", "severity"), MISSING.values(), ids=MISSING.keys())
def test_missing_evidence_of_any_importance_is_a_risk(
    line: str, who: str, severity: RiskSeverity
) -> None:
    flag = ledger(line).risk_flags[0]
    assert (flag.type, flag.severity) == (RiskType.MISSING_EVIDENCE, severity)
    assert flag.description == f"{who} could not be verified from provided documents"


def test_several_contradictions_are_one_flag() -> None:
    made = ledger("minor: A against 0.9 \u2016 critical: A against 0.8")
    assert made.risk_flags[0].description == "2 claims contradict the source documents"
    single = ledger("minor: A against 0.9")
    assert single.risk_flags[0].description == "1 claim contradicts the source documents"


def test_a_source_is_outdated_after_more_than_the_days() -> None:
    on_the_day = LedgerRules(risk=RiskThresholds(outdated_after_days=216))
    a_day_less = LedgerRules(risk=RiskThresholds(outdated_after_days=215))
    kinds = [
        {flag.type for flag in ledger("minor: A full 1", rules=rules).risk_flags}
        for rules in (on_the_day, a_day_less)
    ]
    assert [RiskType.OUTDATED_SOURCE in seen for seen in kinds] == [False, True]


def test_an_outdated_source_that_nothing_rests_on_is_no_risk() -> None:
    assert RiskType.OUTDATED_SOURCE not in flags("minor: A full 1, B full 1, O none 0.9")


def test_a_torn_reading_is_ambiguous() -> None:
    torn = replace(examples.reading("doc_hr001_0", PARTIAL, 0.6), contradiction=0.55)
    made = examples.ledger_of("Leave is paid.", {"clm_001": (torn,)})
    assert RiskType.AMBIGUOUS_EVIDENCE in {flag.type for flag in made.risk_flags}


@pytest.mark.parametrize(
    ("readings", "wanted"),
    [
        ("A partial 0.95, B full 0.85", True),
        ("A partial 0.95, B full 0.84", False),
        ("A partial 0.95, B partial 0.95", False),
        ("A full 0.95, B partial 0.95", False),
        ("A full 0.8, B partial 0.75", True),
    ],
)
def test_near_readings_of_a_weak_claim_must_agree(readings: str, wanted: bool) -> None:
    assert (RiskType.AMBIGUOUS_EVIDENCE in flags(f"minor: {readings}")) is wanted


def test_one_document_against_itself_is_no_conflict_of_sources() -> None:
    seen = flags("minor: A full 0.9, A against 0.9")
    assert RiskType.CONFLICTING_SOURCES not in seen
    assert RiskType.AMBIGUOUS_EVIDENCE in seen


def test_low_confidence_names_the_low_ones() -> None:
    made = ledger("minor: A full 1 \u2016 minor:")
    flag = made.risk_flags[-1]
    assert flag.type is RiskType.LOW_CONFIDENCE
    assert flag.description == "Overall confidence is low (42%)"
    assert flag.affected_claims == ("clm_002",)


def test_questions_ask_about_what_is_not_settled() -> None:
    made = ledger(
        "minor: A full 0.9 \u2016 minor: \u2016 minor: A partial 0.9 \u2016 minor: A against 0.9 "
        "\u2016 minor: A against 0.9, A full 0.8, B against 0.7"
    )
    assert made.follow_up_questions == (
        "Which document covers claim #2 (\u201cClaim 2 is so\u201d)?",
        "Does A.pdf, Page 1 say all of claim #3 (\u201cClaim 3 is so\u201d), or only a part of it?",
        "Should claim #4 (\u201cClaim 4 is so\u201d) be corrected to what A.pdf, Page 1 says?",
        "Which source is authoritative for claim #5 (\u201cClaim 5 is so\u201d): "
        "B.pdf, Page 1 or A.pdf, Page 1?",
    )


def test_actions_gather_what_is_alike() -> None:
    made = ledger("minor: \u2016 minor: \u2016 minor: \u2016 minor: O partial 0.9, O against 0.1")
    assert made.recommended_actions == (
        "Upload additional documents covering "
        "\u201cClaim 1\u201d, \u201cClaim 2\u201d and \u201cClaim 3\u201d",
        "Review claims #1, #2 and #3 and consider removing or qualifying",
        "Correct claim #4, which O.pdf, Page 1 contradicts",
        "Verify with current documentation: O.pdf is dated 2020-01-01, more than 365 days before "
        "the answer (2026-01-03)",
        "Seek clarification or additional sources for claim #4",
    )


def test_a_topic_without_a_verb_is_the_whole_claim() -> None:
    made = examples.ledger_of("Free lunch for all of them.", {})
    assert "\u201cFree lunch for all of them\u201d" in made.recommended_actions[0]


ERRORS = {
    "a reading of a claim that is none": (
        {"clm_009": (examples.reading("doc_hr001_0"),)},
        "AF242: .* the claim 'clm_009'",
    ),
    "a reading of a chunk that was not given": (
        {"clm_001": (examples.reading("nowhere"),)},
        "AF242: .* the chunk 'nowhere'",
    ),
    "a score that is no number": (
        {"clm_001": (examples.reading("doc_hr001_0", FULL, float("nan")),)},
        "AF243: field similarity: .* nan",
    ),
    "a score above one": (
        {"clm_001": (examples.reading("doc_hr001_0", against=1.5),)},
        "AF243: field contradiction: .* 1.5",
    ),
}


@pytest.mark.parametrize(("readings", "message"), ERRORS.values(), ids=ERRORS.keys())
def test_readings_that_cannot_be(readings: dict[str, tuple[Reading, ...]], message: str) -> None:
    with pytest.raises(AffidavitError, match=message):
        examples.ledger_of("Leave is paid.", readings)


def test_a_chunk_of_a_document_that_was_not_given() -> None:
    with pytest.raises(AffidavitError, match="the document 'doc_hr001'"):
        examples.ledger_with(documents=())


@pytest.mark.parametrize("bad", ["answer", "document"])
def test_a_date_that_is_none(bad: str) -> None:
    request = replace(
        examples.REQUEST, answer_date="yesterday" if bad == "answer" else "2026-01-03"
    )
    document = replace(DOCUMENTS[0], date="2025" if bad == "document" else None)
    with pytest.raises(AffidavitError, match="AF244"):
        examples.ledger_with(split_answer("Leave is paid."), {}, request, documents=(document,))
