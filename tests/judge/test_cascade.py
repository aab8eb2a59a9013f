"""The cascade: which claims are uncertain, what is sent, and what the readings record."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from tests.judge.reading import chunk_of

from affidavit.app.judge_scoring import cost_summary, estimate_pairs
from affidavit.app.judges import BuiltIn, CascadeChoice, judge_named
from affidavit.base.errors import AffidavitError
from affidavit.judge.cascade import CascadeJudge, find_doubt
from affidavit.judge.thresholded import similarity_of, support_from_similarity
from affidavit.ledger.model import Chunk, JudgeIdentity, Reading, Span, SupportLevel

CLAIM = "Employees get 15 days of leave"
FULL, PARTIAL, NONE = SupportLevel.FULL, SupportLevel.PARTIAL, SupportLevel.NONE


def reading_of(
    level: SupportLevel, similarity: float, contradiction: float = 0.0, chunk_id: str = "chunk-0"
) -> Reading:
    return Reading(
        chunk_id=chunk_id,
        support_level=level,
        contradicts=contradiction >= 0.5,
        similarity=similarity,
        contradiction=contradiction,
        directness=1.0,
        snippet="",
        snippet_span=Span(0, 0),
        notes="read",
    )


DOUBTS = {
    "nothing to read": ([], ""),
    "stated": ([reading_of(FULL, 0.99)], ""),
    "nothing like it": ([reading_of(NONE, 0.1)], ""),
    "just above the bound of support": ([reading_of(FULL, 0.87)], "support is 0.57"),
    "just below the bound of support": ([reading_of(NONE, 0.8)], "support is 0.47"),
    "partial, far from the bound": ([reading_of(PARTIAL, 0.3)], "partial support only"),
    "partial beside full": ([reading_of(PARTIAL, 0.3), reading_of(FULL, 0.99)], ""),
    "contradicted": ([reading_of(NONE, 0.1, 0.95)], ""),
    "just contradicted": ([reading_of(NONE, 0.1, 0.6)], "contradiction is 0.60"),
    "nearly contradicted": ([reading_of(FULL, 0.99, 0.4)], "contradiction is 0.40"),
    "contradicted, and partly supported": (
        [reading_of(NONE, 0.1, 0.95), reading_of(PARTIAL, 0.7)],
        "",
    ),
    "two passages that disagree": (
        [reading_of(NONE, 0.1, 0.95), reading_of(FULL, 0.99)],
        "another contradicts",
    ),
}


@pytest.mark.parametrize(("readings", "wanted"), DOUBTS.values(), ids=DOUBTS.keys())
def test_what_is_uncertain(readings: list[Reading], wanted: str) -> None:
    doubt = find_doubt(readings, 0.2)
    assert wanted in doubt
    assert bool(doubt) == bool(wanted)
    assert doubt == find_doubt(readings[::-1], 0.2)


def test_without_a_margin_only_partial_support_and_disagreement_are_uncertain() -> None:
    assert find_doubt([reading_of(FULL, 0.851)], 0.0) == ""
    assert find_doubt([reading_of(NONE, 0.849, 0.499)], 0.0) == ""
    assert find_doubt([reading_of(PARTIAL, 0.6)], 0.0)


@pytest.mark.parametrize("support", [0.0, 0.25, 0.49, 0.5, 0.75, 1.0])
def test_a_similarity_gives_back_its_support(support: float) -> None:
    assert support_from_similarity(similarity_of(support, 0.5)) == pytest.approx(support, abs=0.004)


class Scripted:
    """A judge whose chunks state their similarity and contradiction: "0.8 0.1"."""

    def __init__(self, name: str, *, english: bool = False, full_from: float = 0.85) -> None:
        self._name, self._english, self._full_from = name, english, full_from
        self.asked: list[tuple[str, list[str]]] = []

    @property
    def identity(self) -> JudgeIdentity:
        return JudgeIdentity(self._name, "1", f"sha256:{self._name}", rederivable=True)

    @property
    def reads_english_only(self) -> bool:
        return self._english

    def read(self, claim: str, chunks: Sequence[Chunk]) -> tuple[Reading, ...]:
        self.asked.append((claim, [chunk.id for chunk in chunks]))
        found = []
        for chunk in chunks:
            similarity, contradiction = map(float, chunk.text.split())
            level = FULL if similarity > self._full_from else NONE
            found.append(reading_of(level, similarity, contradiction, chunk.id))
        return tuple(found)


def cascade_of(
    first: Scripted, larger: Scripted, margin: float = 0.2, passages: int = 2
) -> CascadeJudge:
    return CascadeJudge(first, larger, margin=margin, passages=passages)


def test_a_certain_claim_is_not_sent() -> None:
    first, larger = Scripted("small"), Scripted("large")
    judge, chunks = cascade_of(first, larger), [chunk_of("0.99 0"), chunk_of("0.1 0", 1)]
    assert judge.read(CLAIM, chunks) == first.read(CLAIM, chunks)
    assert larger.asked == []
    assert cost_summary(judge) == (
        "judge: 0 of 1 claims were uncertain and sent to large, 0 passages"
    )


def test_of_an_uncertain_claim_the_closest_passages_are_sent() -> None:
    first, larger = Scripted("small"), Scripted("large", full_from=0.7)
    judge = cascade_of(first, larger)
    chunks = [chunk_of("0.1 0"), chunk_of("0.8 0", 1), chunk_of("0 0.3", 2), chunk_of("0.2 0", 3)]
    readings = judge.read(CLAIM, chunks)
    assert larger.asked == [(CLAIM, ["chunk-1", "chunk-2"])]
    assert [reading.chunk_id for reading in readings] == [chunk.id for chunk in chunks]
    assert [reading.support_level for reading in readings] == [NONE, FULL, NONE, NONE]
    assert readings[1].notes == "read; small was not sure: its score for support is 0.47"
    assert dict(readings[1].scores) == {"small_similarity": 0.8, "small_contradiction": 0.0}
    assert "not sent to the larger judge, as 2 passages are closer" in readings[3].notes
    assert dict(readings[3].scores)["small_similarity"] == 0.2
    assert readings[3].similarity == 0.0


def test_a_cited_passage_is_sent_beside_the_closest_one() -> None:
    first, larger = Scripted("small"), Scripted("large")
    judge = cascade_of(first, larger)
    others = [chunk_of("0.1 0"), chunk_of("0.8 0", 1), chunk_of("0.7 0", 2)]
    cited = msgspec.structs.replace(others[0], cited=True)
    judge.read(CLAIM, [cited, *others[1:]])
    judge.read(CLAIM, others)
    assert [sent for _, sent in larger.asked] == [["chunk-0", "chunk-1"], ["chunk-1", "chunk-2"]]


def test_the_estimate_counts_what_the_run_sends_and_reads_it_only_once() -> None:
    first, larger = Scripted("small"), Scripted("large")
    judge = cascade_of(first, larger)
    unsure, sure = [chunk_of("0.8 0"), chunk_of("0.7 0", 1)], [chunk_of("0.99 0")]
    pairs = [(CLAIM, unsure), ("Leave is paid", sure), ("Nothing was found", [])]
    estimate = estimate_pairs(judge, pairs, above_budget=False)
    assert estimate == "1 of 3 claims are uncertain; large will read 2 passages for them"
    for claim, chunks in pairs:
        judge.read(claim, chunks)
    assert len(first.asked) == 3
    assert "1 of 3 claims were uncertain and sent to large, 2 passages" in cost_summary(judge)
    judge.read(CLAIM, unsure)
    assert len(first.asked) == 4


def test_a_claim_in_another_language_goes_to_the_judge_that_may_read_it() -> None:
    first, larger = Scripted("small", english=True), Scripted("large")
    judge = cascade_of(first, larger, passages=1)
    assert not judge.reads_english_only
    claim = "Die Mitarbeiter erhalten 15 Tage Urlaub und die Anträge werden nicht geprüft."
    read, unread = judge.read(claim, [chunk_of("0.99 0"), chunk_of("0.99 0", 1)])
    assert first.asked == []
    assert larger.asked == [(claim, ["chunk-0"])]
    assert read.support_level is FULL
    assert "small was not sure: it does not read the language of the claim (de)" in read.notes
    assert unread.support_level is NONE
    assert cascade_of(first, Scripted("large", english=True)).reads_english_only


def test_the_identity_names_both_judges_and_follows_the_bounds() -> None:
    first, larger = Scripted("small"), Scripted("large")
    identity = cascade_of(first, larger).identity
    assert str(identity) == "small+large 1 (re-derivable)"
    others = [
        cascade_of(larger, first),
        cascade_of(first, larger, margin=0.3),
        cascade_of(first, larger, passages=3),
    ]
    assert len({identity.digest, *(other.identity.digest for other in others)}) == 4


def test_a_page_is_no_claim() -> None:
    with pytest.raises(AffidavitError, match="AF250"):
        cascade_of(Scripted("small"), Scripted("large")).read("x" * 10_001, [chunk_of("0.8 0")])


CHAT = '[chat]\nbase_url="https://h"\nmodel="m"\n'


def test_a_file_of_a_cascade(tmp_path: Path) -> None:
    file = tmp_path / "cascade.toml"
    file.write_text(f'[cascade]\nfirst = "lexical"\nmargin = 0.1\n{CHAT}', "utf-8")
    choice = judge_named(str(file))
    assert isinstance(choice, CascadeChoice)
    assert (choice.settings.first, choice.settings.margin) == (BuiltIn.LEXICAL, 0.1)
    assert hash(choice) == hash(judge_named(str(file)))
    assert msgspec.structs.replace(choice.larger, model="m") == choice.larger


FILES = {
    "no larger judge": "[cascade]\n",
    "two larger judges": f'[cascade]\n{CHAT}[hf]\nmodel="m"',
    "a first judge that is not built in": f'[cascade]\nfirst="judge.toml"\n{CHAT}',
    "a margin that covers more than everything": f"[cascade]\nmargin=0.6\n{CHAT}",
    "no passages": f"[cascade]\npassages=0\n{CHAT}",
    "an unknown key": f"[cascade]\nbound=0.5\n{CHAT}",
}


@pytest.mark.parametrize("text", FILES.values(), ids=FILES.keys())
def test_a_cascade_that_cannot_be_used(text: str, tmp_path: Path) -> None:
    file = tmp_path / "cascade.toml"
    file.write_text(text, "utf-8")
    with pytest.raises(AffidavitError, match="AF253") as caught:
        judge_named(str(file))
    assert caught.value.where.file == str(file)
