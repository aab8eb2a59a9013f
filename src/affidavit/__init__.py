"""Affidavit shows what an AI answer rests on.

Five functions do from Python what the commands of the same names do: `check`, `judge`, `gate`,
`verify` and `record`. Each returns the frozen result that its command prints; a notebook shows it
as a table. What a caller got wrong is raised as `AffidavitError`. See docs/python.md.
"""

# Every command imports this module first, so it imports nothing until a function is called.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable as _Callable
    from collections.abc import Iterable as _Iterable
    from pathlib import Path as _Path
    from typing import Any as _Any
    from typing import Literal as _Literal
    from typing import TypeVar as _TypeVar
    from typing import overload as _overload

    from affidavit.app.bundles import VerifiedBundle as _VerifiedBundle
    from affidavit.app.gate_all import AllGatesReport as _AllGatesReport
    from affidavit.app.judge_scoring import ClaimScore as _ClaimScore
    from affidavit.app.recording import Recorder as _Recorder
    from affidavit.app.verify import VerifiedReceipt as _VerifiedReceipt
    from affidavit.base.errors import AffidavitError as AffidavitError
    from affidavit.decision.report import Report as _Report
    from affidavit.ledger.record import Ledger as _Ledger

    _Function = _TypeVar("_Function", bound=_Callable[..., _Any])

__all__ = [
    "AffidavitError",
    "__version__",
    "check",
    "current_run",
    "gate",
    "judge",
    "record",
    "traced",
    "verify",
]

__version__ = "0.1.0"


def check(
    answer: "str | _Path",
    sources: "str | _Path | _Iterable[str | _Path]" = (),
    *,
    contexts: "str | _Path | _Iterable[str | _Path]" = (),
    query: str | None = None,
    title: str = "",
    judge: str | None = None,
    rules: "str | _Path | None" = None,
    gates: "str | _Iterable[str]" = (),
    top_k: int = 8,
    risk: float | None = None,
    at: str | None = None,
    project: "str | _Path | None" = None,
) -> "_Ledger":
    """Adjudicate every claim of an answer against its sources, as `affidavit check` does.

    `answer` is a text, or a `Path` to read. `sources` are paths of documents or folders; `contexts`
    are texts. A string is never tested for being the other. `query`, `title`, `judge`, `rules`,
    `gates`, `top_k`, `risk` and `at` are the options of the command. With `project` the index and
    the ledger are kept there, as the command does; by default the index is removed when the process
    ends.
    """
    from affidavit.app import api

    return api.check(
        answer,
        sources,
        contexts=contexts,
        query=query,
        title=title,
        judge=judge,
        rules=rules,
        gates=gates,
        top_k=top_k,
        risk=risk,
        at=at,
        project=project,
    )


def judge(
    claim: str,
    evidence: "str | _Iterable[str]",
    *,
    judge: str | None = None,
    rules: "str | _Path | None" = None,
) -> "_ClaimScore":
    """Judge one claim against one or more texts, as `affidavit judge score` does."""
    from affidavit.app import api

    return api.judge(claim, evidence, judge=judge, rules=rules)


# Importing the package `affidavit.judge` replaces the attribute `judge` by the package, which is
# callable and calls this.
_judge = judge

if TYPE_CHECKING:

    @_overload
    def gate(kind: _Literal["all"], *, config: str | _Path = ...) -> _AllGatesReport: ...
    @_overload
    def gate(
        kind: _Literal["rag", "latency", "agreement", "stability", "research"], **settings: _Any
    ) -> _Report: ...
    @_overload
    def gate(kind: str, **settings: _Any) -> _Report | _AllGatesReport: ...


def gate(kind: str, **settings: "_Any") -> "_Report | _AllGatesReport":
    """Decide ship or no-ship, as `affidavit gate KIND` does.

    `kind` is rag, latency, agreement, stability or research. The settings are those that
    `[gates.KIND]` of affidavit.toml has (docs/gates.md); where it names a file of rows, the rows
    themselves may stand: `gate("rag", trace=[{...}], gold=[{...}], gates="precision>=0.9")`.

    `gate("all", config="affidavit.toml")` decides every gate that the file configures.
    """
    from affidavit.app import api

    if kind == "all":
        return api.gate_all(**settings)
    return api.gate(kind, settings)


def record(
    run: "str | _Path",
    *,
    run_id: str | None = None,
    input: "_Any" = None,
    source: str = "urn:affidavit:run",
    producer: str = "affidavit",
    producer_version: str = __version__,
    git: str = "unknown",
    clock: "_Callable[[], str] | None" = None,
    salt: bytes | None = None,
    durability: str = "event",
    strict: bool = False,
    traceparent: str | None = None,
) -> "_Recorder":
    """Record a run: `with affidavit.record("run.jsonl") as run: run.model_call(...)`.

    `run` is a path that ends in .jsonl, or a run id, whose log is then kept in .affidavit/runs.
    `affidavit evidence seal` makes a bundle of the log. `salt` are 32 secret bytes that keep its
    lines from being guessed; by default they are random, and with `clock` there are none.

    An event is on the disk when its call returns (`durability="event"`), soon after (`"batch"`), or
    when the run ends (`"end"`). What cannot be recorded becomes a mark; with `strict` it raises.
    `traceparent` ties the run to the trace of a caller.
    """
    from affidavit.app.recording import recorder_for

    return recorder_for(
        run,
        run_id=run_id,
        input=input,
        source=source,
        producer=(producer, producer_version),
        git=git,
        clock=clock,
        salt=salt,
        durability=durability,
        strict=strict,
        traceparent=traceparent,
    )


def current_run() -> "_Recorder | None":
    """Return the run that is being recorded in this context; None if there is none."""
    from affidavit.app.recording import current_recorder

    return current_recorder()


if TYPE_CHECKING:

    @_overload
    def traced(function: _Function) -> _Function: ...
    @_overload
    def traced(
        function: None = ..., *, name: str | None = ..., kind: str = ...
    ) -> _Callable[[_Function], _Function]: ...


def traced(function: "_Any" = None, *, name: str | None = None, kind: str = "step") -> "_Any":
    """Record every call of a function as a step of the current run, or as a tool call.

    `@affidavit.traced` and `@affidavit.traced(kind="tool")` both work, also for coroutines.
    """
    from affidavit.app import tracing

    return tracing.traced(function, name=name, kind=kind)


def verify(
    subject: "str | _Path | bytes",
    *,
    keys: "str | _Path | _Iterable[str | _Path]" = (),
    tsa_roots: "str | _Path | _Iterable[str | _Path]" = (),
    tsa_policy: str | None = None,
    stamp_required: bool = False,
    at: str | None = None,
    project: "str | _Path" = ".",
) -> "_VerifiedReceipt | _VerifiedBundle":
    """Verify a receipt or a bundle offline, as `affidavit verify` and `evidence verify` do.

    `subject` is a path, or the bytes themselves. A receipt is verified with `keys`, or with the
    keys of the project; a bundle needs none. The other options are those of `affidavit verify`.
    """
    from affidavit.app import api

    return api.verify(
        subject,
        keys=keys,
        tsa_roots=tsa_roots,
        tsa_policy=tsa_policy,
        stamp_required=stamp_required,
        at=at,
        project=project,
    )


def __getattr__(name: str) -> "_Any":
    if name == "AffidavitError":
        from affidavit.base.errors import AffidavitError

        return AffidavitError
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


del TYPE_CHECKING
