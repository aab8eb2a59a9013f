"""Asks every source of every check at the same time, under one hard deadline."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Final, TypeAlias

from affidavit.base.errors import NOWHERE, AffidavitError, Where
from affidavit.base.faults import receipts as faults
from affidavit.checks.check import Check
from affidavit.checks.evaluation import checks_needing_evidence
from affidavit.checks.facts import (
    EvidenceUnavailable,
    Fact,
    SourceAnswer,
    SourceFailure,
    fact_from_answers,
)
from affidavit.checks.tool import Tool
from affidavit.checks.values import exact_json
from affidavit.tools.feed import (
    CheckArguments,
    FailureReason,
    Feed,
    SourceFailedError,
    SourceRequest,
)

# A crew of daemon threads: each takes one piece of work after another; none holds the process.
#
# A thread that hangs (a name server that does not answer, a mount that is gone) cannot be ended
# from outside. It is left behind: it is a daemon, so the interpreter ends without it, and the crew
# counts it, so a service cannot drown in them.

Task: TypeAlias = Callable[[], None]

MAX_THREADS: Final = 256


class DaemonThreadPool:
    """Does work at the same time, as far as there are hands. Work must not raise."""

    def __init__(self, max_hands: int = MAX_THREADS) -> None:
        self._max_hands = max_hands
        self._waiting: SimpleQueue[Task] = SimpleQueue()
        self._turn = Lock()
        self._hands = 0
        self._free = 0

    def start(self, work: Task) -> bool:
        """Start the work now, or return False if every hand is busy."""
        with self._turn:
            if self._free:
                self._free -= 1
            elif self._hands < self._max_hands:
                self._hands += 1
                Thread(target=self._serve, name="affidavit-feed", daemon=True).start()
            else:
                return False
        self._waiting.put(work)
        return True

    def _serve(self) -> None:
        while True:
            self._waiting.get()()
            with self._turn:
                self._free += 1


# Asks every source of every check at the same time, under one hard deadline.
#
# The answer comes by the deadline whatever a source does: one that is late is a silence with its
# reason, and its thread is left to end by itself. Equal questions (the same tool, the same
# arguments) are asked once. The time of the answer is taken after the last source, so that nothing
# is dated after it.
#
# To send somebody costs more than to look into a file that is known. So a caller who is watched,
# and need not come back if a file hangs, may go without a crew, as far as everything is at hand.

DEFAULT_DEADLINE_MS: Final = 6_000
MAX_DEADLINE_MS: Final = 60_000

QueryKey: TypeAlias = tuple[str, bytes]
SourceReply: TypeAlias = SourceAnswer | SourceFailure

SOURCE_THREADS: Final = DaemonThreadPool()
# Kinds of source that answer from this machine, most often at once; and how long that is believed.
_LOCAL: Final = frozenset({"file", "folder", "lock", "installed"})
_LOCAL_WAIT_SECONDS: Final = 0.005
# What a source must be allowed for a caller to go itself: time enough to be missed, and replaced.
_MIN_INLINE_MS: Final = 1_000


class NotImmediateError(Exception):
    """A source is elsewhere, or has little time: somebody who waits must send a crew to it."""


@dataclass(frozen=True, slots=True)
class ToolSource:
    """A source that can be asked, and how long it may take if less than the deadline."""

    feed: Feed
    timeout_ms: int | None = None


@dataclass(frozen=True, slots=True)
class ToolWithSources:
    """A tool as the checks know it, and its sources in the order in which they are declared."""

    tool: Tool
    sources: tuple[ToolSource, ...]


@dataclass(frozen=True, slots=True)
class ToolSet:
    """The tools that are declared. It may live as long as a service, and be used by threads."""

    by_name: Mapping[str, ToolWithSources]

    @property
    def tools(self) -> dict[str, Tool]:
        """The tools as the checks know them."""
        return {name: entry.tool for name, entry in self.by_name.items()}


@dataclass(frozen=True, slots=True)
class GatheredEvidence:
    """What was found, by the check's id, and the time of the answer, at which it was assessed."""

    at: str
    by_check: Mapping[str, Fact | EvidenceUnavailable]


@dataclass(slots=True)
class _SourceQuery:
    """One source on its errand: what it said, and the answer that counts, which may be another."""

    source: ToolSource
    args: CheckArguments
    errand: SourceRequest
    allowed_ms: int
    said: SourceReply | None = None
    answer: SourceReply | None = None


def require_deadline(deadline_ms: int, where: Where = NOWHERE) -> None:
    """Raise unless an answer can be waited for so long."""
    if isinstance(deadline_ms, bool) or not 1 <= deadline_ms <= MAX_DEADLINE_MS:
        raise AffidavitError(faults.DEADLINE, where, given=deadline_ms, limit=MAX_DEADLINE_MS)


def gather_evidence(
    checks: Sequence[Check],
    toolbox: ToolSet,
    *,
    now: Callable[[], str],
    signed: bool,
    deadline_ms: int = DEFAULT_DEADLINE_MS,
    crew: DaemonThreadPool | None = SOURCE_THREADS,
    since: float | None = None,
) -> GatheredEvidence:
    """Return the evidence for the checks by the deadline; `now` is the clock.

    The deadline counts from `since` if that is given, a moment of the monotonic clock. Without a
    crew the caller asks itself, or raises `NotAtHandError` before any source was asked.
    """
    require_deadline(deadline_ms)
    start, asked_at = time.monotonic() if since is None else since, now()
    asked: dict[QueryKey, list[_SourceQuery]] = {}
    questions: dict[str, QueryKey] = {}
    for check in checks_needing_evidence(checks, toolbox.tools):
        question = (check.tool, exact_json(check.args))
        questions[check.id] = question
        if question not in asked:
            asked[question] = [
                _source_query(source, check.args, asked_at, start, deadline_ms)
                for source in toolbox.by_name[check.tool].sources
            ]
    errands = [one for several in asked.values() for one in several]
    if crew is None:
        _ask_in_caller(errands)
    else:
        _ask_in_threads(errands, crew)
    at = now()
    facts = {
        question: _fact_of(toolbox.by_name[question[0]].tool, several, at, signed)
        for question, several in asked.items()
    }
    return GatheredEvidence(at, {check: facts[question] for check, question in questions.items()})


def _source_query(
    source: ToolSource, args: CheckArguments, asked_at: str, start: float, deadline_ms: int
) -> _SourceQuery:
    allowed_ms = min(deadline_ms, source.timeout_ms or deadline_ms)
    return _SourceQuery(
        source, args, SourceRequest(asked_at, start + allowed_ms / 1000), allowed_ms
    )


def _ask_in_caller(asked: Sequence[_SourceQuery]) -> None:
    """Go to one source after another; what comes late does not count here either."""
    for one in asked:
        if one.source.feed.source.kind not in _LOCAL or one.allowed_ms < _MIN_INLINE_MS:
            raise NotImmediateError
    for one in asked:
        said = _reply_from_source(one)
        one.answer = said if time.monotonic() < one.errand.until else _late_reply(one)


def _ask_in_threads(asked: Sequence[_SourceQuery], crew: DaemonThreadPool) -> None:
    """Start every errand, and wait until each is answered or its time is over."""
    told: SimpleQueue[None] = SimpleQueue()
    # To wake a thread costs more than to look into a file that is known, so one goes to them all.
    local = deque(one for one in asked if one.source.feed.source.kind in _LOCAL)
    for one in asked:
        if one.source.feed.source.kind not in _LOCAL:
            _start_queries(deque((one,)), told, crew)
    if local:
        _start_queries(local, told, crew)
    patience = time.monotonic() + _LOCAL_WAIT_SECONDS
    while waiting := [one for one in asked if one.answer is None]:
        until = min(one.errand.until for one in waiting)
        try:
            told.get(timeout=max(0, (min(until, patience) if local else until) - time.monotonic()))
        except Empty:
            while local:  # The first one may hang, and the others shall not wait for it.
                with suppress(IndexError):
                    _start_queries(deque((local.popleft(),)), told, crew)
        _collect_replies(waiting)


def _start_queries(
    errands: deque[_SourceQuery], told: "SimpleQueue[None]", crew: DaemonThreadPool
) -> None:
    if not crew.start(partial(_run_queries, errands, told)):
        problem = "too many earlier questions still wait for their sources"
        while errands:
            one = errands.popleft()
            one.answer = _silence(one, SourceFailedError(FailureReason.BUSY, problem))


def _collect_replies(waiting: Iterable[_SourceQuery]) -> None:
    """Settle what has come, and what has not come in time."""
    moment = time.monotonic()
    for one in waiting:
        if one.said is not None:
            one.answer = one.said
        elif one.errand.until <= moment:
            one.answer = _late_reply(one)
            one.errand.abandon()


def _run_queries(errands: deque[_SourceQuery], told: "SimpleQueue[None]") -> None:
    """Ask one source after another, in a thread of its own, as long as there are some left."""
    with suppress(IndexError):
        while True:
            one = errands.popleft()
            one.said = _reply_from_source(one)
    told.put(None)


def _reply_from_source(one: _SourceQuery) -> SourceReply:
    """Ask one source; whatever happens there ends in an answer."""
    try:
        reply = one.source.feed.ask(one.args, one.errand)
        return SourceAnswer(one.source.feed.source, reply.raw, reply.observed_at)
    except SourceFailedError as error:
        return _silence(one, error)
    except BaseException as error:
        # A feed that fails in a way nobody thought of must not cost the other sources their say.
        unknown = SourceFailedError(
            FailureReason.FAILED, f"the feed ended in {type(error).__name__}"
        )
        return _silence(one, unknown)


def _late_reply(one: _SourceQuery) -> SourceFailure:
    return _silence(
        one, SourceFailedError(FailureReason.LATE, f"no answer within {one.allowed_ms} ms")
    )


def _silence(one: _SourceQuery, error: SourceFailedError) -> SourceFailure:
    return SourceFailure(one.source.feed.source, str(error))


def _fact_of(
    tool: Tool, asked: Sequence[_SourceQuery], at: str, signed: bool
) -> Fact | EvidenceUnavailable:
    answers = [one.answer for one in asked if one.answer is not None]
    args = dict(asked[0].args) if asked else {}
    return fact_from_answers(tool, args, answers, at, signed=signed)
