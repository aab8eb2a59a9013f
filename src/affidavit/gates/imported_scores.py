"""Scores in the files of other tools, and questions without a name. They never decide anything.

Sums are exact, so the order of rows does not change a digit.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, TypeAlias

from msgspec import UNSET

from affidavit.base.statistics import rounded
from affidavit.base.text import excerpt
from affidavit.decision.counts import EMPTY_LISTING, MAX_LISTED, Listing
from affidavit.decision.report_details import RagDetails, ScoreFigures

ImportedScore: TypeAlias = bool | int | float | str | None

MAX_REPEATABLE_WORDS: Final = 8
"""In words. A longer reference is a sentence, which no answer repeats literally."""
_MAX_SHOWN: Final = 10
# Every double is an integer multiple of this unit, so sums are sums of integers.
_PARTS_OF_ONE: Final = 1 << 1074


@dataclass(slots=True)
class ScoreSum:
    """All scores of one name; a yes is 1 and a no is 0."""

    n: int = 0
    parts: int = 0
    least: float | None = None
    most: float | None = None
    not_measured: int = 0
    labels: int = 0
    """Scores that are text and have no mean."""

    def add(self, score: ImportedScore) -> None:
        """Add a score."""
        if score is None:
            self.not_measured += 1
        elif isinstance(score, str):
            self.labels += 1
        else:
            value = float(score)
            numerator, denominator = value.as_integer_ratio()
            self.n += 1
            self.parts += numerator * (_PARTS_OF_ONE // denominator)
            self.least = value if self.least is None else min(self.least, value)
            self.most = value if self.most is None else max(self.most, value)

    @property
    def mean(self) -> float | None:
        """The mean of the numbers; None if there are none."""
        return float(Fraction(self.parts, self.n * _PARTS_OF_ONE)) if self.n else None

    def figures(self) -> ScoreFigures:
        """Return the figures of the scores as a report stores them, rounded."""
        return ScoreFigures(
            n=self.n,
            mean=rounded(self.mean),
            min=rounded(self.least),
            max=rounded(self.most),
            not_measured=self.not_measured,
            labels=self.labels,
        )


@dataclass(slots=True)
class ImportedScores:
    """The scores of a run by name; of very many names the first are kept."""

    sums: dict[str, ScoreSum] = field(default_factory=dict)
    is_cut: bool = False

    def add(self, scores: Mapping[str, ImportedScore]) -> None:
        """Add the scores of a row."""
        for name, score in scores.items():
            self.sums.setdefault(name, ScoreSum()).add(score)
        while len(self.sums) > MAX_LISTED:
            # The names kept are the first in sorted order, whatever the order of the rows.
            del self.sums[max(self.sums)]
            self.is_cut = True

    def summary(self) -> str:
        """Return the means in one line; empty if there are no scores."""
        means = [
            f"{excerpt(name)} {rounded(mean, 3):g} (n {self.sums[name].n})"
            for name in sorted(self.sums)
            if (mean := self.sums[name].mean) is not None
        ]
        more = len(means) - _MAX_SHOWN
        shown = [*means[:_MAX_SHOWN], f"{more} more"] if more > 0 else means
        listed = ", ".join(shown) or "labels only" * bool(self.sums)
        return listed + " and further names" * self.is_cut


def is_sentence(texts: Iterable[str]) -> bool:
    """Tell whether all reference texts are too long to be repeated literally."""
    given = tuple(texts)
    return bool(given) and all(len(text.split()) > MAX_REPEATABLE_WORDS for text in given)


@dataclass(frozen=True, slots=True)
class ImportedExtras:
    """What the files of other tools contain beside gold items and traces.

    `same_question` lists gold items that share their question, so that a trace without a qid cannot
    be assigned. `sentences` counts references that are too long to be repeated literally.
    """

    scores: ImportedScores = field(default_factory=ImportedScores)
    same_question: Listing = EMPTY_LISTING
    sentences: int = 0

    @property
    def details(self) -> RagDetails:
        """The scores in the order of their names."""
        sums = self.scores.sums
        return RagDetails({name: sums[name].figures() for name in sorted(sums)} or UNSET)

    @property
    def listings(self) -> Mapping[str, Listing]:
        """The listings of the report."""
        return {"same_question": self.same_question} if self.same_question.total else {}

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of the report."""
        said = {
            f"scores that the file brings: {self.scores.summary()}; not used for the decision": (
                self.scores.sums
            ),
            "gold items that have their question in common, so traces that are known by it alone"
            f" belong to none of them: {self.same_question.total}": self.same_question.total,
            f"references of more than {MAX_REPEATABLE_WORDS} words: {self.sentences};"
            " an answer must hold"
            " one letter for letter, so the same in other words counts as wrong: give these"
            " questions short texts (gold_claim_substr) in a gold set of their own": self.sentences,
        }
        return tuple(text for text, holds in said.items() if holds)
