"""The same question again and again: do the answers stay the same.

Origin: the stability page of the RAG document. Where the reference takes nothing to measure for
perfect (no pair of answers, no citation at all), the figure is None here; and an unanswerable item
passes only if it is refused in every run: its reference accepts one that is answered every time.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final

import msgspec

from affidavit.base.faults import gates as faults
from affidavit.base.statistics import percentile, rounded
from affidavit.gates.decision import Measure, measure_of
from affidavit.gates.edit_distance import normalised_distance, plain
from affidavit.gates.metrics import STABILITY
from affidavit.gates.rag_rows import AnswerV1, GoldV1, qid_of
from affidavit.gates.rag_scoring import REFUSAL, SHORTEST_SUBSTRING, cites
from affidavit.gates.rows import RowReader
from affidavit.gates.scu import locked
from affidavit.gates.tally import Listing, Tally, all_of, listing_of, mark_of, tally_of


class RunV1(msgspec.Struct, frozen=True):
    """One run of a question under a seed and a jitter."""

    qid: str | int
    answer_json: AnswerV1
    seed: int = 0
    jitter: str = "none"
    retrieved_ids: tuple[str, ...] | None = None
    run_id: str | None = None


ROWS: Final = RowReader(RunV1, faults.STABILITY_ROW, ("qid", "answer_json", "seed", "jitter"))

LIMITS: Final[Mapping[str, float]] = {"acr": 0.95, "cghc": 0.95, "css": 0.70, "ned50": 0.20}
"""Answerable items reach these, or keep below in the case of NED50."""


@dataclass(frozen=True, slots=True)
class Stability:
    """The figures of one question; None was not measured, or does not apply."""

    qid: str
    answerable: bool
    runs: int
    acr: float | None = None
    """Answer containment rate: the share of runs in which C holds."""
    cghc: float | None = None
    """Citation hits: the share of runs in which H holds."""
    css: float | None = None
    """Citation set stability: what all runs cite, over what any run cites."""
    ned50: float | None = None
    """The median normalised edit distance between the answers of two runs."""
    rcr: float | None = None
    """Refusal consistency: the share of runs that do as most do."""
    refused: int = 0
    scu_cons: bool | None = None
    """Every run echoes the constraints; None without constraints."""

    @property
    def checks(self) -> tuple[tuple[str, bool | None], ...]:
        """Whether each figure that applies is within its limit."""
        if not self.answerable:
            return (("refused_always", self.refused == self.runs if self.runs else None),)
        ned = self.ned50
        found = [
            *(
                (name, None if value is None else value >= LIMITS[name])
                for name, value in (("acr", self.acr), ("cghc", self.cghc), ("css", self.css))
            ),
            ("ned50", None if ned is None else ned <= LIMITS["ned50"]),
        ]
        return tuple(found) if self.scu_cons is None else (*found, ("scu_cons", self.scu_cons))

    @property
    def outcome(self) -> bool | None:
        """Whether the question is stable."""
        return all_of(held for _, held in self.checks)

    def as_wire(self) -> dict[str, object]:
        """Return the figures as a report shows them."""
        return {
            "qid": self.qid,
            "answerable": self.answerable,
            "runs": self.runs,
            "acr": rounded(self.acr),
            "cghc": rounded(self.cghc),
            "css": rounded(self.css),
            "ned50": rounded(self.ned50),
            "rcr": rounded(self.rcr),
            "refused": self.refused,
            "scu_cons": self.scu_cons,
            "failed": [name for name, held in self.checks if held is False],
            "not_measured": [name for name, held in self.checks if held is None],
        }


def stability_of(gold: GoldV1, runs: Iterable[RunV1], refusal: str = REFUSAL) -> Stability:
    """Return the figures of one question over its runs; their order does not matter."""
    given = tuple(runs)
    qid, total = qid_of(gold), len(given)
    if not total:
        return Stability(qid, gold.answerable, 0)
    answers = [run.answer_json for run in given]
    refused = sum(is_refusal(answer, refusal) for answer in answers)
    echoes = {locked(answer.constraints_echo or ()) for answer in answers}
    lock = locked(gold.constraints or ())
    hits = [cites(gold, run.answer_json.citations or (), run.retrieved_ids) for run in given]
    return Stability(
        qid,
        gold.answerable,
        total,
        _share([_contains(gold, answer, refusal) for answer in answers]),
        _share(hits),
        _citation_stability(answers),
        _median_distance([answer for answer in answers if not is_refusal(answer, refusal)]),
        max(refused, total - refused) / total,
        refused,
        echoes == {lock} if lock else None,
    )


def is_refusal(answer: AnswerV1, refusal: str = REFUSAL) -> bool:
    """Tell whether an answer is the refusal token, exact after trimming."""
    return answer.claim.strip() == refusal


def _contains(gold: GoldV1, answer: AnswerV1, refusal: str) -> bool | None:
    """Return C as stability has it: punctuation and white space do not count on either side."""
    usable = [
        plain(text)
        for text in gold.gold_claim_substr or ()
        if len(text.strip()) >= SHORTEST_SUBSTRING and plain(text)
    ]
    if not usable:
        return None
    said = plain(answer.claim)
    return not is_refusal(answer, refusal) and any(text in said for text in usable)


def _share(outcomes: list[bool | None]) -> float | None:
    if None in outcomes:
        return None
    return sum(map(bool, outcomes)) / len(outcomes)


def _citation_stability(answers: list[AnswerV1]) -> float | None:
    cited = [set(answer.citations or ()) for answer in answers]
    anywhere = set().union(*cited)
    everywhere = anywhere.intersection(*cited)
    return len(everywhere) / len(anywhere) if anywhere else None


def _median_distance(answers: list[AnswerV1]) -> float | None:
    texts = sorted(plain(answer.claim) for answer in answers)
    return percentile((normalised_distance(*pair) for pair in combinations(texts, 2)), 50)


def run_outcome(gold: GoldV1, run: RunV1, refusal: str = REFUSAL) -> bool | None:
    """Return whether one run came out as it should: C and H, or a right refusal."""
    if not gold.answerable:
        return is_refusal(run.answer_json, refusal)
    hit = cites(gold, run.answer_json.citations or (), run.retrieved_ids)
    return all_of((_contains(gold, run.answer_json, refusal), hit))


@dataclass(frozen=True, slots=True)
class StabilityCounts:
    """How many questions are stable, and how the runs of each seed and jitter came out."""

    stable: Tally = field(default_factory=Tally)
    by_run: Mapping[tuple[int, str], Tally] = field(default_factory=dict)
    without_runs: Listing = field(default_factory=Listing)
    unstable: Listing = field(default_factory=Listing)

    def __add__(self, other: "StabilityCounts") -> "StabilityCounts":
        nothing = Tally()
        keys = sorted({*self.by_run, *other.by_run})
        return StabilityCounts(
            self.stable + other.stable,
            {k: self.by_run.get(k, nothing) + other.by_run.get(k, nothing) for k in keys},
            self.without_runs + other.without_runs,
            self.unstable + other.unstable,
        )

    def measures(self, *, allow_missing: bool = False) -> dict[str, Measure]:
        """Return the share of questions that are stable."""
        metric = STABILITY["stable"]
        return {"stable": measure_of(metric, self.stable, allow_missing=allow_missing)}


def stability_counts(
    gold: GoldV1, runs: Iterable[RunV1], refusal: str = REFUSAL
) -> tuple[Stability, StabilityCounts]:
    """Return the figures and the counts of one question."""
    given = tuple(runs)
    figures = stability_of(gold, given, refusal)
    names = (figures.qid,)
    if not given:
        counts = StabilityCounts(Tally(absent=1), {}, listing_of(names))
        return figures, counts
    marks = Counter((run.seed, run.jitter, run_outcome(gold, run, refusal)) for run in given)
    places = sorted({place[:2] for place in marks})
    by_run = {
        place: tally_of((mark_of(key[2]), n) for key, n in marks.items() if key[:2] == place)
        for place in places
    }
    unstable = listing_of(names if figures.outcome is False else ())
    stable = tally_of([(mark_of(figures.outcome), 1)])
    return figures, StabilityCounts(stable, by_run, unstable=unstable)
