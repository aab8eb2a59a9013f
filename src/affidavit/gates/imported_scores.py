"""What a file of another tool brings along: scores of its own, and questions without a name.

Nothing of it decides anything. The sums are exact, so the order of the rows cannot change a digit.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, TypeAlias

from msgspec import UNSET

from affidavit.base.statistics.arithmetic import rounded
from affidavit.base.text import excerpt
from affidavit.decision.counts import EMPTY_LISTING, MAX_LISTED, Listing
from affidavit.decision.report_details import RagDetails, ScoreFigures

ImportedScore: TypeAlias = bool | int | float | str | None

MAX_REPEATABLE_WORDS: Final = 8
"""In words. Who writes a text for others to repeat writes a few; more of them are a sentence."""
_MAX_SHOWN: Final = 10
# Every double is a whole number of these, so that sums of them are sums of integers.
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
    """Scores that are words: they have no mean."""

    def take(self, score: ImportedScore) -> None:
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
        """The mean of the figures, None if there is none."""
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
    """The scores of a run by their names; of very many names the first are kept."""

    sums: dict[str, ScoreSum] = field(default_factory=dict)
    is_cut: bool = False

    def take(self, scores: Mapping[str, ImportedScore]) -> None:
        """Add the scores of a row."""
        for name, score in scores.items():
            self.sums.setdefault(name, ScoreSum()).take(score)
        while len(self.sums) > MAX_LISTED:
            # Whatever is left out comes after so many others, also if it stands in a later row.
            del self.sums[max(self.sums)]
            self.is_cut = True

    def said(self) -> str:
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
    """Tell whether all texts that an answer may hold are longer than one would repeat."""
    given = tuple(texts)
    return bool(given) and all(len(text.split()) > MAX_REPEATABLE_WORDS for text in given)


@dataclass(frozen=True, slots=True)
class ImportedExtras:
    """What other tools' files brought along.

    `same_question` are gold items of which several have one question, so that a trace which is
    known by its question alone belongs to none of them. `sentences` is how many references are too
    long to be repeated by chance.
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
        """What a report lists by name."""
        return {"same_question": self.same_question} if self.same_question.total else {}

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader must know of it."""
        said = {
            f"scores that the file brings: {self.scores.said()}; not used for the decision": (
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
