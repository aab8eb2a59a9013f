"""Records a run as it happens: every event is on the disk before the run goes on.

    with affidavit.record("run.jsonl") as run:
        run.model_call("m-1", input=question, output=answer)

A run that is cut off by a crash has no `affidavit.run.finished`; it can be sealed all the same, and
says that it is unfinished.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from types import TracebackType

from affidavit.app.evidence import event_types as kinds
from affidavit.app.evidence.exact_receipts import receipt_data
from affidavit.app.evidence.run_log import entry_line, header_line
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import recordings as faults
from affidavit.base.files import append_line_durably
from affidavit.base.json_limits import JsonValue
from affidavit.packs.signals import REGISTRY
from affidavit.seal.bundle.drafting import Draft, Run

Clock = Callable[[], str]
Fields = Mapping[str, JsonValue]


class Recorder:
    """Writes the events of one run. A value that is not JSON is refused at the call, by field."""

    def __init__(self, path: Path, run: Run, clock: Clock, input: JsonValue = None) -> None:
        self.path = path
        self.run = run
        self._clock = clock
        self._input = input
        self._turn = Lock()
        self._is_open = False

    def __enter__(self) -> "Recorder":
        # Nothing is written before it is known that the first event can be.
        lines = (
            header_line(self.run),
            entry_line(Draft(kinds.RUN_STARTED, self._clock(), _given(input=self._input))),
        )
        self._claim()
        for line in lines:
            append_line_durably(self.path, line)
        self._is_open = True
        return self

    def _claim(self) -> None:
        """Make the file, which nobody has made; any other fault is met when it is written."""
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
        """Record any event. Types that begin with `affidavit.` are those of the table."""
        with self._turn:
            if not self._is_open:
                raise AffidavitError(faults.RECORD_CLOSED, Where(file=str(self.path)))
            line = entry_line(Draft(type, self._clock(), data, subject, personal_data, secrets))
            if type.startswith(kinds.PREFIX) and type not in _KNOWN:
                raise AffidavitError(faults.RECORD_TYPE, Where(field="type"), type=type)
            append_line_durably(self.path, line)
            self._is_open = type != kinds.RUN_FINISHED

    def finish(
        self,
        status: str = "ok",
        *,
        output: JsonValue = None,
        error: str | None = None,
        absent_signals: list[str] | None = None,
    ) -> None:
        """Record that the run ends; `absent_signals` are kinds of evidence that it had none of."""
        signals = None if absent_signals is None else _signals(absent_signals)
        data = _given(status=status, output=output, error=error, absent_signals=signals)
        self.event(kinds.RUN_FINISHED, data)

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
        """Record that a model was called, with what it was given and what it said."""
        settings = None if parameters is None else _object("parameters", parameters)
        said: dict[str, JsonValue] = {"model": model, "input": input, "output": output}
        self.event(
            kinds.MODEL_CALL, {**others, **_given(provider=provider, parameters=settings), **said}
        )

    def tool_call(
        self, tool: str, *, input: JsonValue, output: JsonValue, **others: JsonValue
    ) -> None:
        """Record that a tool was called, with what it was given and what it gave back."""
        self.event(kinds.TOOL_CALL, {**others, "tool": tool, "input": input, "output": output})

    def prompt(self, text: str, **others: JsonValue) -> None:
        """Record a prompt; `template` and `variables` say what it was made from."""
        self.event(kinds.PROMPT, {**others, "text": text})

    def retrieval(self, query: str, results: JsonValue, **others: JsonValue) -> None:
        """Record a search, with what it found."""
        self.event(kinds.RETRIEVAL, {**others, "query": query, "results": results})

    def seed(self, seed: int | str, generator: str | None = None) -> None:
        """Record the seed of a source of chance."""
        self.event(kinds.RNG_SEED, {"seed": seed, **_given(generator=generator)})

    def policy_decision(self, policy: str, decision: str, **others: JsonValue) -> None:
        """Record what a policy decided: `allow`, `deny` or what else it says."""
        self.event(kinds.POLICY_DECISION, {**others, "policy": policy, "decision": decision})

    def approval(self, approver: str, decision: str, **others: JsonValue) -> None:
        """Record what a person decided. Names are personal data, so the event is marked."""
        data = {**others, "approver": approver, "decision": decision}
        self.event(kinds.HUMAN_APPROVAL, data, personal_data=True)

    def environment(self, values: Fields) -> None:
        """Record where the run takes place: versions, system, settings."""
        self.event(kinds.ENVIRONMENT, {"values": _object("values", values)})

    def code_version(self, version: str, **others: JsonValue) -> None:
        """Record which code runs; `commit` and `digest` name it exactly."""
        self.event(kinds.CODE_VERSION, {**others, "version": version})

    def verdict(self, verdict: str, **others: JsonValue) -> None:
        """Record what was decided about the answer or the run."""
        self.event(kinds.VERDICT, {**others, "verdict": verdict})

    def check_run(self, check: Fields) -> None:
        """Record what `affidavit check` found."""
        self.event(kinds.CHECK_RUN, {"check": _object("check", check)})

    def receipt(self, receipt: Fields) -> None:
        """Record a signed receipt of an answer."""
        self.event(kinds.RECEIPT, receipt_data(_object("receipt", receipt)))

    def ledger(self, ledger: Fields) -> None:
        """Record an evidence ledger as it is exported."""
        self.event(kinds.LEDGER, {"ledger": _object("ledger", ledger)})

    def gate(self, report: Fields) -> None:
        """Record the report of a gate."""
        self.event(kinds.GATE_REPORT, {"report": _object("report", report)})

    def soak_trial(self, trial: Fields) -> None:
        """Record one trial of a soak."""
        self.event(kinds.SOAK_TRIAL, {"trial": _object("trial", trial)})


_KNOWN = frozenset(each.name for each in kinds.TYPES)


def _given(**values: JsonValue) -> dict[str, JsonValue]:
    """Return the values that were given."""
    return {name: value for name, value in values.items() if value is not None}


def _object(name: str, value: Fields) -> dict[str, JsonValue]:
    """Return the members of a mapping of any kind, such as `os.environ`."""
    if not isinstance(value, Mapping):
        raise _refused(name, f"it is not a mapping, but of the type {type(value).__name__}")
    return dict(value)


def _signals(names: list[str]) -> list[JsonValue]:
    """Return the signals that a run says it had none of; a name that is not known says nothing."""
    for name in names:
        if name not in REGISTRY:
            raise _refused("absent_signals", f"no signal is called {name!a}; see docs/signals.md")
    return list(names)


def _refused(name: str, problem: str) -> AffidavitError:
    return AffidavitError(faults.RECORD_VALUE, Where(field=f"data.{name}"), problem=problem)
