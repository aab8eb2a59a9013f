"""The RAG report: the policy, the worst items, scores of other tools, and the decision."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Final, TypeAlias

from msgspec import UNSET, structs

from affidavit.base.statistics import Rate, rounded, wilson
from affidavit.base.text import excerpt
from affidavit.decision.comparison import Comparison, comparison_doubts, regression_reasons
from affidavit.decision.counts import EMPTY_LISTING, MAX_LISTED, Listing
from affidavit.decision.evaluation import Correction, Measure, decide
from affidavit.decision.gate import Gate, override_gates
from affidavit.decision.metric import Metric, MetricKind
from affidavit.decision.report import (
    Checks,
    ItemGroup,
    Report,
    ReportInput,
    RowLocation,
    group_items,
)
from affidavit.gates.groundedness import Groundedness
from affidavit.gates.metrics import GROUNDEDNESS_GATES, RAG_GATES, RAG_METRICS, SCU_GATE
from affidavit.gates.rag_counts import (
    MAX_OFFENDERS,
    AnswerState,
    ItemProfile,
    RagCounts,
    failed_checks,
    outcome_of,
)
from affidavit.gates.rag_rows import GoldItem, TraceAnswer, TraceRow, qid_of
from affidavit.gates.rag_scoring import DEFAULT_SETTINGS, RagSettings
from affidavit.gates.refusals import REFUSED_IN_WORDS
from affidavit.gates.report import (
    PlacedOffender,
    RagDetails,
    RagOffender,
    ScoreFigures,
    make_report,
)

ImportedScore: TypeAlias = bool | int | float | str | None

MAX_REPEATABLE_WORDS: Final = 8
"""In words. A longer reference is a sentence, which no answer repeats literally."""
_MAX_SHOWN: Final = 10
# Every double is an integer multiple of this unit, so sums are sums of integers.
_PARTS_OF_ONE: Final = 1 << 1074
_NO_LETTERS: Final = re.compile(r"[^a-z0-9.]+")


@dataclass(slots=True)
class ScoreSum:
    """All scores of one name; a yes is 1 and a no is 0."""

    n: int = 0
    parts: int = 0
    least: float | None = None
    most: float | None = None
    not_measured: int = 0
    flags: int = 0
    """Scores that are a yes or a no."""
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
            self.flags += isinstance(score, bool)
            self.parts += numerator * (_PARTS_OF_ONE // denominator)
            self.least = value if self.least is None else min(self.least, value)
            self.most = value if self.most is None else max(self.most, value)

    @property
    def mean(self) -> float | None:
        """The mean of the numbers; None if there are none."""
        return float(Fraction(self.parts, self.n * _PARTS_OF_ONE)) if self.n else None

    @property
    def kind(self) -> MetricKind:
        """What kind of metric the scores are."""
        if self.n and self.flags == self.n:
            return MetricKind.SHARE
        is_score = self.least is None or (self.least >= 0 and (self.most or 0) <= 1)
        return MetricKind.SCORE if is_score else MetricKind.AMOUNT

    def measure(self, metric: Metric, rows: int) -> Measure:
        """Return the scores as a measure; a row without a number was not measured."""
        is_share = metric.kind is MetricKind.SHARE
        rate = Rate(self.parts // _PARTS_OF_ONE, self.n) if is_share else None
        left = rows - self.n
        return Measure(
            metric=metric,
            value=self.mean,
            rate=rate,
            ci95=None if rate is None else wilson(rate),
            count=self.n,
            not_measured=left,
            still_open=left,
        )

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
    rows: Counter[str] = field(default_factory=Counter)
    """The rows of each tool: a row without a score was not measured."""

    def add(self, tool: str, scores: Mapping[str, ImportedScore]) -> None:
        """Add the scores of a row, under the name of the tool."""
        self.rows[tool] += 1
        for name, score in scores.items():
            self.sums.setdefault(f"{tool}.{name}", ScoreSum()).add(score)
        while len(self.sums) > MAX_LISTED:
            # The names kept are the first in sorted order, whatever the order of the rows.
            del self.sums[max(self.sums)]
            self.is_cut = True

    def measures(self) -> dict[str, Measure]:
        """Return the scores by the names that gates use, such as `ragas.answer_relevancy`.

        Without the name of the tool, the name of a score is enough where it is not ours.
        """
        found: dict[str, Measure] = {}
        for key, each in sorted(self.sums.items()):
            tool, _, score = key.partition(".")
            word = _gate_name(score)
            name = f"{_gate_name(tool)}.{word}"
            metric = Metric(name, each.kind, None, "no row has this score", (word,))
            found[name] = each.measure(metric, self.rows[tool])
        return found

    def summary(self, used: Collection[str] = ()) -> str:
        """Return the means of the scores that no gate uses, in one line."""
        means = [
            f"{excerpt(name)} {rounded(mean, 3):g} (n {self.sums[name].n})"
            for name in sorted(self.sums)
            if (mean := self.sums[name].mean) is not None and _gate_name(name) not in used
        ]
        more = len(means) - _MAX_SHOWN
        shown = [*means[:_MAX_SHOWN], f"{more} more"] if more > 0 else means
        listed = ", ".join(shown) or "labels only" * bool(self.sums)
        return listed + " and further names" * self.is_cut


def _gate_name(name: str) -> str:
    """Return a name in the letters that a gate can have; a dot is kept."""
    return _NO_LETTERS.sub("_", name.lower()).strip("_")


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
    doubts: tuple[str, ...] = ()
    """Why a file may not have all rows of its run."""
    lacking: str = ""
    """What the files lack, so that nothing was measured, and the option that would help."""

    @property
    def listings(self) -> Mapping[str, Listing]:
        """The listings of the report."""
        return {"same_question": self.same_question} if self.same_question.total else {}

    def warnings(self, used: Collection[str]) -> tuple[str, ...]:
        """Return the warnings of the report; `used` are the metrics that have a gate."""
        others = self.scores.summary(used)
        said = {
            f"scores that the file brings: {others}; not used for the decision, unless"
            " a gate names them": others,
            "gold items that have their question in common, so traces that are known by it alone"
            f" belong to none of them: {self.same_question.total}": self.same_question.total,
            f"references of more than {MAX_REPEATABLE_WORDS} words: {self.sentences};"
            " an answer must hold"
            " one letter for letter, so the same in other words counts as wrong: give these"
            " questions short texts (gold_claim_substr) in a gold set of their own": self.sentences,
        }
        return tuple(text for text, holds in said.items() if holds)


# Offenders are the items to examine first. Only their names are kept while rows are counted; their
# rows are read again afterwards.


def make_offender(
    gold: GoldItem,
    trace: TraceRow,
    profile: ItemProfile,
    *,
    line: int | None = None,
    file: str | None = None,
    expected: tuple[str, ...] = (),
    passages: Mapping[str, str] | None = None,
) -> PlacedOffender:
    """Return an offender from its rows and its profile; the location is the trace's.

    `expected` and `passages` are what only the file of another tool has.
    """
    answer = trace.answer_json
    offender = RagOffender(
        qid=qid_of(gold),
        why=_reason(profile),
        failed=failed_checks(profile),
        not_measured=_not_measured(profile),
        question=gold.question,
        claim="" if answer is None else answer.claim,
        citations=None if answer is None else _citations(answer),
        retrieved_ids=trace.retrieved_ids,
        gold_citations=gold.gold_citations or (),
        expected=(*(expected or _expected(gold)), *_lost(gold, profile)),
        passages=dict(passages or {}),
    )
    return PlacedOffender(offender, line, file)


def _expected(gold: GoldItem) -> tuple[str, ...]:
    return (gold.gold_claim_substr or ()) if gold.answerable else ("a refusal",)


def _lost(gold: GoldItem, profile: ItemProfile) -> tuple[str, ...]:
    """Return the constraints that an answer lost or contradicts."""
    if profile.keeps is not False:
        return ()
    return tuple(f"a claim that keeps: {each}" for each in gold.constraints or ())


def _citations(answer: TraceAnswer) -> tuple[str, ...] | None:
    return None if answer.citations_recorded is False else answer.citations or ()


def _reason(profile: ItemProfile) -> str:
    if profile.answer_state is AnswerState.REFUSED:
        return "refused_answerable"
    return "wrong_answer" if profile.answerable else "answered_unanswerable"


def _not_measured(profile: ItemProfile) -> tuple[str, ...]:
    if profile.answer_state is not AnswerState.SHIPPED or not profile.answerable:
        return ()
    checks = {"C": profile.contains, "H": profile.cites}
    return tuple(name for name, held in checks.items() if held is None)


@dataclass(frozen=True, slots=True)
class RagResult:
    """Counts, the worst items with their rows, and all items if requested.

    `items` can be iterated more than once.
    """

    counts: RagCounts
    inputs: Mapping[str, ReportInput]
    offenders: tuple[PlacedOffender, ...]
    items: Iterable[tuple[str, ItemProfile]] | None
    extras: ImportedExtras = field(default_factory=ImportedExtras)
    groundedness: Groundedness | None = None
    """The judged rows, if any row has the texts of its contexts."""


RAG_KIND: Final = "rag"
TRACE_ROLE: Final = "trace"
"""The input whose rows are the offenders."""


@dataclass(frozen=True, slots=True)
class RagPolicy:
    """The settings of a run."""

    overrides: tuple[str, ...] = ()
    scu_enforced: bool = False
    allow_missing: bool = False
    settings: RagSettings = DEFAULT_SETTINGS
    correction: Correction | None = None

    def gates(
        self,
        counts: RagCounts,
        scores: Mapping[str, Measure] = MappingProxyType({}),
        *,
        is_grounded: bool = False,
    ) -> tuple[Gate, ...]:
        """Return the gates; SCU is used if it is enforced or if a gold item has constraints.

        `scores` are those that the files of other tools have. With `is_grounded`, answers were
        judged against their contexts; then a gold set is not needed.
        """
        known = {**RAG_METRICS, **{name: made.metric for name, made in scores.items()}}
        defaults = (
            *(RAG_GATES if counts.items() or not is_grounded else ()),
            *(GROUNDEDNESS_GATES if is_grounded else ()),
            *(SCU_GATE if self.scu_enforced or counts.uses_scu() else ()),
        )
        return override_gates(self.overrides, defaults, known)


def rag_report(
    counts: RagCounts,
    policy: RagPolicy,
    inputs: Mapping[str, ReportInput],
    *,
    offenders: Iterable[PlacedOffender] = (),
    items: Iterable[tuple[str, ItemProfile]] | None = None,
    comparison: Comparison | None = None,
    fail_on_regression: bool = False,
    extras: ImportedExtras | None = None,
    groundedness: Groundedness | None = None,
) -> Report:
    """Return the report of a run; `items` are stored for later comparisons.

    `groundedness` has the rows that were judged against their contexts.
    """
    worst = _with_claims(tuple(offenders), groundedness)
    given = _with_places(inputs, worst)
    imported = extras or ImportedExtras()
    scores = imported.scores.measures()
    # Answers without right ones are asked whether they are grounded, even if that is not known.
    is_grounded = groundedness is not None or bool(imported.lacking and not counts.items())
    gates = policy.gates(counts, scores, is_grounded=is_grounded)
    measures = {
        **_measures(counts, groundedness, allow_missing=policy.allow_missing),
        **{gate.key: scores[gate.key] for gate in gates if gate.key in scores},
    }
    watched = comparison if fail_on_regression else None
    judge = policy.settings.constraint_judge
    decision = decide(
        gates,
        measures,
        doubts=(
            *_doubts(counts, policy, given, imported.lacking, needs_gold=groundedness is None),
            *imported.doubts,
            *comparison_doubts(watched),
        ),
        refusals=regression_reasons(watched),
        correction=policy.correction,
    )
    return make_report(
        RAG_KIND,
        decision,
        measures,
        inputs=given,
        offenders=tuple(each.offender for each in worst),
        warnings=(
            *_warnings(counts, policy, given, groundedness),
            *imported.warnings(measures),
        ),
        listings={
            **counts.listings,
            **(
                {"traces_without_gold": counts.strays} if counts.items() or not groundedness else {}
            ),
            **imported.listings,
        },
        counts={**_counts(counts), **(groundedness.counts() if groundedness else {})},
        settings={
            "k": policy.settings.k,
            **policy.settings.refusal_reader.settings,
            "scu_enforced": policy.scu_enforced,
            "allow_missing": policy.allow_missing,
            "scu_rules": [rule.id for rule in policy.settings.scu_rules],
            **({"scu_judge": judge.name} if judge and counts.uses_scu() else {}),
            **(groundedness.settings if groundedness else {}),
        },
        details=_details(imported, None if items is None else groundedness),
        items=None if items is None else item_groups(items, groundedness),
        comparison=comparison,
    )


def _with_claims(
    wrong: tuple[PlacedOffender, ...], groundedness: Groundedness | None
) -> tuple[PlacedOffender, ...]:
    """Return the wrong answers with the claims that are not supported, then ungrounded answers."""
    if groundedness is None:
        return wrong
    ungrounded = {each.offender.qid: each for each in groundedness.worst}
    both = tuple(
        replace(each, offender=structs.replace(each.offender, claims=known.offender.claims))
        if (known := ungrounded.pop(each.offender.qid, None)) is not None
        else each
        for each in wrong
    )
    return (*both, *ungrounded.values())[:MAX_OFFENDERS]


def _measures(
    counts: RagCounts, groundedness: Groundedness | None, *, allow_missing: bool
) -> dict[str, Measure]:
    """Return the figures of answers against gold items, and of answers against their contexts."""
    by_gold = counts.measures(allow_missing=allow_missing)
    if groundedness is None:
        return by_gold
    by_contexts = groundedness.measures(allow_missing=allow_missing)
    return {**(by_gold if counts.items() else {}), **by_contexts}


def _details(imported: ImportedExtras, groundedness: Groundedness | None) -> RagDetails:
    sums = imported.scores.sums
    return RagDetails(
        {name: sums[name].figures() for name in sorted(sums)} or UNSET,
        (groundedness.claims() if groundedness else {}) or UNSET,
    )


def _with_places(
    inputs: Mapping[str, ReportInput], offenders: tuple[PlacedOffender, ...]
) -> dict[str, ReportInput]:
    traces = inputs.get(TRACE_ROLE)
    if traces is None:
        return dict(inputs)
    places = {
        each.offender.qid: RowLocation(each.file or traces.path, each.line)
        for each in offenders
        if each.line is not None
    }
    return {**inputs, TRACE_ROLE: structs.replace(traces, places=places or UNSET)}


def item_groups(
    items: Iterable[tuple[str, ItemProfile]], groundedness: Groundedness | None = None
) -> tuple[ItemGroup, ...]:
    """Return the outcomes of all items in groups, with C, H, K and G where they apply.

    G is whether the answer is grounded. A row without a gold item has no other outcome.
    """
    grounded = {} if groundedness is None else groundedness.outcomes()
    by_profile: dict[tuple[ItemProfile, Checks], list[str]] = {}
    for qid, profile in items:
        by_contexts: Checks = (("G", grounded.pop(qid)),) if qid in grounded else ()
        by_profile.setdefault((profile, by_contexts), []).append(qid)
    return group_items(
        (
            *(
                (qids, outcome_of(profile), (*_checks_of(profile), *by_contexts))
                for (profile, by_contexts), qids in by_profile.items()
            ),
            *(((qid,), outcome, (("G", outcome),)) for qid, outcome in grounded.items()),
        )
    )


def _checks_of(profile: ItemProfile) -> Checks:
    if profile.answer_state is not AnswerState.SHIPPED or not profile.answerable:
        return ()
    checks: Checks = (("C", profile.contains), ("H", profile.cites))
    return (*checks, ("K", profile.keeps)) if profile.constrained else checks


def _counts(counts: RagCounts) -> dict[str, int]:
    return {
        "gold": counts.items(),
        "questions": counts.questions,
        "wrong": counts.wrong,
        "traces": counts.traces,
        "duplicates": counts.duplicates,
        **{f"{seen.value}": counts.items(seen) for seen in AnswerState},
        "answerable": sum(n for profile, n in counts.profiles.items() if profile.answerable),
        "unanswerable": sum(n for profile, n in counts.profiles.items() if not profile.answerable),
    }


def _doubts(
    counts: RagCounts,
    policy: RagPolicy,
    inputs: Mapping[str, ReportInput],
    lacking: str,
    *,
    needs_gold: bool,
) -> tuple[str, ...]:
    """Return why a run cannot ship even if its gates pass."""
    if lacking:
        return (lacking, *_skipped_lines(inputs))
    total, missing = counts.items(), counts.items(AnswerState.MISSING)
    nothing = {
        "the gold set is empty": needs_gold and not total,
        "there are no traces": total and not counts.traces,
        "no trace has a qid of the gold set": counts.traces and missing == total > 0,
    }
    doubts = [text for text, holds in nothing.items() if holds]
    if not policy.allow_missing:
        doubts += _missing_items(counts, inputs)
    return tuple(doubts)


def _missing_items(counts: RagCounts, inputs: Mapping[str, ReportInput]) -> list[str]:
    total, missing, silent = (
        counts.items(),
        counts.items(AnswerState.MISSING),
        counts.items(AnswerState.SILENT),
    )
    said = {
        f"{missing} of {total} gold items have no trace (allow it with --allow-missing)": missing,
        f"{silent} of {total} gold items have no answer (allow it with --allow-missing)": silent,
    }
    return [*(text for text, count in said.items() if count), *_skipped_lines(inputs)]


def _skipped_lines(inputs: Mapping[str, ReportInput]) -> list[str]:
    skipped = sum(given.skipped for given in inputs.values())
    return [f"lines that were not rows and were skipped: {skipped}"] if skipped else []


_JUDGED_WARNINGS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "rows_left_out": "rows that the sample leaves out, which only widens the intervals",
        "rows_without_contexts": "answers without the texts of their contexts, so that their claims"
        " were not measured (name their column with --map contexts=NAME)",
        "rows_without_claims": 'answers in which no claim was found (such as "Yes.", a number or'
        " code), so that nothing in them was measured",
        "claims_not_judged": "claims that were not judged: without contexts, or in a language that"
        " the judge does not read",
    }
)


def _warnings(
    counts: RagCounts,
    policy: RagPolicy,
    inputs: Mapping[str, ReportInput],
    groundedness: Groundedness | None,
) -> tuple[str, ...]:
    judged = {} if groundedness is None else groundedness.counts()
    near = counts.listings.get("near_refusals", EMPTY_LISTING).total
    said = {
        f"traces that gave way to a later one of the same qid: {counts.duplicates}": (
            counts.duplicates
        ),
        f"rows that ask a question again: {counts.items() - counts.questions}; every row counts,"
        " and the intervals take into account that rows of one question are alike": counts.repeats,
        f"traces whose qid is not in the gold set: {counts.strays.total}": (
            counts.strays.total if counts.items() or groundedness is None else 0
        ),
        f"answers that hold {policy.settings.refusal!r} but are not exactly it, so they are no"
        f" refusals: {near}": near,
    }
    in_words = counts.listings.get("refused_in_words", EMPTY_LISTING).total
    said[f"{REFUSED_IN_WORDS}: {in_words}"] = in_words
    for name, text in _JUDGED_WARNINGS.items():
        said[f"{text}: {judged.get(name, 0)}"] = judged.get(name, 0)
    gaps = _missing_items(counts, inputs) if policy.allow_missing else []
    return (*(text for text, count in said.items() if count), *gaps)
