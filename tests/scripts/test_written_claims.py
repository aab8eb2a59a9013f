"""The claims that were written for the training: their file, their passages, their premises."""

from collections import Counter
from pathlib import Path

import pytest
from tools.train_judge.written import (
    TARGETS,
    WrittenClaim,
    digest_of,
    find_passages,
    read_claims,
    written_pairs,
)

SENTENCES = [
    "The pump of the upper basin is checked by two engineers in the first week of every quarter.",
    "A report of each check is sent to the water board, which keeps it for at least ten years.",
    "If a valve leaks, the basin is emptied before anybody may enter the chamber below it.",
]
PASSAGE = digest_of(SENTENCES)


def claim(label: str = "S", sentences: str = "2", passage: str = PASSAGE) -> WrittenClaim:
    return WrittenClaim(passage, label, "para", sentences, "Reports are kept for a decade.")


def test_every_claim_has_a_passage_a_label_and_words() -> None:
    claims = read_claims()
    assert len(claims) > 10_000
    assert {each.label for each in claims} == set(TARGETS)
    assert all(len(each.passage) == 12 and len(each.claim.split()) > 2 for each in claims)


def test_no_label_is_more_than_half() -> None:
    counts = Counter(each.label for each in read_claims())
    assert max(counts.values()) < counts.total() / 2


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("a.txt", "\n\n".join(SENTENCES), id="paragraphs of text"),
        pytest.param("a.html", "".join(f"<p>{each}</p>" for each in SENTENCES), id="HTML"),
        pytest.param(
            "a.rst", f"Too short.\n\n{' '.join(SENTENCES)}\n\n::\n\n  x = 1", id="no prose"
        ),
    ],
)
def test_a_passage_is_found_again(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    assert find_passages(tmp_path, tmp_path / "no data")[PASSAGE] == SENTENCES


def test_a_claim_stands_with_the_sentences_that_decide() -> None:
    claims = [claim(label) for label in TARGETS] * 25
    pairs = written_pairs(claims, {PASSAGE: SENTENCES}, seed=1)
    assert [pair.target for pair in pairs] == [TARGETS[each.label] for each in claims]
    assert all(SENTENCES[1] in pair.premise for pair in pairs)
    premises = Counter(pair.premise for pair in pairs)
    assert premises[SENTENCES[1]] > 10, "mostly alone"
    assert premises[" ".join(SENTENCES)] > 5, "sometimes in the whole passage"


def test_the_same_seed_draws_the_same_premises() -> None:
    claims = [claim()] * 20
    first, again, other = (
        written_pairs(claims, {PASSAGE: SENTENCES}, seed=seed) for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_a_claim_without_its_passage_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    pairs = written_pairs([claim(), claim(passage="0" * 12)], {PASSAGE: SENTENCES}, seed=1)
    assert len(pairs) == 1
    assert "1 written claims left out" in capsys.readouterr().out
