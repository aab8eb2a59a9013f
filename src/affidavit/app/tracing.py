"""The current run and the current step, in context variables; trace ids and `traceparent`.

Tasks of asyncio inherit both. A thread inherits neither, so a thread without a run of its own takes
the only run that is open in this process, and its steps hang below the run.
Origin: W3C Trace Context, level 1, for `traceparent`.
"""

import functools
import inspect
import os
import re
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any, Final, Protocol, TypeVar

from msgspec import Struct

from affidavit.packs import event_types as kinds
from affidavit.packs.event_types import SPAN

_TRACEPARENT: Final = re.compile("00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")
_NOTHING: Final = "0"

Function = TypeVar("Function", bound=Callable[..., Any])


class TracePosition(Struct, frozen=True):
    """A place in a trace: the trace, and the span that is open."""

    trace_id: str
    span_id: str

    @property
    def traceparent(self) -> str:
        """The place as the header that other services take."""
        return f"00-{self.trace_id}-{self.span_id}-01"


def position_from(traceparent: str | None) -> TracePosition | None:
    """Return the place that a header names; None if it is malformed or names nothing."""
    found = _TRACEPARENT.fullmatch(traceparent.strip().lower()) if traceparent else None
    if found is None or not found[1].strip(_NOTHING) or not found[2].strip(_NOTHING):
        return None
    return TracePosition(found[1], found[2])


class TracedRun(Protocol):
    """A run that takes events, as the recorder is one."""

    is_open: bool
    position: TracePosition

    def event(self, type: str, data: Any) -> None:
        """Record an event."""
        ...

    def step(self, name: str, *, kind: str = ..., input: Any = ...) -> "Step":
        """Return a step to enter."""
        ...


def new_span_id() -> str:
    """Return a random id of a span."""
    return os.urandom(8).hex()


def new_trace_id() -> str:
    """Return a random id of a trace."""
    return os.urandom(16).hex()


_RUN: "ContextVar[TracedRun | None]" = ContextVar("affidavit_run", default=None)
_STEP: "ContextVar[Step | None]" = ContextVar("affidavit_step", default=None)
_OPEN: "list[TracedRun]" = []


def current_run() -> "TracedRun | None":
    """Return the run of this context, or the only run that is open in this process."""
    run = _RUN.get()
    if run is not None and run.is_open:
        return run
    return _OPEN[0] if len(_OPEN) == 1 else None


def current_step(run: "TracedRun") -> "Step | None":
    """Return the step of this context, if it is one of that run."""
    step = _STEP.get()
    return step if step is not None and step.run is run else None


def enter_run(run: "TracedRun") -> "Token[TracedRun | None]":
    """Make a run the current one of this context."""
    _OPEN.append(run)
    return _RUN.set(run)


def leave_run(run: "TracedRun", token: "Token[TracedRun | None]") -> None:
    """Restore the run that was current before. A run may be left in another context."""
    if run in _OPEN:
        _OPEN.remove(run)
    try:
        _RUN.reset(token)
    except ValueError:
        _RUN.set(None)


class Step:
    """A step of a run: what happens inside belongs to it. `output` is set by the program.

    It is used with `with` or `async with`. An exception ends the step with its name, and goes on.
    """

    def __init__(
        self, run: "TracedRun", name: str, kind: str, input: Any, fields: Mapping[str, Any]
    ) -> None:
        self.run = run
        self.name = name
        self.output: Any = None
        self._kind = kind
        self._input = input
        self._fields = dict(fields)
        self._has_input = input is not None
        self._start_ns = 0
        self._parent_id = ""
        self._token: Token[Step | None] | None = None
        self.position = TracePosition("", "")

    def __enter__(self) -> "Step":
        above = current_step(self.run)
        place = self.run.position if above is None else above.position
        self._parent_id = place.span_id
        self.position = TracePosition(place.trace_id, new_span_id())
        self._start_ns = time.time_ns()
        self._token = _STEP.set(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._token is not None:
            try:
                _STEP.reset(self._token)
            except ValueError:
                _STEP.set(None)
        data: dict[str, Any] = dict(self._fields)
        data["tool" if self._kind == kinds.TOOL_CALL else "name"] = self.name
        if self._has_input:
            data["input"] = self._input
        if self.output is not None:
            data["output"] = self.output
        if kind is not None:
            data["error"] = kind.__name__
        data[SPAN] = {
            "trace_id": self.position.trace_id,
            "span_id": self.position.span_id,
            "parent_id": self._parent_id,
            "start_ns": str(self._start_ns),
            "end_ns": str(time.time_ns()),
        }
        self.run.event(self._kind, data)

    async def __aenter__(self) -> "Step":
        return self.__enter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.__exit__(kind, error, traceback)


class _NoStep:
    """What stands for a step while no run is current."""

    output: Any = None

    def __enter__(self) -> "_NoStep":
        return self

    def __exit__(self, *error: object) -> None:
        """Record nothing."""


STEP_KINDS: Final[Mapping[str, str]] = {"step": kinds.STEP, "tool": kinds.TOOL_CALL}


def traced(function: Function | None = None, *, name: str | None = None, kind: str = "step") -> Any:
    """Record every call of a function as a step of the current run, or as a tool call.

    `@traced` and `@traced(kind="tool", name="search")` both work, for functions and coroutines.
    Without a current run the function is only called.
    """
    if kind not in STEP_KINDS:
        raise ValueError(f"kind is {' or '.join(STEP_KINDS)}, not {kind!r}")

    def decorate(wrapped: Function) -> Any:
        label = name or wrapped.__qualname__
        signature = _signature(wrapped)

        def step(args: tuple[Any, ...], values: dict[str, Any]) -> "Step | _NoStep":
            run = current_run()
            if run is None:
                return _NoStep()
            return run.step(label, kind=kind, input=_arguments(signature, args, values))

        if inspect.iscoroutinefunction(wrapped):

            @functools.wraps(wrapped)
            async def call_async(*args: Any, **values: Any) -> Any:
                with step(args, values) as open_step:
                    open_step.output = await wrapped(*args, **values)
                    return open_step.output

            return call_async

        @functools.wraps(wrapped)
        def call(*args: Any, **values: Any) -> Any:
            with step(args, values) as open_step:
                open_step.output = wrapped(*args, **values)
                return open_step.output

        return call

    return decorate if function is None else decorate(function)


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def _arguments(
    signature: inspect.Signature | None, args: tuple[Any, ...], values: dict[str, Any]
) -> dict[str, Any]:
    """Return the arguments by name, without the object that a method is called on."""
    try:
        bound = None if signature is None else signature.bind(*args, **values)
    except TypeError:
        bound = None  # The call itself raises.
    if bound is None:
        return {"args": args, **values}
    return {name: value for name, value in bound.arguments.items() if name not in ("self", "cls")}
