"""The same question again and again: do the answers stay the same.

Origin: the stability page of the RAG document. Where the reference takes nothing to measure for
perfect (no pair of answers, no citation at all), the figure is None here; and an unanswerable item
passes only if it is refused in every run: its reference accepts one that is answered every time. A
run without an answer is neither a refusal nor an agreement: figures are over the answers, and what
such a run could turn is not measured.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final

import msgspec

from affidavit.base.faults import gates as faults
from affidavit.base.statistics import percentile
from affidavit.gates.decision import Measure, measure_of
from affidavit.gates.edit_distance import normalised_distance, plain
from affidavit.gates.jitters import run_id
from affidavit.gates.metrics import STABILITY
from affidavit.gates.rag_rows import AnswerV1, GoldV1, qid_of
from affidavit.gates.rag_scoring import REFUSAL, SHORTEST_SUBSTRING, cites
from affidavit.gates.rows import RowReader
from affidavit.gates.scu import locked
from affidavit.gates.stability_figures import Stability
from affidavit.gates.tally import Listing, Tally, all_of, listing_of, mark_of, tally_of


class RunV1(msgspec.Struct, frozen=True):
    """One run of a question under a seed and a jitter.

    `answer_json` is null where no answer came; `fault` then says why.
    """

    qid: str | int
    answer_json: AnswerV1 | None
    seed: int = 0
    jitter: str = "none"
    retrieved_ids: tuple[str, ...] | None = None
    run_id: str | None = None
    fault: str | None = None


ROWS: Final = RowReader(RunV1, faults.STABILITY_ROW, ("qid", "answer_json", "seed", "jitter"))


def stability_of(gold: GoldV1, runs: Iterable[RunV1], refusal: str = REFUSAL) -> Stability:
    """Return the figures of one question over its runs; their order does not matter."""
    given = tuple(runs)
    qid, total = qid_of(gold), len(given)
    answered = [(run.answer_json, run.retrieved_ids) for run in given if run.answer_json]
    answers = [answer for answer, _ in answered]
    silent = total - len(answers)
    if not answers:
        return Stability(qid, gold.answerable, total, silent=silent)
    refused = sum(is_refusal(answer, refusal) for answer in answers)
    echoes = {locked(answer.constraints_echo or ()) for answer in answers}
    lock = locked(gold.constraints or ())
    hits = [cites(gold, answer.citations or (), found) for answer, found in answered]
    return Stability(
        qid,
        gold.answerable,
        total,
        _share([_contains(gold, answer, refusal) for answer in answers]),
        _share(hits),
        _citation_stability(answers),
        _median_distance([answer for answer in answers if not is_refusal(answer, refusal)]),
        max(refused, len(answers) - refused) / len(answers),
        refused,
        echoes == {lock} if lock else None,
        silent,
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
    """Return the median over all pairs of answers; texts that are alike are compared once."""
    texts = Counter(plain(answer.claim) for answer in answers)
    distances = [0.0] * sum(times * (times - 1) // 2 for times in texts.values())
    for one, other in combinations(sorted(texts), 2):
        distances += [normalised_distance(one, other)] * (texts[one] * texts[other])
    return percentile(distances, 50)


def run_outcome(gold: GoldV1, run: RunV1, refusal: str = REFUSAL) -> bool | None:
    """Return whether one run came out as it should: C and H, or a right refusal."""
    answer = run.answer_json
    if answer is None:
        return None
    if not gold.answerable:
        return is_refusal(answer, refusal)
    hit = cites(gold, answer.citations or (), run.retrieved_ids)
    return all_of((_contains(gold, answer, refusal), hit))


@dataclass(frozen=True, slots=True)
class StabilityCounts:
    """How many questions are stable, and how the runs of each seed and jitter came out."""

    stable: Tally = field(default_factory=Tally)
    by_run: Mapping[tuple[int, str], Tally] = field(default_factory=dict)
    without_runs: Listing = field(default_factory=Listing)
    silent: Listing = field(default_factory=Listing)
    """The runs without an answer."""
    unstable: Listing = field(default_factory=Listing)

    def __add__(self, other: "StabilityCounts") -> "StabilityCounts":
        nothing = Tally()
        keys = sorted({*self.by_run, *other.by_run})
        return StabilityCounts(
            self.stable + other.stable,
            {k: self.by_run.get(k, nothing) + other.by_run.get(k, nothing) for k in keys},
            self.without_runs + other.without_runs,
            self.silent + other.silent,
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
    silent = (run_id(figures.qid, run.seed, run.jitter) for run in given if not run.answer_json)
    counts = StabilityCounts(
        tally_of([(mark_of(figures.outcome), 1)]),
        by_run,
        silent=listing_of(silent),
        unstable=listing_of(names if figures.outcome is False else ()),
    )
    return figures, counts
