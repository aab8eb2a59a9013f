"""Records a run as it happens: the log format and the recorder.

The log is JSON lines. The first line names the run; every other line is an event without its number
and hash. Each line is on the disk before the run continues, so a process that is killed leaves a
whole log, or one whose last line is torn: it has no line feed. A run that is cut off has no
`affidavit.run.finished` and is sealed as unfinished.

A line is checked by the rules for reading before it is written, so whatever was recorded can be
sealed, and whatever was sealed verifies.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Final

import msgspec

from affidavit.app.clock import precise_now
from affidavit.app.keys import random_bytes
from affidavit.app.log_writer import Durability, LogWriter
from affidavit.app.tracing import (
    STEP_KINDS,
    Step,
    TracePosition,
    current_run,
    current_step,
    enter_run,
    leave_run,
    new_span_id,
    new_trace_id,
    position_from,
)
from affidavit.base.canonical import jcs, require_canonical, sorted_compact
from affidavit.base.errors import AffidavitError, Fault, Where
from affidavit.base.faults import bundles as faults
from affidavit.base.faults.bundles import RECORD_VALUE
from affidavit.base.faults.input import FILE_UNWRITABLE
from affidavit.base.files import append_line_durably, open_to_read
from affidavit.base.json_values import JsonValue
from affidavit.base.strict_json import decode, read_lines
from affidavit.base.validation import problem_and_field
from affidavit.packs import event_types as kinds
from affidavit.packs.event_types import RECORDED_TYPES, RECORDER_PREFIX, RUN_FINISHED, RUN_STARTED
from affidavit.packs.signals import DECLARED_ABSENT, REGISTRY
from affidavit.seal.bundle.commitments import SALT_BYTES
from affidavit.seal.bundle.container import DEFAULT_LIMITS
from affidavit.seal.bundle.writer import EventDraft, RunIdentity, require_time
from affidavit.telemetry.recordable import fitted, recordable, split_blobs


def receipt_data(receipt: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the data of the event of a receipt, with its exact text if necessary.

    A bundle is written by RFC 8785, where 1.0 becomes 1. A receipt is signed over a text in which
    the two differ, so a receipt with such a number is kept with its exact text beside it.
    """
    kept = dict(receipt)
    exact = sorted_compact(kept)
    if sorted_compact(decode(jcs(kept))) == exact:
        return {"receipt": kept}
    return {"receipt": kept, "exact": exact.decode()}


LOG_VERSION: Final = 1
# The envelope of an event adds the run, the id twice, and about four hundred bytes to its line.
_ENVELOPE_BYTES: Final = 4096
MAX_HEADER_BYTES: Final = 1536
MAX_LINE_BYTES: Final = DEFAULT_LIMITS.max_line_bytes - _ENVELOPE_BYTES
_LIMITS: Final = DEFAULT_LIMITS.for_json(MAX_LINE_BYTES)
_OMITTED: Final[Mapping[str, object]] = {"subject": None, "personal_data": False, "secrets": False}


@dataclass(slots=True)
class OpenLog:
    """A log that is being read. `torn_bytes` is known after the last draft."""

    run: RunIdentity
    drafts: Iterator[EventDraft]
    torn_bytes: int = 0


def header_line(run: RunIdentity) -> bytes:
    """Return the first line of a log, without its line feed."""
    members = msgspec.structs.asdict(run)
    if not run.salt:
        del members["salt"]
    line = jcs({"affidavit_run": LOG_VERSION, **members})
    if len(line) > MAX_HEADER_BYTES:
        problem = f"id, source, producer and git have more than {MAX_HEADER_BYTES} bytes in all"
        raise AffidavitError(faults.RECORD_VALUE, Where(field="run_id"), problem=problem)
    return line


def entry_line(draft: EventDraft) -> bytes:
    """Return the line of an event, without its line feed; raise if no bundle could hold it."""
    members = msgspec.structs.asdict(draft)
    kept = {name for name in members if members[name] is not _OMITTED.get(name, members)}
    line = jcs({name: members[name] for name in kept})
    if len(line) > MAX_LINE_BYTES:
        raise AffidavitError(faults.RECORD_TOO_LARGE, Where(field="data"), limit=MAX_LINE_BYTES)
    try:
        _draft(line, faults.RECORD_VALUE)
    except AffidavitError as error:
        # The caller knows the field, but no line.
        where = Where(field=error.where.field)
        raise AffidavitError(error.fault, where, **error.values) from None
    return line


@contextmanager
def open_log(path: Path) -> Iterator[OpenLog]:
    """Open the log of a run, to be read once."""
    with open_to_read(path) as stream:
        try:
            lines = read_lines(stream, MAX_LINE_BYTES + 1)
            first = next(lines, b"")
            if not first.endswith(b"\n"):
                problem = "its first line is missing or torn"
                raise AffidavitError(faults.RUN_LOG, problem=problem)
            log = OpenLog(_run_from_first_line(first), iter(()))
            log.drafts = _drafts(lines, log)
            yield log
        except AffidavitError as error:
            raise error.at(file=str(path)) from None


def _run_from_first_line(line: bytes) -> RunIdentity:
    try:
        return run_from_header(decode(line.removesuffix(b"\n"), _LIMITS), faults.RUN_LOG)
    except AffidavitError as error:
        raise error.at(line=1) from None


def _drafts(lines: Iterator[bytes], log: OpenLog) -> Iterator[EventDraft]:
    for number, line in enumerate(lines, 2):
        if not line.endswith(b"\n"):
            log.torn_bytes = len(line)
            return
        try:
            yield _draft(line.removesuffix(b"\n"), faults.RUN_LOG)
        except AffidavitError as error:
            where = Where(line=number, field=error.where.field)
            raise AffidavitError(error.fault, where, **error.values) from None


def _draft(line: bytes, fault: Fault) -> EventDraft:
    try:
        draft = msgspec.convert(require_canonical(line, _LIMITS), EventDraft)
    except msgspec.ValidationError as error:
        raise _log_error(error, fault) from None
    require_time(draft.time)
    return draft


def run_from_header(value: object, fault: Fault = faults.RECORD_VALUE) -> RunIdentity:
    """Return the run that the header of a log describes."""
    members = dict(value) if isinstance(value, Mapping) else {}
    version = members.pop("affidavit_run", None)
    if version != LOG_VERSION:
        raise AffidavitError(fault, problem=f"it is of version {version}, not {LOG_VERSION}")
    try:
        return msgspec.convert(members, RunIdentity)
    except msgspec.ValidationError as error:
        raise _log_error(error, fault) from None


def _log_error(error: msgspec.ValidationError, fault: Fault) -> AffidavitError:
    problem, field = problem_and_field(error)
    return AffidavitError(fault, Where(field=field), problem=problem)


Clock = Callable[[], str]
Fields = Mapping[str, Any]


class Recorder:
    """Writes the events of one run, and is the current run of its context while it is open.

    It never raises into the program: what cannot be recorded as it is becomes a typed form, a blob
    or a mark, and `problems` says what went wrong. With `strict` every mistake raises at the call,
    and values must be JSON.
    """

    def __init__(
        self,
        path: Path,
        run: RunIdentity,
        clock: Clock,
        input: Any = None,
        *,
        durability: Durability = Durability.EVENT,
        strict: bool = False,
        position: TracePosition | None = None,
        states_place: bool = True,
    ) -> None:
        self.path = path
        self.run = run
        self.is_open = False
        self._parent = position
        self._states_place = states_place or position is not None
        # Drawn here, because threads that ask at the same time must get the same ids.
        trace_id = new_trace_id() if position is None else position.trace_id
        self.position = TracePosition(trace_id, new_span_id())
        self._clock = clock
        self._input = input
        self._strict = strict
        self._lock = Lock()
        self._blobs: set[str] = set()
        self._token: Any = None
        self._durability = durability
        self._writer: LogWriter | None = None

    @property
    def traceparent(self) -> str:
        """The header that ties what another service records to the current step of this run."""
        step = current_step(self)
        return (self.position if step is None else step.position).traceparent

    @property
    def problems(self) -> tuple[str, ...]:
        """What could not be recorded as it was, in words."""
        return () if self._writer is None else tuple(self._writer.problems)

    def __enter__(self) -> "Recorder":
        # Nothing is written unless the first event is valid.
        data = _without_none(input=self._made(self._input))
        if self._states_place:
            # Steps name it as their parent, and an export needs it for their trace to be one.
            data[kinds.SPAN] = _without_none(
                trace_id=self.position.trace_id,
                span_id=self.position.span_id,
                parent_id=None if self._parent is None else self._parent.span_id,
            )
        draft = EventDraft(RUN_STARTED, self._clock(), data)
        first = header_line(self.run)
        lines = [entry_line(draft)] if self._strict else self._lines_of(draft)
        self._claim()
        for line in (first, *lines):
            append_line_durably(self.path, line)
        self._writer = LogWriter(self.path, self._durability, self._lines_of, self._clock)
        self.is_open = True
        self._token = enter_run(self)
        return self

    def _claim(self) -> None:
        """Create the file; raise if it exists. Other errors are raised by the first write."""
        try:
            self.path.touch(exist_ok=False)
        except FileExistsError:
            raise AffidavitError(faults.RECORD_EXISTS, Where(file=str(self.path))) from None
        except (OSError, ValueError):
            return

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self.is_open:
            status = "ok" if kind is None else "error"
            self.finish(status, error=None if kind is None else kind.__name__)
        leave_run(self, self._token)
        if self._writer is not None:
            self._writer.close()

    def event(
        self,
        type: str,
        data: Any,
        *,
        subject: str | None = None,
        personal_data: bool = False,
        secrets: bool = False,
    ) -> None:
        """Record any event. Types that begin with `affidavit.` must be in EVENT_TYPES."""
        try:
            self._record(
                EventDraft(
                    type,
                    self._clock(),
                    self._placed(data),
                    subject=subject,
                    personal_data=personal_data,
                    secrets=secrets,
                )
            )
        except Exception as error:
            if self._strict:
                raise
            if self._writer is not None:
                self._writer.note(str(error))

    def _placed(self, data: Any) -> Any:
        """Return the data as it is recorded; inside of a step they state their place."""
        made = self._made(data)
        step = current_step(self)
        if step is not None and isinstance(made, dict) and kinds.SPAN not in made:
            now_ns = str(time.time_ns())
            place = {"trace_id": step.position.trace_id, "span_id": new_span_id()}
            times = {"start_ns": now_ns, "end_ns": now_ns}
            return {**made, kinds.SPAN: {**place, "parent_id": step.position.span_id, **times}}
        return made

    def _made(self, value: Any) -> Any:
        return value if self._strict else recordable(value)

    def _record(self, draft: EventDraft) -> None:
        with self._lock:
            if not self.is_open or self._writer is None:
                raise AffidavitError(faults.RECORD_CLOSED, Where(file=str(self.path)))
            # In strict mode a value that no bundle holds raises before anything else does.
            line = entry_line(draft) if self._strict else b""
            if draft.type.startswith(RECORDER_PREFIX) and draft.type not in RECORDED_TYPES:
                where = Where(field="type")
                raise AffidavitError(faults.RECORD_TYPE, where, type=draft.type)
            if self._strict:
                append_line_durably(self.path, line)
            else:
                self._writer.put(draft)
            self.is_open = draft.type != RUN_FINISHED

    def _lines_of(self, draft: EventDraft) -> list[bytes]:
        """Return the lines of an event: those of its large bodies first, each body once."""
        lines: list[bytes] = []
        if isinstance(draft.data, dict):
            data, blobs = split_blobs(draft.data)
            for digest, parts in blobs.items():
                if digest not in self._blobs:
                    self._blobs.add(digest)
                    lines += [
                        entry_line(EventDraft(kinds.BLOB, draft.time, part)) for part in parts
                    ]
            kept, _ = fitted(data, MAX_LINE_BYTES - _ENVELOPE_BYTES)
            draft = msgspec.structs.replace(draft, data=kept)
        return [*lines, entry_line(draft)]

    def flush(self) -> None:
        """Return when everything that was recorded so far is on the disk."""
        if self._writer is not None:
            self._writer.flush()

    def step(self, name: str, *, kind: str = "step", input: Any = None, **fields: Any) -> Step:
        """Return a step to enter with `with`; `kind` is step or tool."""
        return Step(self, name, STEP_KINDS.get(kind, kinds.STEP), input, fields)

    def finish(
        self,
        status: str = "ok",
        *,
        output: Any = None,
        error: str | None = None,
        absent_signals: Mapping[str, str] | None = None,
    ) -> None:
        """Record the end of the run.

        `absent_signals` are kinds of evidence that it had none of, each with the reason.
        """
        signals = None if absent_signals is None else self._absent(absent_signals)
        data = _without_none(status=status, output=output, error=error, absent_signals=signals)
        self.event(RUN_FINISHED, data)

    def _absent(self, reasons: Mapping[str, str]) -> dict[str, Any]:
        try:
            return checked_signals(reasons)
        except AffidavitError as error:
            if self._strict:
                raise
            if self._writer is not None:
                self._writer.note(str(error))
            return {}

    def _object(self, name: str, value: Any) -> Any:
        if self._strict:
            return _object(name, value)
        return dict(value) if isinstance(value, Mapping) else value

    def model_call(
        self,
        model: str,
        *,
        input: Any,
        output: Any,
        provider: str | None = None,
        parameters: Fields | None = None,
        **others: Any,
    ) -> None:
        """Record a model call with its input and output."""
        settings = None if parameters is None else self._object("parameters", parameters)
        call: dict[str, Any] = {"model": model, "input": input, "output": output}
        self.event(
            kinds.MODEL_CALL,
            {**others, **_without_none(provider=provider, parameters=settings), **call},
        )

    def tool_call(self, tool: str, *, input: Any, output: Any, **others: Any) -> None:
        """Record a tool call with its input and output."""
        self.event(kinds.TOOL_CALL, {**others, "tool": tool, "input": input, "output": output})

    def prompt(self, text: str, **others: Any) -> None:
        """Record a prompt; `template` and `variables` tell its origin."""
        self.event(kinds.PROMPT, {**others, "text": text})

    def retrieval(self, query: str, results: Any, **others: Any) -> None:
        """Record a search with its results."""
        self.event(kinds.RETRIEVAL, {**others, "query": query, "results": results})

    def seed(self, seed: int | str, generator: str | None = None) -> None:
        """Record the seed of a random generator."""
        self.event(kinds.RNG_SEED, {"seed": seed, **_without_none(generator=generator)})

    def policy_decision(self, policy: str, decision: str, **others: Any) -> None:
        """Record the decision of a policy, such as `allow` or `deny`."""
        self.event(kinds.POLICY_DECISION, {**others, "policy": policy, "decision": decision})

    def approval(self, approver: str, decision: str, **others: Any) -> None:
        """Record the decision of a person. Names are personal data, so the event is flagged."""
        data = {**others, "approver": approver, "decision": decision}
        self.event(kinds.HUMAN_APPROVAL, data, personal_data=True)

    def environment(self, values: Fields) -> None:
        """Record the environment: versions, system, settings."""
        self.event(kinds.ENVIRONMENT, {"values": self._object("values", values)})

    def code_version(self, version: str, **others: Any) -> None:
        """Record the version of the code; `commit` and `digest` identify it exactly."""
        self.event(kinds.CODE_VERSION, {**others, "version": version})

    def verdict(self, verdict: str, **others: Any) -> None:
        """Record the verdict on the answer or the run."""
        self.event(kinds.VERDICT, {**others, "verdict": verdict})

    def incident(self, incident: str, severity: str, **others: Any) -> None:
        """Record an incident by its name, and how severe it is, such as `serious`."""
        self.event(kinds.INCIDENT, {**others, "incident": incident, "severity": severity})

    def incident_report(self, incident: str, authority: str, **others: Any) -> None:
        """Record to whom an incident was reported."""
        self.event(kinds.INCIDENT_REPORT, {**others, "incident": incident, "authority": authority})

    def check_run(self, check: Fields) -> None:
        """Record the result of `affidavit check`."""
        self.event(kinds.CHECK_RUN, {"check": self._object("check", check)})

    def receipt(self, receipt: Fields) -> None:
        """Record a signed receipt of an answer."""
        self.event(kinds.RECEIPT, receipt_data(self._object("receipt", receipt)))

    def ledger(self, ledger: Fields) -> None:
        """Record an exported evidence ledger."""
        self.event(kinds.LEDGER, {"ledger": self._object("ledger", ledger)})

    def gate(self, report: Fields) -> None:
        """Record the report of a gate."""
        self.event(kinds.GATE_REPORT, {"report": self._object("report", report)})

    def soak_trial(self, trial: Fields) -> None:
        """Record one trial of a soak."""
        self.event(kinds.SOAK_TRIAL, {"trial": self._object("trial", trial)})

    def process_exited(self, code: int, **others: Any) -> None:
        """Record that a command ended, with its exit code."""
        self.event(kinds.PROCESS_EXITED, {**others, "code": code})


def _without_none(**values: Any) -> dict[str, Any]:
    """Return the values that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def _object(name: str, value: Fields) -> dict[str, JsonValue]:
    """Return a mapping of any kind, such as `os.environ`, as a dict."""
    if not isinstance(value, Mapping):
        raise _record_error(name, f"it is not a mapping, but of the type {type(value).__name__}")
    return dict(value)


def checked_signals(reasons: Mapping[str, str]) -> dict[str, JsonValue]:
    """Return why the run had none of some signals; raise for one that is unknown or not absent."""
    for name, reason in _object(DECLARED_ABSENT, reasons).items():
        problem = None
        if name not in REGISTRY:
            problem = f"no signal is called {name!a}; see docs/signals.md"
        elif not REGISTRY[name].can_be_absent:
            problem = f"every run has some {name}"
        elif not isinstance(reason, str) or not reason.strip():
            problem = f"why the run had no {name} is not said"
        if problem is not None:
            raise _record_error(DECLARED_ABSENT, problem)
    return dict(reasons)


def _record_error(name: str, problem: str) -> AffidavitError:
    return AffidavitError(faults.RECORD_VALUE, Where(field=f"data.{name}"), problem=problem)


def current_recorder() -> Recorder | None:
    """Return the recorder of the current run; None if there is none."""
    run = current_run()
    return run if isinstance(run, Recorder) else None


RUNS_FOLDER = Path(".affidavit") / "runs"


def recorder_for(
    run: str | Path,
    *,
    run_id: str | None,
    input: JsonValue,
    source: str,
    producer: tuple[str, str],
    git: str,
    clock: Clock | None,
    salt: bytes | None,
    durability: str = "event",
    strict: bool = False,
    traceparent: str | None = None,
) -> Recorder:
    """Return a recorder. `run` is a path that ends in .jsonl, or an id of a run in .affidavit.

    The log has a secret, from which its lines are salted when they are sealed. So the same log
    makes the same bundle, and nobody else can guess its lines. The secret is random unless it is
    given; with a clock of the caller a log is reproducible, so it has none unless it is given.
    """
    is_path = isinstance(run, Path) or run.endswith(".jsonl")
    if not is_path and {"/", "\\"} & set(str(run)):
        problem = "a run id holds no slash; a path ends in .jsonl"
        raise AffidavitError(RECORD_VALUE, Where(field="run_id"), problem=problem)
    path = Path(run) if is_path else RUNS_FOLDER / f"{run}.jsonl"
    name = run_id if run_id is not None else path.name.removesuffix(".jsonl")
    drawn = salt if salt is not None else random_bytes(SALT_BYTES) if clock is None else b""
    described = run_from_header(
        {
            "affidavit_run": LOG_VERSION,
            "id": name,
            "source": source,
            "producer": producer[0],
            "producer_version": producer[1],
            "git": git,
            "salt": drawn.hex(),
        }
    )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise AffidavitError(FILE_UNWRITABLE, Where(file=str(path)), reason=reason) from error
    return Recorder(
        path,
        described,
        precise_now if clock is None else clock,
        input,
        durability=_durability(durability),
        strict=strict,
        position=position_from(traceparent),
        # With a clock of the caller a log is reproducible, and these ids are random.
        states_place=clock is None,
    )


def _durability(name: str) -> Durability:
    try:
        return Durability(name)
    except ValueError:
        problem = f"it is event, batch or end, not {name!a}"
        raise AffidavitError(RECORD_VALUE, Where(field="durability"), problem=problem) from None
