"""Asks every source of every check at the same time, under one hard deadline.

The answer comes by the deadline whatever a source does: one that is late is a silence with its
reason, and its thread is left to end by itself. Equal questions (the same tool, the same
arguments) are asked once. The time of the answer is taken after the last source, so that nothing
is dated after it.

To send somebody costs more than to look into a file that is known. So a caller who is watched, and
need not come back if a file hangs, may go without a crew, as far as everything is at hand.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import Final, TypeAlias

from affidavit.app.crew import Crew
from affidavit.base.errors import NOWHERE, AffidavitError, Where
from affidavit.base.faults import feeds as faults
from affidavit.checks.evaluate import needs_evidence
from affidavit.checks.facts import (
    Fact,
    SourceAnswer,
    SourceSilence,
    Unavailable,
    fact_from_answers,
)
from affidavit.checks.tools import Tool
from affidavit.checks.unit import Check
from affidavit.checks.values import exact_text
from affidavit.sources.feeds.feed import Args, Errand, Feed, Silence, SilentError

DEFAULT_DEADLINE_MS: Final = 6_000
MAX_DEADLINE_MS: Final = 60_000

Question: TypeAlias = tuple[str, bytes]
Answer: TypeAlias = SourceAnswer | SourceSilence

CREW: Final = Crew()
# Kinds of source that answer from this machine, most often at once; and how long that is believed.
_LOCAL: Final = frozenset({"file", "folder", "lock", "installed"})
_PATIENCE_SECONDS: Final = 0.005
# What a source must be allowed for a caller to go itself: time enough to be missed, and replaced.
_UNHURRIED_MS: Final = 1_000


class NotAtHandError(Exception):
    """A source is elsewhere, or has little time: somebody who waits must send a crew to it."""


@dataclass(frozen=True, slots=True)
class AskedSource:
    """A source that can be asked, and how long it may take if less than the deadline."""

    feed: Feed
    timeout_ms: int | None = None


@dataclass(frozen=True, slots=True)
class ToolFeeds:
    """A tool as the checks know it, and its sources in the order in which they are declared."""

    tool: Tool
    sources: tuple[AskedSource, ...]


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The tools that are declared. It may live as long as a service, and be used by threads."""

    by_name: Mapping[str, ToolFeeds]

    @property
    def tools(self) -> dict[str, Tool]:
        """The tools as the checks know them."""
        return {name: entry.tool for name, entry in self.by_name.items()}


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was found, by the check's id, and the time of the answer, at which it was assessed."""

    at: str
    by_check: Mapping[str, Fact | Unavailable]


@dataclass(slots=True)
class _Asked:
    """One source on its errand: what it said, and the answer that counts, which may be another."""

    source: AskedSource
    args: Args
    errand: Errand
    allowed_ms: int
    said: Answer | None = None
    answer: Answer | None = None


def require_deadline(deadline_ms: int, where: Where = NOWHERE) -> None:
    """Raise unless an answer can be waited for so long."""
    if isinstance(deadline_ms, bool) or not 1 <= deadline_ms <= MAX_DEADLINE_MS:
        raise AffidavitError(faults.DEADLINE, where, given=deadline_ms, limit=MAX_DEADLINE_MS)


def gather(
    checks: Sequence[Check],
    toolbox: Toolbox,
    *,
    now: Callable[[], str],
    signed: bool,
    deadline_ms: int = DEFAULT_DEADLINE_MS,
    crew: Crew | None = CREW,
    since: float | None = None,
) -> Evidence:
    """Return the evidence for the checks by the deadline; `now` is the clock.

    The deadline counts from `since` if that is given, a moment of the monotonic clock. Without a
    crew the caller asks itself, or raises `NotAtHandError` before any source was asked.
    """
    require_deadline(deadline_ms)
    start, asked_at = time.monotonic() if since is None else since, now()
    asked: dict[Question, list[_Asked]] = {}
    questions: dict[str, Question] = {}
    for check in needs_evidence(checks, toolbox.tools):
        question = (check.tool, exact_text(check.args))
        questions[check.id] = question
        if question not in asked:
            asked[question] = [
                _errand_to(source, check.args, asked_at, start, deadline_ms)
                for source in toolbox.by_name[check.tool].sources
            ]
    errands = [one for several in asked.values() for one in several]
    if crew is None:
        _ask_here(errands)
    else:
        _ask_all(errands, crew)
    at = now()
    facts = {
        question: _fact_of(toolbox.by_name[question[0]].tool, several, at, signed)
        for question, several in asked.items()
    }
    return Evidence(at, {check: facts[question] for check, question in questions.items()})


def _errand_to(
    source: AskedSource, args: Args, asked_at: str, start: float, deadline_ms: int
) -> _Asked:
    allowed_ms = min(deadline_ms, source.timeout_ms or deadline_ms)
    return _Asked(source, args, Errand(asked_at, start + allowed_ms / 1000), allowed_ms)


def _ask_here(asked: Sequence[_Asked]) -> None:
    """Go to one source after another; what comes late does not count here either."""
    for one in asked:
        if one.source.feed.source.kind not in _LOCAL or one.allowed_ms < _UNHURRIED_MS:
            raise NotAtHandError
    for one in asked:
        said = _answer_to(one)
        one.answer = said if time.monotonic() < one.errand.until else _lateness(one)


def _ask_all(asked: Sequence[_Asked], crew: Crew) -> None:
    """Start every errand, and wait until each is answered or its time is over."""
    told: SimpleQueue[None] = SimpleQueue()
    # To wake a thread costs more than to look into a file that is known, so one goes to them all.
    local = deque(one for one in asked if one.source.feed.source.kind in _LOCAL)
    for one in asked:
        if one.source.feed.source.kind not in _LOCAL:
            _send(deque((one,)), told, crew)
    if local:
        _send(local, told, crew)
    patience = time.monotonic() + _PATIENCE_SECONDS
    while waiting := [one for one in asked if one.answer is None]:
        until = min(one.errand.until for one in waiting)
        try:
            told.get(timeout=max(0, (min(until, patience) if local else until) - time.monotonic()))
        except Empty:
            while local:  # The first one may hang, and the others shall not wait for it.
                with suppress(IndexError):
                    _send(deque((local.popleft(),)), told, crew)
        _take(waiting)


def _send(errands: deque[_Asked], told: "SimpleQueue[None]", crew: Crew) -> None:
    if not crew.start(partial(_run, errands, told)):
        problem = "too many earlier questions still wait for their sources"
        while errands:
            one = errands.popleft()
            one.answer = _silence(one, SilentError(Silence.BUSY, problem))


def _take(waiting: Iterable[_Asked]) -> None:
    """Settle what has come, and what has not come in time."""
    moment = time.monotonic()
    for one in waiting:
        if one.said is not None:
            one.answer = one.said
        elif one.errand.until <= moment:
            one.answer = _lateness(one)
            one.errand.abandon()


def _run(errands: deque[_Asked], told: "SimpleQueue[None]") -> None:
    """Ask one source after another, in a thread of its own, as long as there are some left."""
    with suppress(IndexError):
        while True:
            one = errands.popleft()
            one.said = _answer_to(one)
    told.put(None)


def _answer_to(one: _Asked) -> Answer:
    """Ask one source; whatever happens there ends in an answer."""
    try:
        reply = one.source.feed.ask(one.args, one.errand)
        return SourceAnswer(one.source.feed.source, reply.raw, reply.observed_at)
    except SilentError as error:
        return _silence(one, error)
    except BaseException as error:
        # A feed that fails in a way nobody thought of must not cost the other sources their say.
        unknown = SilentError(Silence.FAILED, f"the feed ended in {type(error).__name__}")
        return _silence(one, unknown)


def _lateness(one: _Asked) -> SourceSilence:
    return _silence(one, SilentError(Silence.LATE, f"no answer within {one.allowed_ms} ms"))


def _silence(one: _Asked, error: SilentError) -> SourceSilence:
    return SourceSilence(one.source.feed.source, str(error))


def _fact_of(tool: Tool, asked: Sequence[_Asked], at: str, signed: bool) -> Fact | Unavailable:
    answers = [one.answer for one in asked if one.answer is not None]
    args = dict(asked[0].args) if asked else {}
    return fact_from_answers(tool, args, answers, at, signed=signed)
