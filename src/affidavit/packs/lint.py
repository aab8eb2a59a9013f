"""Lint: all rules of all packs, the rules that are always on, and the signals, in one pass.

Each event type gets its plan when it is first met: which watchers want it. A watcher that has seen
enough leaves the plans, so that a bundle of a million events costs little more than its decoding.
Memory does not grow with the number of events: findings beyond the limit are counted, not kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from msgspec import Raw

from affidavit.packs.checks import PairsEvaluator, evaluator_for
from affidavit.packs.closure import (
    Closure,
    Completeness,
    DependencyCollector,
    closure_of,
    completeness_of,
)
from affidavit.packs.evaluators import EventConsumer, RuleEvaluator
from affidavit.packs.events import Event, EventHead, FieldProbe, decode_heads
from affidavit.packs.findings import LintFinding, finding_fingerprint
from affidavit.packs.globs import glob_from
from affidavit.packs.model import EventPairs, Pack, Rule, Severity
from affidavit.packs.sensitive_rules import (
    SENSITIVE_RULES,
    encoded_subjects,
    may_be_sensitive,
    may_hold_sensitive_text,
    sensitive_findings,
)
from affidavit.packs.signal_detection import SignalDetail, SignalDetector

MAX_RESULTS: Final = 500
GROUP_EVENTS: Final = 64  # Events whose payloads are searched together.
MAX_PLANS: Final = 10_000  # A bundle with more types than this has its plans made again.
RUN_BOUNDS: Final = EventPairs(glob_from("*.started"), glob_from("*.finished"))


@dataclass(frozen=True, slots=True)
class RuleOutcome:
    """How one rule of a pack came out; without a finding it holds."""

    pack: Pack
    rule: Rule
    finding: LintFinding | None


@dataclass(frozen=True, slots=True)
class LintResult:
    """Everything that one pass over a bundle says.

    `findings` are the gravest first, at most as many as asked for; `counts` are of all of them.
    """

    packs: tuple[Pack, ...]
    events: int
    outcomes: tuple[RuleOutcome, ...]
    findings: tuple[LintFinding, ...]
    counts: Mapping[Severity, int]
    truncated: int
    sightings: Mapping[str, SignalDetail]
    completeness: Completeness
    closure: Closure

    def has_at_least(self, severity: Severity) -> bool:
        """Say whether there is a finding of this severity or a graver one."""
        return any(self.counts[each] for each in Severity if each.rank <= severity.rank)


class _TypePlan:
    """What is done with the events of one type.

    `consumers` see every one of them, `seekers` only those among which there are their marks.
    """

    def __init__(self, consumers: list[EventConsumer], seekers: list[RuleEvaluator]) -> None:
        self.consumers = consumers
        self.seekers = seekers
        marks = [seeker.marks for seeker in seekers if seeker.marks is not None]
        self._wanted_keys = frozenset[str]().union(*(each.keys for each in marks))
        self._in_payloads = frozenset[bytes]().union(*(each.in_payloads for each in marks))
        self._in_lines = frozenset[bytes]().union(*(each.in_lines for each in marks))

    @cached_property
    def _keys(self) -> FieldProbe:
        """Made when it is needed: while rules are satisfied, plans come and go."""
        return FieldProbe(keys=self._wanted_keys)

    def may_find(self, payloads: bytes, text: bytes) -> bool:
        """Say whether a seeker may find something in payloads, one a line, of a text of lines."""
        return bool(self.seekers) and not (
            self._keys.has_none(payloads)
            and all(payloads.find(mark) < 0 for mark in self._in_payloads)
            and all(text.find(mark) < 0 for mark in self._in_lines)
            and (not (self._in_payloads or self._in_lines) or text.find(b"\\") < 0)
        )


class LintPass:
    """Feed it the lines of a verified bundle in order, then finish."""

    def __init__(
        self, packs: Sequence[Pack], manifest: Mapping[str, Any], max_results: int = MAX_RESULTS
    ) -> None:
        self._packs = tuple(packs)
        self._rules = [
            (pack, rule, evaluator_for(rule, manifest)) for pack in packs for rule in pack.rules
        ]
        self._bounds = PairsEvaluator(RUN_BOUNDS, None)
        self._watchers: list[RuleEvaluator] = [*(each for _, _, each in self._rules), self._bounds]
        self._signals = SignalDetector()
        self._dependencies = DependencyCollector()
        self._plans: dict[str, _TypePlan] = {}
        self._max_results = max_results
        self._kept: dict[str, list[LintFinding]] = {rule.id: [] for rule in SENSITIVE_RULES}
        self._counts = dict.fromkeys(Severity, 0)
        self._events = 0

    def feed(self, line: int, raw: bytes) -> None:
        """Look at one event; `line` counts from 1."""
        self.feed_lines(line, raw + b"\n")

    def feed_lines(self, first: int, text: bytes) -> None:
        """Look at whole lines, of which the first has this number."""
        heads = decode_heads(text)
        self._events += len(heads)
        # A quote between them, so that none can end or begin a word of the next.
        payloads = b'"'.join([head.data for head in heads])
        left = self._left_over(heads, text)
        is_marked = may_hold_sensitive_text(b'"'.join([payloads, *encoded_subjects(heads)]))
        if left or is_marked:
            lines = text.split(b"\n")
            events = [Event(first + at, lines[at], head) for at, head in enumerate(heads)]
            self._feed_events(events, left)
            if is_marked:
                self._look_for_sensitive(events)

    def _left_over(self, heads: Sequence[EventHead], text: bytes) -> dict[str, list[EventConsumer]]:
        """Return who has to see the events one by one, by type; the others have taken them."""
        by_type: dict[str, list[Raw]] = {}
        for head in heads:
            by_type.setdefault(head.type, []).append(head.data)
        left = {}
        for kind, payloads in by_type.items():
            plan = self._plan_of(kind)
            if plan.consumers or plan.seekers:
                lines = b"\n".join(payloads)
                alone = [each for each in plan.consumers if not each.takes(lines, len(payloads))]
                alone += plan.seekers if plan.may_find(lines, text) else []
                if alone:
                    left[kind] = alone
        return left

    def _feed_events(self, events: list[Event], left: dict[str, list[EventConsumer]]) -> None:
        for event in events:
            for consumer in tuple(left.get(event.head.type, ())):
                if consumer.feed(event):
                    self._dismiss(consumer)
                    for consumers in left.values():
                        if consumer in consumers:
                            consumers.remove(consumer)

    def _look_for_sensitive(self, events: list[Event]) -> None:
        for start in range(0, len(events), GROUP_EVENTS):
            group = events[start : start + GROUP_EVENTS]
            if may_be_sensitive([event.head for event in group]):
                for event in group:
                    if may_be_sensitive([event.head]):
                        self._keep_sensitive(event)

    def _plan_of(self, event_type: str) -> _TypePlan:
        plan = self._plans.get(event_type)
        return self._planned(event_type) if plan is None else plan

    def _planned(self, event_type: str) -> _TypePlan:
        if len(self._plans) >= MAX_PLANS:
            self._plans.clear()
        wanting = [watcher for watcher in self._watchers if watcher.wants(event_type)]
        others = (each.consumer_for(event_type) for each in (self._signals, self._dependencies))
        plan = self._plans[event_type] = _TypePlan(
            [
                *(watcher for watcher in wanting if watcher.marks is None),
                *(each for each in others if each is not None),
            ],
            [watcher for watcher in wanting if watcher.marks is not None],
        )
        return plan

    def _dismiss(self, done: EventConsumer) -> None:
        """Let one that has seen enough see no more; plans are made again without it."""
        self._watchers = [watcher for watcher in self._watchers if watcher is not done]
        self._plans.clear()

    def _keep_sensitive(self, event: Event) -> None:
        for finding in sensitive_findings(event):
            self._counts[finding.severity] += 1
            kept = self._kept[finding.rule_id]
            # Of each rule the first are kept, so that the gravest of all are among them.
            if len(kept) < self._max_results:
                kept.append(finding)

    def finish(self) -> LintResult:
        """Return what the pass has come to."""
        outcomes = tuple(self._outcome(*each) for each in self._rules)
        fired = [each.finding for each in outcomes if each.finding is not None]
        for finding in fired:
            self._counts[finding.severity] += 1
        every = [*fired, *(finding for kept in self._kept.values() for finding in kept)]
        every.sort(key=lambda finding: finding.severity.rank)
        shown = tuple(every[: self._max_results])
        sightings = self._signals.finish()
        return LintResult(
            packs=self._packs,
            events=self._events,
            outcomes=outcomes,
            findings=shown,
            counts=dict(self._counts),
            truncated=sum(self._counts.values()) - len(shown),
            sightings=sightings,
            completeness=completeness_of(self._packs, sightings),
            closure=closure_of(
                sightings,
                is_whole=self._bounds.finish() is None,
                uncontrolled=self._dependencies.finish(),
            ),
        )

    def _outcome(self, pack: Pack, rule: Rule, watcher: RuleEvaluator) -> RuleOutcome:
        problem = watcher.finish()
        if problem is None:
            return RuleOutcome(pack, rule, None)
        name = pack.canonical_id(rule)
        finding = LintFinding(
            name,
            problem.severity or rule.severity,
            problem.message,
            problem.location,
            finding_fingerprint(name, problem.location, pack.digest),
            pack.name,
        )
        return RuleOutcome(pack, rule, finding)
