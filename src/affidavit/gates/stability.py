"""Stability: whether the answers to the same question stay the same over many runs.

Origin: the stability page of the RAG document.
"""

import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations
from types import MappingProxyType
from typing import Final

import msgspec

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import gates as faults
from affidavit.base.json_rows import RowReader
from affidavit.base.statistics import percentile, rounded
from affidavit.base.text import excerpt
from affidavit.decision.comparison import Comparison, comparison_doubts, regression_reasons
from affidavit.decision.counts import (
    Listing,
    Tally,
    all_hold,
    listing_of,
    result_from_bool,
    tally_results,
)
from affidavit.decision.evaluation import Correction, Measure, decide, measure_from_tally
from affidavit.decision.gate import Gate, override_gates
from affidavit.decision.report import Report, ReportInput, group_items
from affidavit.gates.constraints import locked_set
from affidavit.gates.metrics import (
    GATE_NAMES_BY_KIND,
    QUESTION_LIMITS,
    QUESTION_METRICS,
    STABILITY_GATES,
    STABILITY_METRICS,
)
from affidavit.gates.rag_counts import MAX_OFFENDERS
from affidavit.gates.rag_rows import GoldItem, TraceAnswer, qid_of
from affidavit.gates.rag_scoring import SHORTEST_SUBSTRING, cites
from affidavit.gates.refusals import REFUSED_IN_WORDS, RefusalReader
from affidavit.gates.report import (
    CountedAnswer,
    QuestionFigures,
    StabilityDetails,
    StabilityRunCounts,
    counted_warning,
    make_report,
    skipped_rows,
)

_AROUND_MARK: Final = re.compile(r"\s*([,:])\s*")
_SPACES: Final = re.compile(r"\s+")
_DASH: Final = re.compile("[\u2013\u2014]")
_SYNONYMS: Final = {
    "explain": "describe",
    "list": "enumerate",
    "compare": "contrast",
    "show": "display",
}
_SYNONYM: Final = re.compile(rf"\b({'|'.join(_SYNONYMS)})\b", re.IGNORECASE)
_PHRASES: Final = ("with citations", "in one sentence")
_PHRASE: Final = re.compile("|".join(_PHRASES), re.IGNORECASE)


def _white_space(question: str) -> str:
    return _SPACES.sub(" ", _AROUND_MARK.sub(r"\1 ", question)).strip()


def _punctuation(question: str) -> str:
    changed = _DASH.sub("-", question).rstrip()
    if not changed.endswith((".", "!", "?")):
        changed += "?"
    return changed.replace("?", " ?")


def _synonyms(question: str) -> str:
    return _SYNONYM.sub(lambda word: _SYNONYMS[word[1].lower()], question)


def _order(question: str) -> str:
    found = [*_PHRASE.finditer(question)]
    if {match[0].lower() for match in found} != set(_PHRASES):
        return question
    swapped = dict(zip(_PHRASES, reversed(_PHRASES), strict=True))
    return _PHRASE.sub(lambda match: swapped[match[0].lower()], question)


JITTERS: Final[Mapping[str, Callable[[str], str]]] = MappingProxyType(
    {
        "none": lambda question: question,
        "ws": _white_space,
        "punct": _punctuation,
        "syn": _synonyms,
        "order": _order,
    }
)
_SEED_RANGE: Final = re.compile(r"(\d{1,15})(?:-(\d{1,15}))?")
_MAX_SEEDS: Final = 10_000


def apply_jitter(question: str, jitter: str) -> str:
    """Return a question with a jitter applied."""
    if jitter not in JITTERS:
        raise AffidavitError(faults.JITTER_UNKNOWN, name=jitter, known=", ".join(JITTERS))
    return JITTERS[jitter](question)


def parse_jitters(text: str) -> tuple[str, ...]:
    """Return the jitters of a list with commas, each once."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        apply_jitter("", name)
    return names


def parse_seeds(text: str) -> tuple[int, ...]:
    """Return the seeds of a list with commas and ranges (`0,1,2`, `0-4`), each once."""
    found: dict[int, None] = {}
    for word in text.split(","):
        match = _SEED_RANGE.fullmatch(word.strip())
        first = int(match[1]) if match else 0
        last = int(match[2] or match[1]) if match else -1
        if not 0 <= last - first < _MAX_SEEDS:
            raise AffidavitError(faults.SEEDS_MALFORMED, text=excerpt(text))
        found.update(dict.fromkeys(range(first, last + 1)))
    return tuple(found)


def jitter_run_id(qid: str, seed: int, jitter: str) -> str:
    """Return the name of a run, as the stability page writes it."""
    return f"{qid}#seed={seed};j={jitter}"


_PUNCTUATION: Final = str.maketrans("", "", string.punctuation)
_WHITE_SPACE: Final = re.compile(r"\s+")


@lru_cache(4096)  # Cached: the runs of a question mostly give the same text, and gold texts recur.
def normalise_text(text: str) -> str:
    """Return a text in lower case, without ASCII punctuation, with single spaces.

    Origin: `canon` of the stability page.
    """
    return _WHITE_SPACE.sub(" ", text.lower().strip().translate(_PUNCTUATION)).strip()


def edit_distance(first: str, second: str) -> int:
    """Return the least number of letters to insert, delete or replace.

    Origin: Levenshtein (1966), by the bit vectors of Myers (1999) in the form of Hyyrö (2003): one
    integer holds a whole column, so each letter takes one step. A common prefix and suffix cost
    nothing.
    """
    first, second = _differing_parts(first, second)
    if not first:
        return len(second)
    places: dict[str, int] = {}
    for at, letter in enumerate(first):
        places[letter] = places.get(letter, 0) | 1 << at
    everything = (1 << len(first)) - 1
    last = 1 << len(first) - 1
    more, less, distance = everything, 0, len(first)
    for letter in second:
        match = places.get(letter, 0) | less
        same = (((match & more) + more) ^ more) | match
        up = less | ~(same | more) & everything
        down = more & same
        distance += bool(up & last) - bool(down & last)
        up = up << 1 | 1
        more = (down << 1 | ~(same | up)) & everything
        less = up & same
    return distance


def _differing_parts(first: str, second: str) -> tuple[str, str]:
    start = _common_prefix_length(first, second)
    first, second = first[start:], second[start:]
    end = _common_prefix_length(first[::-1], second[::-1])
    return first[: len(first) - end], second[: len(second) - end]


def _common_prefix_length(first: str, second: str) -> int:
    """Return the length of the common prefix."""
    pairs = zip(first, second, strict=False)
    shorter = min(len(first), len(second))
    return next((at for at, (one, other) in enumerate(pairs) if one != other), shorter)


def normalised_distance(first: str, second: str) -> float:
    """Return the distance over the length of the longer text: 0 for equal, 1 for all different."""
    if first == second:
        return 0.0
    return edit_distance(first, second) / max(len(first), len(second))


@dataclass(frozen=True, slots=True)
class StabilityRules:
    """How runs are judged: which answers are refusals, and the limits of a question's figures."""

    refusals: RefusalReader = field(default_factory=RefusalReader)
    limits: tuple[Gate, ...] = QUESTION_LIMITS


DEFAULT_RULES: Final = StabilityRules()


def stability_gates(overrides: Iterable[str]) -> tuple[tuple[Gate, ...], tuple[Gate, ...]]:
    """Return the gates, and the limits of the figures of every answerable question."""
    defaults = (*STABILITY_GATES, *QUESTION_LIMITS)
    given = override_gates(overrides, defaults, GATE_NAMES_BY_KIND["stability"])
    gates = tuple(gate for gate in given if gate.key in STABILITY_METRICS)
    return gates, tuple(gate for gate in given if gate.key in QUESTION_METRICS)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionStability:
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
    """Refusal consistency: the share of runs that agree with the majority."""
    refused: int = 0
    scu_cons: bool | None = None
    """Every run echoes the constraints; None without constraints."""
    no_answer: int = 0
    """Runs without an answer."""
    question: str = ""
    expected: tuple[str, ...] = ()
    answers: tuple[CountedAnswer, ...] = ()
    cited: tuple[str, ...] = ()
    gold_citations: tuple[str, ...] = ()
    limits: tuple[Gate, ...] = QUESTION_LIMITS

    @property
    def checks(self) -> tuple[tuple[str, bool | None], ...]:
        """Whether each figure is within its limit, for any answer of the runs without one."""
        answers = self.runs - self.no_answer
        if not self.answerable:
            held = self.refused == answers if answers else None
            if self.runs == 1 and held:
                held = None  # One refusal says nothing about the next run.
            return (("refused_always", self._whatever(held)),)
        found = [(limit.key, self._keeps(limit)) for limit in self.limits]
        if self.scu_cons is not None:
            found.append(("scu_cons", self._whatever(self.scu_cons)))
        return tuple(found)

    def _whatever(self, held: bool | None) -> bool | None:
        """Return None if a run without an answer could turn a pass into a failure."""
        return None if held and self.no_answer else held

    def _keeps(self, limit: Gate) -> bool | None:
        value: float | None = getattr(self, limit.key)
        if value is None:
            return None
        if limit.key == "ned50":
            return None if self.no_answer else limit.holds(value)
        if limit.key == "css":  # A further run can only lower this figure.
            return self._whatever(limit.holds(value))
        right = value * (self.runs - self.no_answer)
        if limit.holds(right / self.runs):
            return True
        return None if limit.holds((right + self.no_answer) / self.runs) else False

    @property
    def outcome(self) -> bool | None:
        """Whether the question is stable; without a limit it cannot be told."""
        return all_hold(held for _, held in self.checks or (("", None),))

    def figures(self) -> QuestionFigures:
        """Return the figures as a report stores them, rounded."""
        return QuestionFigures(
            qid=self.qid,
            answerable=self.answerable,
            runs=self.runs,
            no_answer=self.no_answer,
            acr=rounded(self.acr),
            cghc=rounded(self.cghc),
            css=rounded(self.css),
            ned50=rounded(self.ned50),
            rcr=rounded(self.rcr),
            refused=self.refused,
            scu_cons=self.scu_cons,
            failed=tuple(name for name, held in self.checks if held is False),
            not_measured=tuple(name for name, held in self.checks if held is None),
        )

    def offender(self) -> QuestionFigures:
        """Return the figures with what was asked, expected and answered."""
        return msgspec.structs.replace(
            self.figures(),
            question=self.question,
            expected=self.expected,
            answers=self.answers,
            cited=self.cited,
            gold_citations=self.gold_citations,
        )


# Where the reference of the stability page scores nothing to measure as
# perfect (no pair of answers, no citation), the figure is None here. An unanswerable item passes
# only if it is refused in every run; the reference also accepts one that is answered every time. A
# run without an answer is neither a refusal nor an agreement: figures are over the answers, and a
# figure that such a run could change is not measured.


class StabilityRun(msgspec.Struct, frozen=True):
    """One run of a question under a seed and a jitter.

    `answer_json` is null if there was no answer; `fault` then says why.
    """

    qid: str | int
    answer_json: TraceAnswer | None
    seed: int = 0
    jitter: str = "none"
    retrieved_ids: tuple[str, ...] | None = None
    run_id: str | None = None
    fault: str | None = None


STABILITY_READER: Final = RowReader(
    StabilityRun, faults.STABILITY_ROW, ("qid", "answer_json", "seed", "jitter")
)


def question_stability(
    gold: GoldItem, runs: Iterable[StabilityRun], rules: StabilityRules = DEFAULT_RULES
) -> QuestionStability:
    """Return the figures of one question over its runs; their order does not matter."""
    given = tuple(runs)
    qid, total = qid_of(gold), len(given)
    answered = [(run.answer_json, run.retrieved_ids) for run in given if run.answer_json]
    answers = [answer for answer, _ in answered]
    no_answer = total - len(answers)
    if not answers:
        return QuestionStability(
            qid=qid,
            answerable=gold.answerable,
            runs=total,
            no_answer=no_answer,
            limits=rules.limits,
        )
    refusals = rules.refusals
    shipped = [answer for answer in answers if not _is_refusal(gold, answer, refusals)]
    refused = len(answers) - len(shipped)
    echoes = {locked_set(answer.constraints_echo or ()) for answer in answers}
    lock = locked_set(gold.constraints or ())
    hits = [cites(gold, answer.citations or (), found) for answer, found in answered]
    return QuestionStability(
        qid=qid,
        answerable=gold.answerable,
        runs=total,
        acr=_share([_contains(gold, answer, refusals) for answer in answers]),
        cghc=_share(hits),
        css=_citation_stability(answers),
        ned50=_median_distance(shipped),
        rcr=max(refused, len(shipped)) / len(answers),
        refused=refused,
        scu_cons=echoes == {lock} if lock else None,
        no_answer=no_answer,
        question=gold.question,
        expected=(gold.gold_claim_substr or ()) if gold.answerable else refusals.tokens,
        answers=_counted_answers(answers),
        cited=tuple(sorted({name for answer in answers for name in answer.citations or ()})),
        gold_citations=gold.gold_citations or (),
        limits=rules.limits,
    )


def _counted_answers(answers: list[TraceAnswer]) -> tuple[CountedAnswer, ...]:
    """Return the different answers, the most frequent first."""
    counts = Counter(answer.claim for answer in answers)
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    return tuple(CountedAnswer(text, count) for text, count in ordered)


def _is_refusal(gold: GoldItem, answer: TraceAnswer, refusals: RefusalReader) -> bool:
    return refusals.is_token(answer.claim) or _is_refusal_in_words(gold, answer, refusals)


def _is_refusal_in_words(gold: GoldItem, answer: TraceAnswer, refusals: RefusalReader) -> bool:
    """Tell whether an answer refuses in other words; one that contains a gold text does not."""
    if refusals.is_token(answer.claim) or not refusals.is_in_words(answer.claim):
        return False
    return not (gold.answerable and _contains(gold, answer, refusals))


def _contains(gold: GoldItem, answer: TraceAnswer, refusals: RefusalReader) -> bool | None:
    """Return C after normalisation: punctuation and white space do not count."""
    usable = [
        normalise_text(text)
        for text in gold.gold_claim_substr or ()
        if len(text.strip()) >= SHORTEST_SUBSTRING and normalise_text(text)
    ]
    if not usable:
        return None
    said = normalise_text(answer.claim)
    return not refusals.is_token(answer.claim) and any(text in said for text in usable)


def _share(outcomes: list[bool | None]) -> float | None:
    if None in outcomes:
        return None
    return sum(map(bool, outcomes)) / len(outcomes)


def _citation_stability(answers: list[TraceAnswer]) -> float | None:
    cited = [set(answer.citations or ()) for answer in answers]
    anywhere = set().union(*cited)
    everywhere = anywhere.intersection(*cited)
    return len(everywhere) / len(anywhere) if anywhere else None


def _median_distance(answers: list[TraceAnswer]) -> float | None:
    """Return the median over all pairs of answers; equal texts are compared once."""
    texts = Counter(normalise_text(answer.claim) for answer in answers)
    distances = [0.0] * sum(times * (times - 1) // 2 for times in texts.values())
    for one, other in combinations(sorted(texts), 2):
        distances += [normalised_distance(one, other)] * (texts[one] * texts[other])
    return percentile(distances, 50)


def run_outcome(
    gold: GoldItem, run: StabilityRun, refusals: RefusalReader = DEFAULT_RULES.refusals
) -> bool | None:
    """Return whether one run is right: C and H hold, or it is a correct refusal."""
    answer = run.answer_json
    if answer is None:
        return None
    if not gold.answerable:
        return _is_refusal(gold, answer, refusals)
    hit = cites(gold, answer.citations or (), run.retrieved_ids)
    return all_hold((_contains(gold, answer, refusals), hit))


@dataclass(frozen=True, slots=True)
class StabilityCounts:
    """How many questions are stable, and the outcomes of the runs by seed and jitter."""

    stable: Tally = field(default_factory=Tally)
    by_run: Mapping[tuple[int, str], Tally] = field(default_factory=dict)
    without_runs: Listing = field(default_factory=Listing)
    silent: Listing = field(default_factory=Listing)
    """The runs without an answer."""
    unstable: Listing = field(default_factory=Listing)
    in_words: Listing = field(default_factory=Listing)
    """The runs that refused in other words than a token."""

    def __add__(self, other: "StabilityCounts") -> "StabilityCounts":
        nothing = Tally()
        keys = sorted({*self.by_run, *other.by_run})
        return StabilityCounts(
            stable=self.stable + other.stable,
            by_run={k: self.by_run.get(k, nothing) + other.by_run.get(k, nothing) for k in keys},
            without_runs=self.without_runs + other.without_runs,
            silent=self.silent + other.silent,
            unstable=self.unstable + other.unstable,
            in_words=self.in_words + other.in_words,
        )

    def measures(self, *, allow_missing: bool = False) -> dict[str, Measure]:
        """Return the share of questions that are stable."""
        metric = STABILITY_METRICS["stable"]
        return {"stable": measure_from_tally(metric, self.stable, allow_missing=allow_missing)}


def stability_counts(
    gold: GoldItem, runs: Iterable[StabilityRun], rules: StabilityRules = DEFAULT_RULES
) -> tuple[QuestionStability, StabilityCounts]:
    """Return the figures and the counts of one question."""
    given = tuple(runs)
    figures = question_stability(gold, given, rules)
    names = (figures.qid,)
    if not given:
        counts = StabilityCounts(Tally(absent=1), {}, listing_of(names))
        return figures, counts
    marks = Counter((run.seed, run.jitter, run_outcome(gold, run, rules.refusals)) for run in given)
    places = sorted({place[:2] for place in marks})
    by_run = {
        place: tally_results(
            (result_from_bool(key[2]), n) for key, n in marks.items() if key[:2] == place
        )
        for place in places
    }
    silent = (
        jitter_run_id(figures.qid, run.seed, run.jitter) for run in given if not run.answer_json
    )
    in_words = (
        jitter_run_id(figures.qid, run.seed, run.jitter)
        for run in given
        if run.answer_json and _is_refusal_in_words(gold, run.answer_json, rules.refusals)
    )
    counts = StabilityCounts(
        tally_results([(result_from_bool(figures.outcome), 1)]),
        by_run,
        silent=listing_of(silent),
        unstable=listing_of(names if figures.outcome is False else ()),
        in_words=listing_of(in_words),
    )
    return figures, counts


def stability_report(
    counts: StabilityCounts,
    figures: Iterable[QuestionStability],
    inputs: Mapping[str, ReportInput],
    *,
    overrides: Iterable[str] = (),
    correction: Correction | None = None,
    refusals: RefusalReader = DEFAULT_RULES.refusals,
    strays: Listing | None = None,
    duplicates: int = 0,
    allow_missing: bool = False,
    comparison: Comparison | None = None,
) -> Report:
    """Return the report of repeated runs; `strays` are the qids that the gold set does not have."""
    unknown = strays or Listing()
    each = sorted(figures, key=lambda made: made.qid)
    gates, limits = stability_gates(overrides)
    measures = counts.measures(allow_missing=allow_missing)
    gaps = counted_warning("gold items without a run", counts.without_runs.total)
    decision = decide(
        gates,
        measures,
        doubts=(
            *_nothing_to_decide(counts, each),
            *skipped_rows(inputs),
            *(() if allow_missing else gaps),
            *comparison_doubts(comparison),
        ),
        refusals=regression_reasons(comparison),
        correction=correction,
    )
    return make_report(
        "stability",
        decision,
        measures,
        inputs=dict(inputs),
        offenders=tuple(made.offender() for made in each if made.outcome is False)[:MAX_OFFENDERS],
        warnings=(
            *counted_warning("qids of runs that are not in the gold set", unknown.total),
            *counted_warning(
                "runs that gave way to a later one of the same seed and jitter", duplicates
            ),
            *counted_warning(
                "runs without an answer, which are no refusal and no agreement", counts.silent.total
            ),
            *(gaps if allow_missing else ()),
            *counted_warning(REFUSED_IN_WORDS, counts.in_words.total),
        ),
        listings={
            "unstable": counts.unstable,
            "refused_in_words": counts.in_words,
            "without_runs": counts.without_runs,
            "runs_without_answer": counts.silent,
            "runs_without_gold": unknown,
        },
        counts={"duplicates": duplicates, "questions": len(each)},
        settings={
            **refusals.settings,
            "limits": [str(limit) for limit in limits],
            "allow_missing": allow_missing,
        },
        details=StabilityDetails(
            questions=tuple(made.figures() for made in each),
            by_run=tuple(
                StabilityRunCounts(
                    seed=seed,
                    jitter=jitter,
                    right=tally.hits,
                    wrong=tally.misses,
                    not_measured=tally.not_measured,
                )
                for (seed, jitter), tally in counts.by_run.items()
            ),
        ),
        items=group_items(((made.qid,), made.outcome, made.checks) for made in each),
        comparison=comparison,
    )


def _nothing_to_decide(
    counts: StabilityCounts, figures: list[QuestionStability]
) -> tuple[str, ...]:
    """Return why there is nothing to decide."""
    if not figures:
        return ("the gold set is empty",)
    return () if counts.by_run else ("no run has a qid of the gold set",)
