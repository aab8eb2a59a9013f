"""Queries every source of every check at the same time, under one hard deadline.

The result is there by the deadline, whatever a source does: a late source is a failure with its
reason, and its thread is left to end by itself. Equal queries (the same tool, the same arguments)
are made once. The time of the answer is taken after the last source, so that no evidence is dated
later than the answer.
"""

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Final, TypeAlias

from affidavit.base.errors import NOWHERE, AffidavitError, Where
from affidavit.base.faults import receipts as faults
from affidavit.checks.check import Check, checks_needing_evidence
from affidavit.checks.facts import (
    Evidence,
    EvidenceUnavailable,
    SourceAnswer,
    SourceFailure,
    Tool,
    fact_from_answers,
)
from affidavit.checks.values import exact_json
from affidavit.tools.feed import (
    CheckArguments,
    FailureReason,
    Feed,
    SourceFailedError,
    SourceRequest,
)

Task: TypeAlias = Callable[[], None]
QueryKey: TypeAlias = tuple[str, bytes]

MAX_THREADS: Final = 512
"""Half of them are enough for the largest request: 20 checks of 8 sources."""
DEFAULT_DEADLINE_MS: Final = 6_000
MAX_DEADLINE_MS: Final = 60_000
# Kinds of source on this machine. They usually answer at once, so one thread queries them all; if
# it takes longer than this, each of the others gets a thread of its own.
_LOCAL_KINDS: Final = frozenset({"file", "folder", "lock", "installed"})
_LOCAL_WAIT_SECONDS: Final = 0.005
# A caller that queries sources itself is watched by another thread (web/task_thread.py), and that
# takes time: a source with a shorter timeout needs a thread.
_MIN_INLINE_MS: Final = 1_000


class DaemonThreadPool:
    """Runs tasks in daemon threads, up to a limit. A task must not raise.

    A thread that hangs (a name server that does not answer, a lost mount) cannot be ended from
    outside. As a daemon it does not keep the interpreter alive, and as it counts towards the limit,
    a service does not accumulate such threads without bound.
    """

    def __init__(self, max_threads: int = MAX_THREADS) -> None:
        self._max_threads = max_threads
        self._tasks: SimpleQueue[tuple[Task, str | None]] = SimpleQueue()
        self._lock = Lock()
        self._threads = 0
        self._idle = 0
        self._running: Counter[str | None] = Counter()

    def start(self, task: Task, caller: str | None = None) -> bool:
        """Start the task now, or return False if every thread is busy.

        A caller of a service may use no more threads than are left for the others.
        """
        with self._lock:
            free = self._max_threads - self._threads + self._idle
            if free < 1 or (caller is not None and self._running[caller] >= free):
                return False
            self._running[caller] += 1
            if self._idle:
                self._idle -= 1
            else:
                self._threads += 1
                Thread(target=self._serve, name="affidavit-feed", daemon=True).start()
        self._tasks.put((task, caller))
        return True

    def _serve(self) -> None:
        while True:
            task, caller = self._tasks.get()
            task()
            with self._lock:
                self._idle += 1
                self._running[caller] -= 1
                if not self._running[caller]:
                    del self._running[caller]


@dataclass(frozen=True, slots=True)
class CallerThreads:
    """The share that a caller of a service has of the threads."""

    threads: DaemonThreadPool
    caller: str

    def start(self, task: Task) -> bool:
        """Start the task now, or return False if the caller's share is used up."""
        return self.threads.start(task, self.caller)


SOURCE_THREADS: Final = DaemonThreadPool()


class NotImmediateError(Exception):
    """A source is remote or has a short timeout, so it must be queried in a thread."""


@dataclass(frozen=True, slots=True)
class ToolSource:
    """A source that can be queried, and its own timeout if that is shorter than the deadline."""

    feed: Feed
    timeout_ms: int | None = None


@dataclass(frozen=True, slots=True)
class ToolWithSources:
    """A tool, and its sources in the order of their declaration."""

    tool: Tool
    sources: tuple[ToolSource, ...]


@dataclass(frozen=True, slots=True)
class ToolSet:
    """The declared tools. Several threads may use it at the same time."""

    by_name: Mapping[str, ToolWithSources]

    @property
    def tools(self) -> dict[str, Tool]:
        """The tools without their sources."""
        return {name: entry.tool for name, entry in self.by_name.items()}


@dataclass(frozen=True, slots=True)
class GatheredEvidence:
    """The evidence by check id, and the time of the answer, at which it was assessed."""

    at: str
    by_check: Mapping[str, Evidence | EvidenceUnavailable]


@dataclass(slots=True)
class _SourceQuery:
    """One query of one source. `reply` is what the source returned, `answer` is what counts."""

    source: ToolSource
    args: CheckArguments
    request: SourceRequest
    allowed_ms: int
    reply: SourceAnswer | SourceFailure | None = None
    answer: SourceAnswer | SourceFailure | None = None

    @property
    def is_local(self) -> bool:
        """Say whether the source is on this machine."""
        return self.source.feed.source.kind in _LOCAL_KINDS

    def run(self) -> SourceAnswer | SourceFailure:
        """Query the source. Every outcome is an answer or a failure."""
        try:
            return self.source.feed.ask(self.args, self.request)
        except SourceFailedError as error:
            return self.failure(error)
        except BaseException as error:
            # An unexpected error of one feed must not lose the answers of the others.
            problem = f"the feed ended in {type(error).__name__}"
            return self.failure(SourceFailedError(FailureReason.FAILED, problem))

    def timeout(self) -> SourceFailure:
        """Return the failure of a source that did not answer in time."""
        problem = f"no answer within {self.allowed_ms} ms"
        return self.failure(SourceFailedError(FailureReason.LATE, problem))

    def failure(self, error: SourceFailedError) -> SourceFailure:
        """Return a failure of the source."""
        return SourceFailure(self.source.feed.source, str(error))


def require_deadline(
    deadline_ms: int, where: Where = NOWHERE, max_deadline_ms: int = MAX_DEADLINE_MS
) -> None:
    """Raise unless the deadline is within the limits."""
    if isinstance(deadline_ms, bool) or not 1 <= deadline_ms <= max_deadline_ms:
        raise AffidavitError(faults.DEADLINE, where, given=deadline_ms, limit=max_deadline_ms)


def gather_evidence(
    checks: Sequence[Check],
    toolbox: ToolSet,
    *,
    now: Callable[[], str],
    signed: bool,
    deadline_ms: int = DEFAULT_DEADLINE_MS,
    threads: DaemonThreadPool | CallerThreads | None = SOURCE_THREADS,
    started_at: float | None = None,
) -> GatheredEvidence:
    """Return the evidence for the checks by the deadline. `now` is the clock.

    The deadline counts from `started_at`, a reading of the monotonic clock, or else from now.
    Without `threads` the caller queries the sources itself, which is cheaper; NotImmediateError is
    raised before any query if one of them may take long.
    """
    require_deadline(deadline_ms)
    start, asked_at = time.monotonic() if started_at is None else started_at, now()
    queries: dict[QueryKey, list[_SourceQuery]] = {}
    key_by_check: dict[str, QueryKey] = {}
    for check in checks_needing_evidence(checks, toolbox.tools):
        key = (check.tool, exact_json(check.args))
        key_by_check[check.id] = key
        if key not in queries:
            queries[key] = [
                _source_query(source, check.args, asked_at, start, deadline_ms)
                for source in toolbox.by_name[check.tool].sources
            ]
    every = [query for of_key in queries.values() for query in of_key]
    if threads is None:
        _query_in_caller(every)
    else:
        _query_in_threads(every, threads)
    at = now()
    facts = {
        key: _fact_from_queries(toolbox.by_name[key[0]].tool, of_key, at, signed)
        for key, of_key in queries.items()
    }
    return GatheredEvidence(at, {check: facts[key] for check, key in key_by_check.items()})


def _source_query(
    source: ToolSource, args: CheckArguments, asked_at: str, start: float, deadline_ms: int
) -> _SourceQuery:
    allowed_ms = min(deadline_ms, source.timeout_ms or deadline_ms)
    return _SourceQuery(
        source, args, SourceRequest(asked_at, start + allowed_ms / 1000), allowed_ms
    )


def _query_in_caller(queries: Sequence[_SourceQuery]) -> None:
    """Query one source after another. A late answer does not count here either."""
    if any(not query.is_local or query.allowed_ms < _MIN_INLINE_MS for query in queries):
        raise NotImmediateError
    for query in queries:
        reply = query.run()
        query.answer = reply if time.monotonic() < query.request.deadline else query.timeout()


def _query_in_threads(
    queries: Sequence[_SourceQuery], threads: DaemonThreadPool | CallerThreads
) -> None:
    """Start every query, and wait until each has an answer or its time is over."""
    finished: SimpleQueue[None] = SimpleQueue()
    local = deque(query for query in queries if query.is_local)
    for query in queries:
        if not query.is_local:
            _start_queries(deque((query,)), finished, threads)
    if local:
        _start_queries(local, finished, threads)
    local_until = time.monotonic() + _LOCAL_WAIT_SECONDS
    while waiting := [query for query in queries if query.answer is None]:
        until = min(query.request.deadline for query in waiting)
        until = min(until, local_until) if local else until
        try:
            finished.get(timeout=max(0, until - time.monotonic()))
        except Empty:
            while local:  # The first may hang, and the others must not wait for it.
                with suppress(IndexError):
                    _start_queries(deque((local.popleft(),)), finished, threads)
        _collect_replies(waiting)


def _start_queries(
    queries: deque[_SourceQuery],
    finished: "SimpleQueue[None]",
    threads: DaemonThreadPool | CallerThreads,
) -> None:
    if not threads.start(partial(_run_queries, queries, finished)):
        problem = "too many earlier questions still wait for their sources"
        while queries:
            query = queries.popleft()
            query.answer = query.failure(SourceFailedError(FailureReason.BUSY, problem))


def _collect_replies(waiting: Iterable[_SourceQuery]) -> None:
    """Set the answer of every query that has a reply or is out of time."""
    moment = time.monotonic()
    for query in waiting:
        if query.reply is not None:
            query.answer = query.reply
        elif query.request.deadline <= moment:
            query.answer = query.timeout()
            query.request.abandon()


def _run_queries(queries: deque[_SourceQuery], finished: "SimpleQueue[None]") -> None:
    """Run one query after another as long as some are left."""
    with suppress(IndexError):
        while True:
            query = queries.popleft()
            query.reply = query.run()
    finished.put(None)


def _fact_from_queries(
    tool: Tool, queries: Sequence[_SourceQuery], at: str, signed: bool
) -> Evidence | EvidenceUnavailable:
    answers = [query.answer for query in queries if query.answer is not None]
    args = dict(queries[0].args) if queries else {}
    return fact_from_answers(tool, args, answers, at, signed=signed)
