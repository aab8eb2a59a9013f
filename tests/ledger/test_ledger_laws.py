"""Laws of the ledger, for any answer and any readings."""

from itertools import pairwise
from random import Random

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.ledger.small_ledgers import ledger

from affidavit.decision.decision import Decision, GateStatus
from affidavit.ledger.adjudication import replay_ledger
from affidavit.ledger.claims import split_answer
from affidavit.ledger.gates import DEFAULT_GATES
from affidavit.ledger.model import Claim, Exemption, LeftOut, Verdict
from affidavit.ledger.record import ConfidenceComponents, Ledger, ledger_from_json, ledger_to_json
from affidavit.ledger.remarks import find_exemption
from affidavit.ledger.verdict import confidence

VOCABULARY = """
    Leave leave notice is are must may paid short 15 days, and but while they managers who
    if the of [1] [cite:b8b859ac] (p1#2) **bold** `code` [link](x.pdf) However, documents |
    It they which who a most both costs includes was built made Acme, making because I believe (1)
    According to passage 1, \u3010 \u3011 \u00b9 \u3002 \u300c \u0964 \u5e74\u5047
    (HR.pdf, p. 7) 9 am. ++
    - # > 1. : Employees; HR_Policy.pdf between 5 ? ! . e.g. \u201cquoted\u201d caf\u00e9
    \U0001f600
"""
WORDS = st.sampled_from(VOCABULARY.split())
LINES = st.lists(WORDS, max_size=12).map(" ".join)
MARKDOWN = st.lists(LINES, max_size=8).map("\n".join)
ANSWERS = st.one_of(MARKDOWN, st.text(max_size=200))

SCORES = st.sampled_from(["0", "0.3", "0.5", "0.7", "0.85", "0.9", "1"])
READINGS = st.tuples(
    st.sampled_from("ABUO"), st.sampled_from(["full", "partial", "none", "against"]), SCORES
).map(" ".join)
CLAIMS = st.tuples(
    st.sampled_from(["critical", "material", "minor"]),
    st.lists(READINGS, max_size=4).map(", ".join),
).map(": ".join)
LINES_OF_CLAIMS = st.lists(CLAIMS, max_size=6)
GATES = st.sets(st.sampled_from([gate.key for gate in DEFAULT_GATES])).map(
    lambda names: tuple(sorted(f"{name}=off" for name in names))
)
LOOSE_GATES = st.sampled_from(
    [
        (),
        ("contradictions<=9",),
        ("supported>=0.5", "coverage=off"),
        ("weak<=0.6", "minor_unsupported<=0.5", "unsupported<=0.5"),
    ]
)


def all_claims(answer: str) -> list[Claim]:
    split = split_answer(answer)
    return sorted((*split.claims, *split.remarks), key=lambda claim: claim.span.start)


def holds_in_order(letters: str, text: str) -> bool:
    rest = iter(text)
    return all(letter in rest for letter in letters)


@given(ANSWERS)
def test_a_span_leads_back_to_the_text(answer: str) -> None:
    for claim in all_claims(answer):
        there = answer[claim.span.start : claim.span.end]
        # What introduces a list, or heads a table, stands before the text of its own place.
        said = "".join(char for char in there if char.isalnum())
        text = "".join(char for char in claim.text if char.isalnum())
        assert holds_in_order(text, said) or ": " in claim.text
        assert there.strip() == there != ""


@given(MARKDOWN)
def test_prose_is_found_letter_for_letter(answer: str) -> None:
    prose = answer.replace("|", "").replace("\n", " ").replace(":", "")
    for claim in all_claims(prose):
        assert holds_in_order(claim.text, prose[claim.span.start : claim.span.end])


@given(ANSWERS)
def test_spans_are_in_order_and_inside(answer: str) -> None:
    spans = [claim.span for claim in all_claims(answer)]
    assert all(0 <= span.start < span.end <= len(answer) for span in spans)
    assert all(one.end <= other.start or one == other for one, other in pairwise(spans))


@given(ANSWERS)
def test_every_letter_and_digit_is_accounted_for(answer: str) -> None:
    split = split_answer(answer)
    found: tuple[Claim | LeftOut, ...] = (*split.claims, *split.remarks, *split.left_out)
    spans = [each.span for each in found]
    covered = {at for span in spans for at in range(span.start, span.end)}
    assert all(at in covered for at, char in enumerate(answer) if char.isalnum())


@given(ANSWERS)
def test_a_claim_is_neither_too_short_nor_too_long(answer: str) -> None:
    for claim in split_answer(answer).claims:
        assert len(claim.text) <= 500
        assert find_exemption(claim.statement) is not Exemption.TOO_SHORT


@given(ANSWERS)
def test_splitting_is_deterministic(answer: str) -> None:
    assert split_answer(answer) == split_answer(answer)


PLAIN_WORDS = """
    leave notice is are must may paid short 15 days and but while they managers who if the of
    employees documents, pay; between HR_Policy.pdf leave, notice; good"""
PLAIN = st.lists(
    st.sampled_from(PLAIN_WORDS.split()),
    min_size=3,
    max_size=14,
).map(lambda words: " ".join(words).capitalize() + ".")


@given(PLAIN)
def test_a_single_claim_is_its_own_only_claim(answer: str) -> None:
    for claim in all_claims(answer):
        again = all_claims(claim.text)
        assert [each.text for each in again] == [claim.text]
        assert again[0].exemption is claim.exemption
        # Otherwise the type is that of what the judge reads, with words of another clause.
        assert claim.read_as or again[0].type is claim.type


def made(claims: list[str], gates: tuple[str, ...] = ()) -> Ledger:
    return ledger(" \u2016 ".join(claims), gates)


@given(LINES_OF_CLAIMS)
def test_the_counts_add_up(claims: list[str]) -> None:
    summary = made(claims).summary
    verdicts, ranks = summary.by_verdict, summary.by_importance
    total = verdicts.supported + verdicts.weak + verdicts.contradicted + verdicts.not_found
    assert total == ranks.critical + ranks.material + ranks.minor == summary.total_claims
    rates = (summary.evidence_coverage, summary.unsupported_rate)
    assert (None in rates) is (ranks.critical + ranks.material == 0)
    assert all(0 <= rate <= 1 for rate in rates if rate is not None)


@given(LINES_OF_CLAIMS)
def test_a_confidence_is_a_share(claims: list[str]) -> None:
    assert all(0 <= entry.confidence_score <= 1 for entry in made(claims).entries)


@given(st.floats(0, 1), st.integers(0, 99), st.floats(0, 1), st.floats(0, 1))
def test_the_formula_stays_within_0_and_1(one: float, count: int, two: float, three: float) -> None:
    score = confidence(ConfidenceComponents(one, count, two, three))
    assert 0 <= score <= 1
    more = confidence(ConfidenceComponents(one, count + 1, two, three))
    assert more >= score


@given(LINES_OF_CLAIMS, CLAIMS, LOOSE_GATES)
def test_one_more_contradicted_claim_never_opens_a_gate(
    claims: list[str], extra: str, gates: tuple[str, ...]
) -> None:
    rank = extra.partition(":")[0]
    before = made(claims, gates).gates
    after = made([*claims, f"{rank}: A against 0.9"], gates).gates
    for one, other in zip(before.results, after.results, strict=True):
        assert not (one.status is GateStatus.FAILED and other.status is GateStatus.PASSED)
    assert not (before.decision is Decision.NO_SHIP and after.decision is Decision.SHIP)


@given(LINES_OF_CLAIMS.filter(bool), st.data(), LOOSE_GATES)
def test_one_more_contradicting_reading_never_opens_a_gate(
    claims: list[str], data: st.DataObject, gates: tuple[str, ...]
) -> None:
    at = data.draw(st.integers(0, len(claims) - 1))
    before = made(claims, gates).gates
    against = [f"{claim}, B against 0.9" if n == at else claim for n, claim in enumerate(claims)]
    after = made(against, gates).gates
    for one, other in zip(before.results, after.results, strict=True):
        assert not (one.status is GateStatus.FAILED and other.status is GateStatus.PASSED)


@given(LINES_OF_CLAIMS)
def test_an_unsupported_claim_of_any_importance_does_not_ship(claims: list[str]) -> None:
    """With at most nine claims one of them is more than a tenth."""
    one = made(claims)
    unsupported = [entry for entry in one.entries if entry.is_unsupported]
    assert not (unsupported and one.gates.decision is Decision.SHIP)


@given(LINES_OF_CLAIMS)
def test_every_claim_that_is_not_supported_is_named_by_a_gate(claims: list[str]) -> None:
    one = made(claims)
    strict = ("coverage>=1", "minor_unsupported<=0", "weak<=0")
    said = " ".join(made(claims, strict).gates.reasons)
    for entry in one.entries:
        assert (entry.claim_id in said) is (entry.verdict is not Verdict.SUPPORTED)


@given(LINES_OF_CLAIMS, st.randoms())
def test_the_order_of_a_review_has_every_claim_once(claims: list[str], random: Random) -> None:
    one = made(claims)
    listed = one.claims_in("review")
    assert sorted(number for number, _ in listed) == list(range(1, len(claims) + 1))
    shuffled = list(claims)
    random.shuffle(shuffled)
    ranks = [(entry.verdict, entry.importance) for _, entry in listed]
    again = [(entry.verdict, entry.importance) for _, entry in made(shuffled).claims_in("review")]
    assert again == ranks


@given(LINES_OF_CLAIMS, GATES)
def test_parse_undoes_render_and_replay_changes_nothing(
    claims: list[str], gates: tuple[str, ...]
) -> None:
    one = made(claims, gates)
    assert ledger_from_json(ledger_to_json(one)) == one
    assert replay_ledger(one) == one


@given(MARKDOWN)
def test_the_ledger_of_any_answer_survives_the_way_through_json(answer: str) -> None:
    from tests.ledger.examples import ledger_of

    one = ledger_of(answer, {})
    assert ledger_from_json(ledger_to_json(one)) == one
    assert replay_ledger(replace(one, ledger_id="led_0")) == one
