"""The labelled answers: which of them only say that the sources do not answer."""

from pathlib import Path

import pytest
import yaml

from affidavit.gates.refusals import is_refusal_in_words

ANSWERS: dict[str, list[str]] = yaml.safe_load(
    (Path(__file__).parent / "refusal_answers.yaml").read_text("utf-8")
)


@pytest.mark.parametrize("answer", ANSWERS["refusals"])
def test_a_refusal_in_other_words(answer: str) -> None:
    assert is_refusal_in_words(answer)


@pytest.mark.parametrize("answer", ANSWERS["answers"])
def test_an_answer_that_only_sounds_like_one(answer: str) -> None:
    assert not is_refusal_in_words(answer)
