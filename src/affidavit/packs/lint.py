"""Lints the events of a run with packs, and measures what lint gates decide by."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, cast

from msgspec import Raw, Struct

from affidavit.base.statistics import Rate
from affidavit.decision.evaluation import DecisionSummary, Measure, decide, summarise_decision
from affidavit.decision.gate import Gate
from affidavit.decision.metric import Metric, MetricKind, MetricTable, metric_table
from affidavit.packs.attribution import ALWAYS_ON_RULES, RefusalCheck
from affidavit.packs.attribution import MARKS as REFUSAL_MARKS
from affidavit.packs.checks import (
    EventConsumer,
    FixedEvaluator,
    PairsEvaluator,
    RuleEvaluator,
    SearchHints,
    evaluator_for,
    fixed_violation,
)
from affidavit.packs.closure import (
    DependencyCollector,
    closure_of,
    completeness_of,
    required_signals,
)
from affidavit.packs.events import Event, EventHead, decode_heads, field_probe
from affidavit.packs.globs import glob_from
from affidavit.packs.model import (
    EventPairs,
    ManifestField,
    Pack,
    Rule,
    Severity,
    Unsupported,
    engine_suffices,
)
from affidavit.packs.relation_evaluation import TimeOrderEvaluator, plan_for
from affidavit.packs.relations import Relation
from affidavit.packs.report import (
    Closure,
    Completeness,
    LintFinding,
    LintSummary,
    SignalDetail,
    finding_fingerprint,
)
from affidavit.packs.sensitive import (
    encoded_subjects,
    may_be_sensitive,
    may_hold_sensitive_text,
    sensitive_findings,
)
from affidavit.packs.signal_detection import SignalDetector
from affidavit.packs.signals import REGISTRY, TOTAL_WEIGHT

# Lint: all rules of all packs, the rules that are always on, and the signals, in one pass.
#
# Each event type gets a plan when it first occurs: which consumers need its events. An evaluator
# that has seen enough leaves the plans, so a bundle of a million events costs little more than
# decoding it. Memory does not grow with the number of events: findings beyond the limit are only
# counted.

MAX_RESULTS: Final = 500
GROUP_EVENTS: Final = 64  # Events whose payloads are searched together.
MAX_PLANS: Final = 10_000  # With more event types than this, plans are made again.
RUN_BOUNDS: Final = EventPairs(glob_from("*.started"), glob_from("*.finished"))


class RuleResult(Struct, frozen=True):
    """A rule of a pack with its finding; None if the rule holds, or if it was not exercised."""

    pack: Pack
    rule: Rule
    finding: LintFinding | None
    is_exercised: bool = True

    @property
    def outcome(self) -> Literal["pass", "fail", "not_exercised"]:
        """Whether the rule holds."""
        if self.finding is not None:
            return "fail"
        return "pass" if self.is_exercised else "not_exercised"


class LintResult(Struct, frozen=True, kw_only=True):
    """The result of one pass over a bundle.

    `findings` has the most severe first, at most as many as asked for; `summary` counts all.
    """

    packs: tuple[Pack, ...]
    events: int
    rules: tuple[RuleResult, ...]
    findings: tuple[LintFinding, ...]
    summary: LintSummary
    truncated: int
    signals: Mapping[str, SignalDetail]
    declared: frozenset[str]
    all_finished: bool
    completeness: Completeness
    closure: Closure

    @property
    def not_exercised(self) -> int:
        """How many rules no event put to the test."""
        return sum(each.outcome == "not_exercised" for each in self.rules)

    def has_at_least(self, severity: Severity) -> bool:
        """Return whether there is a finding of this severity or a higher one."""
        return any(self.summary.count(each) for each in Severity if each.rank <= severity.rank)


class BundleLint(Struct, frozen=True, kw_only=True):
    """A bundle that verified, and its lint result."""

    name: str
    digest: str
    bundle_id: str
    run_id: str
    result: LintResult


class _TypePlan:
    """What happens with the events of one type.

    `consumers` read every event; those that are also in `in_order` read them one by one.
    `searchers` read only groups that contain their search hints.
    """

    def __init__(
        self,
        consumers: list[EventConsumer],
        in_order: list[EventConsumer],
        searchers: list[RuleEvaluator],
        hints: SearchHints,
    ) -> None:
        self.consumers = consumers
        self.in_order = in_order
        self.searchers = searchers
        self._hints = hints

    def remove(self, done: EventConsumer) -> None:
        """Leave out an evaluator that has seen enough."""
        self.consumers = [each for each in self.consumers if each is not done]
        if any(each is done for each in self.searchers):
            self.searchers = [each for each in self.searchers if each is not done]
            self._hints = _hints_of(self.searchers)

    def may_find(self, payloads: bytes, text: bytes) -> bool:
        """Return whether a searcher may find something in payloads, one a line, of these lines."""
        hints = self._hints
        return bool(self.searchers) and not (
            field_probe(frozenset(), hints.keys).has_none(payloads)
            and all(payloads.find(hint) < 0 for hint in hints.in_payloads)
            and all(text.find(hint) < 0 for hint in hints.in_lines)
            and (not (hints.in_payloads or hints.in_lines) or text.find(b"\\") < 0)
        )


def _hints_of(searchers: Sequence[RuleEvaluator]) -> SearchHints:
    """Return what all of them search for."""
    hints = [each.search_hints for each in searchers if each.search_hints is not None]
    return SearchHints(
        frozenset[str]().union(*(each.keys for each in hints)),
        frozenset[bytes]().union(*(each.in_payloads for each in hints)),
        frozenset[bytes]().union(*(each.in_lines for each in hints)),
    )


class _TypeReaders(Struct, frozen=True):
    """The numbers of the rules that read events of one type, and what the searchers look for.

    The number after the last rule is that of the bounds of the run.
    """

    consumers: tuple[int, ...]
    in_order: tuple[int, ...]
    searchers: tuple[int, ...]
    hints: SearchHints


class PreparedRule(Struct, frozen=True):
    """A rule with what does not depend on the bundle."""

    pack: Pack
    rule: Rule
    evaluator: Callable[[Mapping[str, Any]], RuleEvaluator]


def _evaluator_of(rule: Rule) -> Callable[[Mapping[str, Any]], RuleEvaluator]:
    check = rule.check
    if not engine_suffices(rule) or isinstance(check, ManifestField | Unsupported):
        return lambda manifest: FixedEvaluator(fixed_violation(rule, manifest))
    unused = evaluator_for(check, rule.event_types)
    if unused is not None:
        return lambda manifest: unused.fresh()
    plan = plan_for(cast("Relation", check))
    return lambda manifest: plan.evaluator()


_BOUNDS: Final = PairsEvaluator(RUN_BOUNDS, None)
_NO_MANIFEST: Final[Mapping[str, Any]] = {}


def rule_result(prepared: PreparedRule, evaluator: RuleEvaluator) -> RuleResult:
    """Return the result of a rule whose evaluator has read all events."""
    pack, rule = prepared.pack, prepared.rule
    violation = evaluator.finish()
    if violation is None:
        return RuleResult(pack, rule, None, evaluator.is_exercised)
    name = pack.canonical_id(rule)
    finding = LintFinding(
        rule_id=name,
        severity=violation.severity or rule.severity,
        message=violation.message,
        location=violation.location,
        fingerprint=finding_fingerprint(name, violation.location, pack.digest),
        pack=pack.name,
    )
    return RuleResult(pack, rule, finding)


class PreparedPacks:
    """Packs with everything that is the same for all bundles that are linted with them."""

    def __init__(self, packs: Sequence[Pack]) -> None:
        self.packs = tuple(packs)
        self.required = required_signals(packs)
        self.rules = tuple(
            PreparedRule(pack, rule, _evaluator_of(rule)) for pack in packs for rule in pack.rules
        )
        self._unused = [*(each.evaluator(_NO_MANIFEST) for each in self.rules), _BOUNDS]
        # A rule that reads none of the types of a bundle has the same result in every bundle.
        self.idle_results = tuple(
            None if isinstance(unused, FixedEvaluator) else rule_result(each, unused)
            for each, unused in zip(self.rules, self._unused, strict=False)
        )
        self.clocks = tuple(
            at for at, each in enumerate(self._unused) if isinstance(each, TimeOrderEvaluator)
        )
        self._readers: dict[str, _TypeReaders] = {}

    def readers(self, event_type: str) -> _TypeReaders:
        """Return the rules that read events of a type."""
        known = self._readers.get(event_type)
        if known is None:
            rules = [(at, each) for at, each in enumerate(self._unused) if each.accepts(event_type)]
            searchers = [(at, each) for at, each in rules if each.search_hints is not None]
            known = _TypeReaders(
                tuple(at for at, each in rules if each.search_hints is None),
                tuple(at for at, each in rules if not each.can_batch(event_type)),
                tuple(at for at, _ in searchers),
                _hints_of([each for _, each in searchers]),
            )
            if len(self._readers) < MAX_PLANS:
                self._readers[event_type] = known
        return known


class LintPass:
    """Feed it the lines of a verified bundle in order, then finish."""

    def __init__(
        self,
        packs: Sequence[Pack] | PreparedPacks,
        manifest: Mapping[str, Any],
        max_results: int = MAX_RESULTS,
    ) -> None:
        self._prepared = packs if isinstance(packs, PreparedPacks) else PreparedPacks(packs)
        self._packs = self._prepared.packs
        self._manifest = manifest
        self._bounds = _BOUNDS.fresh()
        # By the number of the rule; made when the first event comes that the rule reads.
        self._evaluators: dict[int, RuleEvaluator] = {len(self._prepared.rules): self._bounds}
        self._done: set[EventConsumer] = set()
        self._clocks = [self._evaluator(at) for at in self._prepared.clocks]
        self._signals = SignalDetector()
        self._refusals = RefusalCheck()
        self._dependencies = DependencyCollector()
        self._plans: dict[str, _TypePlan] = {}
        self._max_results = max_results
        self._kept: dict[str, list[LintFinding]] = {rule.id: [] for rule in ALWAYS_ON_RULES}
        self._counts = dict.fromkeys(Severity, 0)
        self._events = 0

    def feed(self, line: int, raw: bytes) -> None:
        """Read one event; `line` counts from 1."""
        self.feed_lines(line, raw + b"\n")

    def feed_lines(self, first: int, text: bytes) -> None:
        """Read whole lines, of which the first has this number."""
        heads = decode_heads(text)
        self._events += len(heads)
        for clock in self._clocks:
            cast("TimeOrderEvaluator", clock).feed_heads(first, heads)
        # Joined by quotes, so that no word continues from one payload into the next.
        payloads = b'"'.join([head.data for head in heads])
        remaining = self._feed_batches(first, heads, text)
        is_suspect = may_hold_sensitive_text(b'"'.join([payloads, *encoded_subjects(heads)]))
        may_refuse = any(payloads.find(mark) >= 0 for mark in REFUSAL_MARKS)
        if remaining or is_suspect or may_refuse:
            lines = text.split(b"\n")
            events = [Event(first + at, lines[at], head) for at, head in enumerate(heads)]
            self._feed_events(events, remaining)
            if is_suspect:
                self._search_sensitive(events)
            for event in events if may_refuse else ():
                self._refusals.feed(event)

    def _feed_batches(
        self, first: int, heads: Sequence[EventHead], text: bytes
    ) -> dict[str, list[EventConsumer]]:
        """Feed the events by type; return the consumers that need each event of a type alone."""
        by_type: dict[str, tuple[list[Raw], list[int]]] = {}
        for line, head in enumerate(heads, first):
            payloads, numbers = by_type.setdefault(head.type, ([], []))
            payloads.append(head.data)
            numbers.append(line)
        remaining = {}
        plans = {kind: self._plan_of(kind) for kind in by_type}
        # One that reads some of these events in their order reads all of them in their order.
        in_order = {each for plan in plans.values() for each in plan.in_order}
        for kind, (payloads, numbers) in by_type.items():
            plan = plans[kind]
            if plan.consumers or plan.searchers:
                joined = b"\n".join(payloads)
                alone = [
                    each
                    for each in plan.consumers
                    if each in in_order or not each.feed_batch(joined, numbers)
                ]
                alone += plan.searchers if plan.may_find(joined, text) else []
                if alone:
                    remaining[kind] = alone
        return remaining

    def _feed_events(self, events: list[Event], by_type: dict[str, list[EventConsumer]]) -> None:
        for event in events:
            for consumer in tuple(by_type.get(event.head.type, ())):
                if consumer.feed(event):
                    self._remove(consumer)
                    for kind, consumers in by_type.items():
                        by_type[kind] = [each for each in consumers if each is not consumer]

    def _search_sensitive(self, events: list[Event]) -> None:
        for start in range(0, len(events), GROUP_EVENTS):
            group = events[start : start + GROUP_EVENTS]
            if may_be_sensitive([event.head for event in group]):
                for event in group:
                    if may_be_sensitive([event.head]):
                        self._keep_sensitive(event)

    def _evaluator(self, number: int) -> RuleEvaluator:
        evaluator = self._evaluators.get(number)
        if evaluator is None:
            evaluator = self._prepared.rules[number].evaluator(self._manifest)
            self._evaluators[number] = evaluator
        return evaluator

    def _waiting(self, numbers: Sequence[int]) -> list[RuleEvaluator]:
        """Return the evaluators of rules that have not seen enough."""
        return [each for at in numbers if (each := self._evaluator(at)) not in self._done]

    def _rule_results(self) -> Iterator[RuleResult]:
        prepared = self._prepared
        for at, (rule, idle) in enumerate(zip(prepared.rules, prepared.idle_results, strict=True)):
            if idle is not None and at not in self._evaluators:
                yield idle
            else:
                yield rule_result(rule, self._evaluator(at))

    def _plan_of(self, event_type: str) -> _TypePlan:
        plan = self._plans.get(event_type)
        if plan is not None:
            return plan
        if len(self._plans) >= MAX_PLANS:
            self._plans.clear()
        readers = self._prepared.readers(event_type)
        others = (each.consumer_for(event_type) for each in (self._signals, self._dependencies))
        plan = self._plans[event_type] = _TypePlan(
            [*self._waiting(readers.consumers), *(each for each in others if each is not None)],
            [*self._waiting(readers.in_order)],
            self._waiting(readers.searchers),
            readers.hints,
        )
        return plan

    def _remove(self, done: EventConsumer) -> None:
        """Stop feeding an evaluator that has seen enough."""
        self._done.add(done)
        for plan in self._plans.values():
            plan.remove(done)

    def _keep_sensitive(self, event: Event) -> None:
        for finding in sensitive_findings(event):
            self._keep(finding)

    def _keep(self, finding: LintFinding) -> None:
        self._counts[finding.severity] += 1
        kept = self._kept[finding.rule_id]
        # The first of each rule are kept, so the most severe are among them.
        if len(kept) < self._max_results:
            kept.append(finding)

    def finish(self) -> LintResult:
        """Return the result of the pass."""
        for refusal in self._refusals.finish():
            self._keep(refusal)
        rules = tuple(self._rule_results())
        failed = [each.finding for each in rules if each.finding is not None]
        for finding in failed:
            self._counts[finding.severity] += 1
        every = [*failed, *(finding for kept in self._kept.values() for finding in kept)]
        every.sort(key=lambda finding: finding.severity.rank)
        listed = tuple(every[: self._max_results])
        total = sum(self._counts.values())
        signals = self._signals.finish()
        all_finished = self._bounds.finish() is None
        return LintResult(
            packs=self._packs,
            events=self._events,
            rules=rules,
            findings=listed,
            summary=LintSummary(total, *(self._counts[each] for each in Severity)),
            truncated=total - len(listed),
            signals=signals,
            declared=self._signals.declared,
            all_finished=all_finished,
            completeness=completeness_of(self._prepared.required, signals),
            closure=closure_of(
                signals,
                all_finished=all_finished,
                dependencies=self._dependencies.finish(),
                declared=self._signals.declared,
            ),
        )


# Gates on a lint result: how complete and how replayable a bundle is, and how many findings.

COMPLETENESS: Final = Metric(
    "completeness", MetricKind.SHARE, True, empty="the packs require no signal"
)
CLOSURE: Final = Metric("closure", MetricKind.SCORE, True, aliases=("closure_score",))
FINDINGS: Final = Metric("findings", MetricKind.COUNT, False)
NOT_EXERCISED: Final = Metric("not_exercised", MetricKind.COUNT, False)
FINDINGS_BY_SEVERITY: Final[Mapping[Severity, Metric]] = {
    severity: Metric(f"{severity.value}s", MetricKind.COUNT, False) for severity in Severity
}
LINT_METRICS: Final[MetricTable] = metric_table(
    [COMPLETENESS, CLOSURE, FINDINGS, *FINDINGS_BY_SEVERITY.values(), NOT_EXERCISED]
)


def lint_measures(result: LintResult) -> Mapping[str, Measure]:
    """Return the measures of a bundle. A redacted signal counts as complete, as in the report."""
    rate = Rate(result.completeness.held, len(result.completeness.required))
    captured_weight = sum(REGISTRY[name].weight for name in result.closure.captured)
    counts = {FINDINGS: result.summary.total} | {
        metric: result.summary.count(severity) for severity, metric in FINDINGS_BY_SEVERITY.items()
    }
    counts[NOT_EXERCISED] = result.not_exercised
    measures = (
        Measure(metric=COMPLETENESS, value=rate.value, rate=rate),
        Measure(metric=CLOSURE, value=captured_weight / TOTAL_WEIGHT),
        *(Measure(metric=metric, value=count) for metric, count in counts.items()),
    )
    return {measure.metric.name: measure for measure in measures}


def decide_lint(gates: Iterable[Gate], result: LintResult) -> DecisionSummary:
    """Return the decision of the gates on one bundle."""
    return summarise_decision(decide(gates, lint_measures(result)))
