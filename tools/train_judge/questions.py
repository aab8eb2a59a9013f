"""Families from question sets: the same statement with the right and with another answer.

Both answers stand in the passage, so the pair is a swap inside the window, in a person's own words
instead of a copied sentence. Answers of the same shape (number, name, phrase) are the hard ones.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from tools.train_judge.declarative import statement
from tools.train_judge.sources import Pair

LONGEST_ANSWER = 8


def _shape(answer: str) -> str:
    if re.search(r"\d", answer):
        return "number"
    return "name" if answer[:1].isupper() else "phrase"


def stated(pair: Pair) -> Pair | None:
    """The pair with its question and answer as a statement, if a rule reads it."""
    answer = pair.hypothesis.partition("? ")[2]
    made = statement(pair.hypothesis) if len(answer.split()) <= LONGEST_ANSWER else None
    return Pair(pair.premise, made, pair.target, pair.source) if made else None


def contrasts(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    """For each question with a right and a wrong answer of the same shape: both as statements."""
    asked: dict[tuple[str, str], dict[bool, list[Pair]]] = defaultdict(lambda: defaultdict(list))
    for pair in pairs:
        question = pair.hypothesis.partition("? ")[0]
        asked[pair.premise, question][pair.target == 0].append(pair)
    for answers in asked.values():
        for right, wrong in zip(answers[True], answers[False], strict=False):
            shapes = {_shape(pair.hypothesis.partition("? ")[2]) for pair in (right, wrong)}
            family = [stated(right), stated(wrong)]
            if len(shapes) == 1 and None not in family:
                yield [pair for pair in family if pair]
