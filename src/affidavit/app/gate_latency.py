"""`gate latency`: latencies from JSON lines or CSV, with the accuracy of each configuration."""

import csv
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Annotated, Final

from msgspec import UNSET, Meta

from affidavit.app.gate_inputs import (
    BLOCK_BYTES,
    BadLines,
    GatePlan,
    InputLines,
    LineBlock,
    Name,
    Names,
    OnBadLine,
    digest_of_files,
    files_named,
    listed,
    read_stored_report,
    shown_name,
)
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import gates as faults
from affidavit.base.files import digest_file, open_to_read
from affidavit.base.strict_json import decode, split_lines
from affidavit.base.text import excerpt
from affidavit.decision.decision import Decision, GateStatus
from affidavit.decision.evaluation import Correction, decide
from affidavit.decision.gate import Gate, override_gates, parse_number
from affidavit.decision.report import Report, ReportInput
from affidavit.gates import metrics
from affidavit.gates.comparison import Accuracy, accuracy_from_report, release_from_report
from affidavit.gates.latency import (
    MAX_P95_INCREASE,
    MAX_PRECISION_DROP,
    STAGES,
    Configuration,
    LatencyCounts,
    LatencyRow,
    RollbackGuard,
    find_tradeoff,
    latencies_from_chunk,
    latency_counts,
    latency_from_value,
    latency_report,
    untimed,
)
from affidavit.gates.metrics import LATENCY_GATES
from affidavit.gates.report import Tradeoff
from affidavit.importers.containers import delimiter_of
from affidavit.importers.reader import detect, read_rows
from affidavit.importers.tool_format import ToolName

# JSON lines or CSV, recognised by the first character of a file. The CSV is that of the latency
# page: a header with `e2e_ms`, stages, and `knobs` as JSON. Its writer repeats the header before
# every run that it appends, so a repeated header is skipped.

_NUMBERS: Final = frozenset({"e2e_ms", "rps", *STAGES})
_TEXTS: Final = frozenset({"qid", "config", "fault"})


def read_latencies(lines: InputLines, bad: OnBadLine) -> Iterator[LatencyRow]:
    """Yield the rows of all files, and count them."""
    table: _CsvTable | None = None
    for block in lines.blocks():
        if block.first_line == 1:
            table = None if _is_json(block.raw) else _CsvTable(block.file, bad)
        rows = (
            (row for _, row in latencies_from_chunk(block.raw, block.first_line, block.file, bad))
            if table is None
            else table.rows(block)
        )
        for row in rows:
            lines.rows_read += 1
            yield row


def _is_json(raw: bytes) -> bool:
    """Tell whether a file is JSON lines; a byte order mark is skipped, and an empty file is."""
    return raw.removeprefix(BOM_UTF8).lstrip()[:1] in (b"{", b"")


# Files of other tools, where they record how long an answer took.

_TIMED: Final = frozenset(
    {
        ToolName.PROMPTFOO,
        ToolName.INSPECT,
        ToolName.LANGFUSE,
        ToolName.OPENINFERENCE,
        ToolName.GEN_AI,
    }
)


def _is_of_a_tool(name: str) -> bool:
    """Tell whether a file is one of another tool that records latencies."""
    try:
        if not Path(name).is_file():  # A pipe can be read only once.
            return False
        with open_to_read(name) as stream:
            is_ours = b"e2e_ms" in stream.readline(BLOCK_BYTES)
        return not is_ours and detect(name) in _TIMED
    except (AffidavitError, OSError, ValueError):  # Read as ours, which reports each bad line.
        return False


@dataclass(slots=True)
class _ToolFiles:
    """The files of other tools; after they were read, their rows and what is doubtful."""

    names: tuple[str, ...]
    bad: BadLines
    doubts: list[str] = field(default_factory=list)
    rows: int = 0

    def read(self) -> Iterator[LatencyRow]:
        """Yield a row for each answer; a question without an answer has no latency."""
        for name in self.names:
            shown = shown_name(name)
            for row in read_rows(
                name, role="trace", on_bad=self.bad, on_doubt=self.doubts.append, shown=shown
            ):
                if row.trace is None:
                    continue
                self.rows += 1
                if row.trace["answer_json"] is None:
                    yield LatencyRow(fault="no answer")
                elif row.latency_ms is None:
                    self.bad(untimed(row.line, shown))
                else:
                    yield LatencyRow(e2e_ms=row.latency_ms)

    def as_input(self) -> ReportInput:
        return ReportInput(
            path=", ".join(map(shown_name, self.names)),
            digest=digest_of_files([digest_file(name) for name in self.names]),
            rows=self.rows,
            skipped=self.bad.count,
            skipped_lines=self.bad.described() or UNSET,
        )


class _CsvTable:
    """A CSV file: its header, its delimiter, and the rows of each block.

    Spreadsheets write semicolons or tabs in locales that use decimal commas.
    """

    def __init__(self, file: str, bad: OnBadLine) -> None:
        self._file = file
        self._bad = bad
        self._head: list[str] | None = None
        self._delimiter = ""

    def rows(self, block: LineBlock) -> Iterator[LatencyRow]:
        for line, raw in enumerate(split_lines(block.raw), block.first_line):
            if not raw.strip():
                continue
            try:
                cells = self._cells(raw.decode("utf-8-sig" if line == 1 else "utf-8"), line)
                if self._head is None:
                    self._head = self._known_head(cells, line)
                elif [cell.strip() for cell in cells] != self._head:
                    yield latency_from_value(self._fields(cells, line), line, self._file)
            except UnicodeDecodeError:
                self._bad(self._wrong("the line is not text in UTF-8", line))
            except AffidavitError as error:
                self._bad(error)

    def _cells(self, text: str, line: int) -> list[str]:
        if self._head is None and text.startswith("["):
            raise self._wrong("it begins a list; write one object on each line instead", line)
        self._delimiter = self._delimiter or delimiter_of(text.encode())
        try:
            return next(csv.reader([text], delimiter=self._delimiter, strict=True))
        except csv.Error as error:
            raise self._wrong(f"the line is not CSV: {error}", line) from None

    def _known_head(self, cells: list[str], line: int) -> list[str]:
        names = [cell.strip() for cell in cells]
        twice = next((name for name in names if name and names.count(name) > 1), None)
        if twice is not None:
            raise self._wrong("two columns have this name", line, excerpt(twice))
        if "e2e_ms" not in names:
            found = excerpt(", ".join(names))
            raise self._wrong(f"the file has no column e2e_ms; its columns are {found}", line)
        return names

    def _fields(self, cells: list[str], line: int) -> dict[str, object]:
        head = self._head or []
        if len(cells) != len(head):
            raise self._wrong(f"the line has {len(cells)} cells, and the head {len(head)}", line)
        fields: dict[str, object] = {}
        for name, cell in zip(head, cells, strict=True):
            text = cell.strip()
            if text and name in _NUMBERS:
                fields[name] = self._number(text, name, line)
            elif text and name in _TEXTS:
                fields[name] = text
            elif text and name == "knobs":
                fields[name] = self._knobs(text, line)
        return fields

    def _number(self, text: str, name: str, line: int) -> float:
        number = parse_number(text)
        if number is None:
            raise self._wrong(f"{excerpt(text)!r} is not a number", line, name)
        return number

    def _knobs(self, text: str, line: int) -> object:
        try:
            return decode(text.encode())
        except AffidavitError as error:
            raise self._wrong(error.message, line, "knobs") from None

    def _wrong(self, problem: str, line: int, field: str | None = None) -> AffidavitError:
        where = Where(file=self._file, line=line, field=field)
        return AffidavitError(faults.LATENCY_ROW, where, problem=problem)


class LatencyPlan(GatePlan, frozen=True, kw_only=True):
    """`[gates.latency]`.

    `accuracy` is a report of `gate rag`, or one for each configuration; the name None stands for
    the release as a whole.
    """

    PATHS = ("rows", "accuracy")

    rows: Names
    rps: Annotated[float, Meta(gt=0, le=1e9)] | None = None
    accuracy: Name | dict[str | None, Name] | None = None
    slower_by: Annotated[float, Meta(ge=0, le=1e9)] = MAX_P95_INCREASE
    worse_by: Annotated[float, Meta(ge=0, le=1)] = MAX_PRECISION_DROP

    @property
    def reports(self) -> dict[str | None, str]:
        """The reports of `gate rag` by configuration."""
        named = self.accuracy
        return {None: named} if isinstance(named, str) else named or {}


def gate_latency(plan: LatencyPlan) -> Report:
    """Return the report of latencies."""
    last = plan.fail_on_regression
    before = None if last is None else release_from_report(read_stored_report(last), last)
    known = {
        name: accuracy_from_report(read_stored_report(path), path)
        for name, path in plan.reports.items()
    }
    bad, overrides = BadLines(plan.skip_bad), listed(plan.gates)
    files = files_named(listed(plan.rows))
    of_tools = tuple(filter(_is_of_a_tool, files))
    own = [name for name in files if name not in of_tools]
    tools = _ToolFiles(of_tools, BadLines(plan.skip_bad))
    lines = InputLines("latency", own if of_tools else listed(plan.rows), bad)
    counts = latency_counts(chain(read_latencies(lines, bad), tools.read()), plan.rps)
    inputs = {
        **({lines.role: lines.as_input()} if own else {}),
        **({"results": tools.as_input()} if of_tools else {}),
    }
    whole = known.pop(None, None)
    precision = None if whole is None else whole.precision
    now = Configuration("this", counts.everything.figures["p95_ms"].value, precision)
    return latency_report(
        counts,
        {**inputs, **_accuracy_inputs(plan)},
        overrides=overrides,
        correction=plan.correction,
        tradeoff=_tradeoff(counts, known, overrides, plan.correction) if known else None,
        releases=None if before is None else (before, now),
        guard=RollbackGuard(plan.slower_by, plan.worse_by),
        precision=precision,
        refusals=_accuracy_reasons(whole, Decision.NO_SHIP),
        doubts=(*tools.doubts, *_accuracy_reasons(whole, Decision.INCONCLUSIVE)),
    )


def _accuracy_inputs(plan: LatencyPlan) -> dict[str, ReportInput]:
    return {
        "accuracy" if name is None else f"accuracy of {name}": ReportInput(
            path=shown_name(path), digest=digest_file(path), rows=1
        )
        for name, path in plan.reports.items()
    }


def _accuracy_reasons(accuracy: Accuracy | None, decision: Decision) -> tuple[str, ...]:
    if accuracy is None or accuracy.decision is not decision:
        return ()
    words = decision.value.replace("_", "-")
    return (f"the accuracy that goes with these latencies is {words}",)


def _tradeoff(
    counts: LatencyCounts,
    known: dict[str | None, Accuracy],
    overrides: Iterable[str],
    correction: Correction | None,
) -> Tradeoff:
    """Return the trade-off over all configurations that have a latency or an accuracy."""
    gates = override_gates(overrides, LATENCY_GATES, metrics.LATENCY_METRICS)
    measured = {name for kind, name in counts.parts if kind == "config"}
    names = measured | {name for name in known if name is not None}
    return find_tradeoff(
        _configuration(name, counts, known.get(name), gates, correction) for name in sorted(names)
    )


def _configuration(
    name: str,
    counts: LatencyCounts,
    accuracy: Accuracy | None,
    gates: tuple[Gate, ...],
    correction: Correction | None,
) -> Configuration:
    """Return one configuration: interactive use needs all gates, batch use the accuracy."""
    measures = counts.of_config(name).figures
    is_right = accuracy is not None and accuracy.decision is Decision.SHIP
    # A gate on one load is about all configurations and has no figure for a single one.
    own = (gate for gate in gates if gate.part is None)
    made = decide(own, measures, correction=correction)
    is_quick = all(result.status is GateStatus.PASSED for result in made.results)
    return Configuration(
        name,
        measures["p95_ms"].value,
        None if accuracy is None else accuracy.precision,
        passes=is_right and is_quick,
        passes_relaxed=is_right,
        p99_ms=measures["p99_ms"].value,
        chr=None if accuracy is None else accuracy.chr,
    )
