"""Records a run as it happens: the log format and the recorder.

The log is JSON lines. The first line names the run; every other line is an event without its number
and hash. Each line is on the disk before the run continues, so a process that is killed leaves a
whole log, or one whose last line is torn: it has no line feed. A run that is cut off has no
`affidavit.run.finished` and is sealed as unfinished.

A line is checked by the rules for reading before it is written, so whatever was recorded can be
sealed, and whatever was sealed verifies.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Final

import msgspec

from affidavit.app.clock import now
from affidavit.app.keys import random_bytes
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
Fields = Mapping[str, JsonValue]


class Recorder:
    """Writes the events of one run. A value that is not JSON raises at the call, with its field."""

    def __init__(self, path: Path, run: RunIdentity, clock: Clock, input: JsonValue = None) -> None:
        self.path = path
        self.run = run
        self._clock = clock
        self._input = input
        self._lock = Lock()
        self._is_open = False

    def __enter__(self) -> "Recorder":
        # Nothing is written unless the first event is valid.
        lines = (
            header_line(self.run),
            entry_line(EventDraft(RUN_STARTED, self._clock(), _without_none(input=self._input))),
        )
        self._claim()
        for line in lines:
            append_line_durably(self.path, line)
        self._is_open = True
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
        if self._is_open:
            status = "ok" if kind is None else "error"
            self.finish(status, error=None if kind is None else kind.__name__)

    def event(
        self,
        type: str,
        data: JsonValue,
        *,
        subject: str | None = None,
        personal_data: bool = False,
        secrets: bool = False,
    ) -> None:
        """Record any event. Types that begin with `affidavit.` must be in EVENT_TYPES."""
        with self._lock:
            if not self._is_open:
                raise AffidavitError(faults.RECORD_CLOSED, Where(file=str(self.path)))
            draft = EventDraft(
                type,
                self._clock(),
                data,
                subject=subject,
                personal_data=personal_data,
                secrets=secrets,
            )
            line = entry_line(draft)
            if type.startswith(RECORDER_PREFIX) and type not in RECORDED_TYPES:
                raise AffidavitError(faults.RECORD_TYPE, Where(field="type"), type=type)
            append_line_durably(self.path, line)
            self._is_open = type != RUN_FINISHED

    def finish(
        self,
        status: str = "ok",
        *,
        output: JsonValue = None,
        error: str | None = None,
        absent_signals: Mapping[str, str] | None = None,
    ) -> None:
        """Record the end of the run.

        `absent_signals` are kinds of evidence that it had none of, each with the reason.
        """
        signals = None if absent_signals is None else _signals(absent_signals)
        data = _without_none(status=status, output=output, error=error, absent_signals=signals)
        self.event(RUN_FINISHED, data)

    def model_call(
        self,
        model: str,
        *,
        input: JsonValue,
        output: JsonValue,
        provider: str | None = None,
        parameters: Fields | None = None,
        **others: JsonValue,
    ) -> None:
        """Record a model call with its input and output."""
        settings = None if parameters is None else _object("parameters", parameters)
        call: dict[str, JsonValue] = {"model": model, "input": input, "output": output}
        self.event(
            kinds.MODEL_CALL,
            {**others, **_without_none(provider=provider, parameters=settings), **call},
        )

    def tool_call(
        self, tool: str, *, input: JsonValue, output: JsonValue, **others: JsonValue
    ) -> None:
        """Record a tool call with its input and output."""
        self.event(kinds.TOOL_CALL, {**others, "tool": tool, "input": input, "output": output})

    def prompt(self, text: str, **others: JsonValue) -> None:
        """Record a prompt; `template` and `variables` tell its origin."""
        self.event(kinds.PROMPT, {**others, "text": text})

    def retrieval(self, query: str, results: JsonValue, **others: JsonValue) -> None:
        """Record a search with its results."""
        self.event(kinds.RETRIEVAL, {**others, "query": query, "results": results})

    def seed(self, seed: int | str, generator: str | None = None) -> None:
        """Record the seed of a random generator."""
        self.event(kinds.RNG_SEED, {"seed": seed, **_without_none(generator=generator)})

    def policy_decision(self, policy: str, decision: str, **others: JsonValue) -> None:
        """Record the decision of a policy, such as `allow` or `deny`."""
        self.event(kinds.POLICY_DECISION, {**others, "policy": policy, "decision": decision})

    def approval(self, approver: str, decision: str, **others: JsonValue) -> None:
        """Record the decision of a person. Names are personal data, so the event is flagged."""
        data = {**others, "approver": approver, "decision": decision}
        self.event(kinds.HUMAN_APPROVAL, data, personal_data=True)

    def environment(self, values: Fields) -> None:
        """Record the environment: versions, system, settings."""
        self.event(kinds.ENVIRONMENT, {"values": _object("values", values)})

    def code_version(self, version: str, **others: JsonValue) -> None:
        """Record the version of the code; `commit` and `digest` identify it exactly."""
        self.event(kinds.CODE_VERSION, {**others, "version": version})

    def verdict(self, verdict: str, **others: JsonValue) -> None:
        """Record the verdict on the answer or the run."""
        self.event(kinds.VERDICT, {**others, "verdict": verdict})

    def incident(self, incident: str, severity: str, **others: JsonValue) -> None:
        """Record an incident by its name, and how severe it is, such as `serious`."""
        self.event(kinds.INCIDENT, {**others, "incident": incident, "severity": severity})

    def incident_report(self, incident: str, authority: str, **others: JsonValue) -> None:
        """Record to whom an incident was reported."""
        self.event(kinds.INCIDENT_REPORT, {**others, "incident": incident, "authority": authority})

    def check_run(self, check: Fields) -> None:
        """Record the result of `affidavit check`."""
        self.event(kinds.CHECK_RUN, {"check": _object("check", check)})

    def receipt(self, receipt: Fields) -> None:
        """Record a signed receipt of an answer."""
        self.event(kinds.RECEIPT, receipt_data(_object("receipt", receipt)))

    def ledger(self, ledger: Fields) -> None:
        """Record an exported evidence ledger."""
        self.event(kinds.LEDGER, {"ledger": _object("ledger", ledger)})

    def gate(self, report: Fields) -> None:
        """Record the report of a gate."""
        self.event(kinds.GATE_REPORT, {"report": _object("report", report)})

    def soak_trial(self, trial: Fields) -> None:
        """Record one trial of a soak."""
        self.event(kinds.SOAK_TRIAL, {"trial": _object("trial", trial)})

    def process_exited(self, code: int, **others: JsonValue) -> None:
        """Record that a command ended, with its exit code."""
        self.event(kinds.PROCESS_EXITED, {**others, "code": code})


def _without_none(**values: JsonValue) -> dict[str, JsonValue]:
    """Return the values that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def _object(name: str, value: Fields) -> dict[str, JsonValue]:
    """Return a mapping of any kind, such as `os.environ`, as a dict."""
    if not isinstance(value, Mapping):
        raise _record_error(name, f"it is not a mapping, but of the type {type(value).__name__}")
    return dict(value)


def _signals(reasons: Mapping[str, str]) -> dict[str, JsonValue]:
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
    return Recorder(path, described, now if clock is None else clock, input)
