"""The judge in three layers: what decides, what is asked, and what may not change a verdict."""

import itertools

import msgspec
import pytest
from tests.judge.encoder_weights import shipped_or_skip
from tests.judge.reading import chunk_of

from affidavit.judge.encoder.shipped import encoder_digest
from affidavit.judge.layered.combiner import CascadeV1, Combiner, Weighed, shipped_combiner
from affidavit.judge.layered.judge import LayeredJudge
from affidavit.judge.layered.weighing import Weighing, settled
from affidavit.judge.lexical.judge import LexicalJudge
from affidavit.ledger.model import Chunk, Reading, Span, SupportLevel

POLICY = (
    "Employees receive 15 days of paid annual leave. Unused days may be carried over until the end"
    " of March. Requests go to the line manager at least two weeks in advance."
)
HISTORY = "The company was founded in Turin in 1998 by two sisters who repaired looms."
READING = Reading(
    chunk_id="c",
    support_level=SupportLevel.NONE,
    contradicts=False,
    similarity=0.0,
    contradiction=0.0,
    directness=0.5,
    snippet="",
    snippet_span=Span(0, 0),
    notes="nothing",
)


@pytest.fixture(autouse=True)
def _weights() -> None:
    shipped_or_skip()


def read(claim: str, *texts: str) -> tuple[Reading, ...]:
    return LayeredJudge().read(claim, [chunk_of(text, n, f"d{n}") for n, text in enumerate(texts)])


def sentence(name: str, support: float, contradiction: float = 0.0) -> Weighing:
    return Weighing(name, READING, {}, Weighed(support, contradiction))


@pytest.mark.parametrize(
    ("found", "decides", "support", "contradiction"),
    [
        pytest.param([("a", 0.9, 0.0)], "a", 0.9, 0.0, id="one sentence is the claim"),
        pytest.param(
            [("a", 0.9, 0.0), ("b", 0.1, 0.2)], "b", 0.25, 0.2, id="one of two is support in part"
        ),
        pytest.param(
            [("a", 0.4, 0.0), ("b", 0.1, 0.2)], "b", 0.1, 0.2, id="none of two is no support"
        ),
        pytest.param(
            [("a", 0.9, 0.0), ("b", 0.1, 0.8)], "b", 0.25, 0.8, id="one false part is false"
        ),
        pytest.param([("a", 0.3, 0.9), ("b", 0.1, 0.1)], "a", 0.1, 0.9, id="the false one decides"),
    ],
)
def test_a_claim_is_as_good_as_its_weakest_sentence(
    found: list[tuple[str, float, float]], decides: str, support: float, contradiction: float
) -> None:
    chosen, weighed = settled([sentence(*each) for each in found])
    assert chosen.sentence == decides
    assert weighed == Weighed(support, contradiction)


def test_a_sentence_of_the_source_is_supported_without_the_encoder() -> None:
    (reading,) = read("Unused days may be carried over until the end of March.", POLICY)
    assert reading.support_level is SupportLevel.FULL
    assert "encoder_entails" not in dict(reading.scores)


def test_a_changed_number_is_contradicted_by_the_rule_that_names_it() -> None:
    (reading,) = read("Employees receive 20 days of paid annual leave.", POLICY)
    assert reading.contradicts
    assert "20" in reading.notes
    assert reading.snippet == "Employees receive 15 days of paid annual leave."


def test_where_words_are_unsure_the_encoder_is_asked_and_quoted() -> None:
    shipped = shipped_combiner()
    table = msgspec.structs.replace(shipped.table, cascade=CascadeV1(0.0, 1.0, 1.0, 2))
    curious = LayeredJudge(Combiner(table, shipped.digest))
    (reading,) = curious.read("Employees get some weeks of leave.", [chunk_of(POLICY)])
    assert "encoder_entails" in dict(reading.scores)
    assert "the encoder" in reading.notes


def test_a_claim_of_two_sentences_names_the_one_that_decides() -> None:
    (reading,) = read("The company was founded in 1998. It employs 400 welders.", HISTORY)
    assert reading.support_level is not SupportLevel.FULL
    assert '"It employs 400 welders."' in reading.notes


def test_nothing_shared_is_not_found() -> None:
    (reading,) = read("The annual report was audited in Oslo.", POLICY)
    assert reading.support_level is SupportLevel.NONE
    assert not reading.contradicts


def test_the_order_of_passages_changes_no_reading() -> None:
    claim = "Two sisters started the firm in Turin."
    chunks = [chunk_of(t, n, f"d{n}") for n, t in enumerate((POLICY, HISTORY, POLICY[:60]))]
    expected = {each.chunk_id: each for each in LayeredJudge().read(claim, chunks)}
    for order in itertools.permutations(chunks):
        assert {each.chunk_id: each for each in LayeredJudge().read(claim, order)} == expected


def test_the_order_of_claims_changes_no_reading() -> None:
    claims = ["Two sisters started the firm.", "Leave can be carried over.", "Looms were repaired."]
    chunk = chunk_of(f"{POLICY} {HISTORY}")
    alone = {claim: LayeredJudge().read(claim, [chunk]) for claim in claims}
    assert {claim: LayeredJudge().read(claim, [chunk]) for claim in reversed(claims)} == alone


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("   \n\t ", id="blank"),
        pytest.param("雇员每年有十五天的带薪年假。", id="Chinese"),
        pytest.param("يحصل الموظفون على خمسة عشر يوما من الإجازة.", id="Arabic"),
        pytest.param("Mitarbeiter erhalten 15 Tage Urlaub.", id="German"),
        pytest.param("def leave(days: int = 15) -> int:\n    return days  # paid", id="code"),
        pytest.param("| kind | days |\n|---|---|\n| annual | 15 |", id="table"),
        pytest.param("🏖️ 15 days 🎉 of leave 👍", id="emoji"),
        pytest.param("\ud800 broken \x00 text", id="broken characters"),
    ],
)
def test_any_text_gives_a_reading(text: str) -> None:
    for claim in ("Employees receive 15 days of leave.", text or "?"):
        (reading,) = LayeredJudge().read(claim, [chunk_of(text)])
        assert 0 <= reading.similarity <= 1
        assert 0 <= reading.contradiction <= 1


@pytest.mark.parametrize(
    ("claim", "text", "level"),
    [
        pytest.param(
            "雇员每年有二十天的年假。",
            "雇员每年有十五天的带薪年假。",
            SupportLevel.PARTIAL,
            id="Chinese",
        ),
        pytest.param(
            "Der Vertrag kann jederzeit gekündigt werden.",
            "Der Vertrag kann nicht jederzeit gekündigt werden.",
            SupportLevel.PARTIAL,
            id="a German negation is not seen",
        ),
        pytest.param(
            "Der Vertrag kann jederzeit gekündigt werden",
            "Es gilt: Der Vertrag kann jederzeit gekündigt werden.",
            SupportLevel.FULL,
            id="a repetition needs no language",
        ),
        pytest.param(
            "Xyzzy Corp acquired Foobar Ltd.",
            "In May Xyzzy Corp acquired Foobar Ltd for a small sum.",
            SupportLevel.FULL,
            id="unknown names in an English claim",
        ),
    ],
)
def test_likeness_of_words_is_no_support_in_a_language_that_the_rules_do_not_know(
    claim: str, text: str, level: SupportLevel
) -> None:
    (reading,) = read(claim, text)
    assert reading.support_level is level
    assert ("English" in reading.notes) is (level is not SupportLevel.FULL)


def test_the_identity_names_every_layer() -> None:
    identity = LayeredJudge().identity
    assert identity.name == "layered"
    assert identity.rederivable
    assert identity.digest not in (LexicalJudge().identity.digest, encoder_digest())
    assert identity == LayeredJudge().identity


def test_no_passages_give_no_readings() -> None:
    chunks: list[Chunk] = []
    assert LayeredJudge().read("Employees receive leave.", chunks) == ()


PLANS = """Prices in EUR

| Plan: Basic; Seats: 5; Price: 19. |
| Plan: Team; Seats: 20; Price: 49. |"""
LARGE = "| Plan: Large; Seats: 90; Price: 99. |"


@pytest.mark.parametrize(
    ("claim", "supports"),
    [
        pytest.param("The Team plan has 20 seats.", True, id="the cell"),
        pytest.param("The Team plan has 5 seats.", False, id="a cell of another row"),
        pytest.param("The Team plan has 49 seats.", False, id="a cell of another column"),
        pytest.param("The Team plan has more seats than the Basic plan.", True, id="two cells"),
    ],
)
def test_cells_decide_a_claim_about_them(claim: str, supports: bool) -> None:
    table, other, prose = read(claim, PLANS, LARGE, HISTORY)
    assert table.support_level is (SupportLevel.FULL if supports else SupportLevel.NONE)
    assert table.contradicts is not supports
    assert table.snippet in PLANS.splitlines()
    assert (other.support_level, other.contradicts) == (SupportLevel.NONE, False)
    assert other.notes == "these rows speak of something else"
    assert prose.notes != other.notes
