"""Checks the answers of a file of rows. A second run resumes where the first one stopped.

The results file has one line per finished answer. The line carries a key of everything that
determines it (the answer, sources, judge and rules); a line with another key is outdated and is
made again.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import Struct, structs

from affidavit.app.check import (
    CheckContext,
    CheckPlan,
    build_check_context,
    check_answer,
    require_documents,
)
from affidavit.app.gate_inputs import BadLines
from affidavit.app.groundedness import MemoryJudge
from affidavit.app.judges import JudgeChoice, is_counted, judge_for
from affidavit.app.project import Project
from affidavit.base.canonical import jcs
from affidavit.base.digest import content_id, sha256_hex
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.exits import Exit, worst_exit
from affidavit.base.faults import evidence as faults
from affidavit.base.faults import gates as gate_faults
from affidavit.base.files import append_line_durably, open_to_read, read_bounded
from affidavit.base.json_values import JsonLimits, JsonValue
from affidavit.base.strict_json import decode, read_lines, split_lines
from affidavit.base.validation import problem_and_field
from affidavit.decision.decision import Decision
from affidavit.documents.passages import PassageIndex
from affidavit.engine.local import LocalRunner, Runner
from affidavit.gates.groundedness import RetrievedContext
from affidavit.judge.thresholded import with_thresholds
from affidavit.ledger.adjudication import CheckRequest
from affidavit.ledger.record import SCHEMA, ledger_to_json
from affidavit.ledger.rules import rules_digest
from affidavit.reports.ledger_text import BatchOutcome, batch_outcome

# The rows of a batch: answers with their sources, from our own JSON lines or another tool's file.
#
# A row of ours is `{id, answer, query?, date?}` with either `sources`, which are paths, or the
# texts themselves, as `contexts`, `retrieved_contexts` or `documents`. A text and a path are never
# told apart by their content: an element of `sources` is a path if it is a string, and a text if
# it is an object that has one.

ROW_ENDINGS: Final = (".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".arrow")
"""Files of rows; any other file is one answer."""
_ROW_OR_ANSWER_ENDINGS: Final = (".json", ".eval", ".xlsx")
"""Files that are rows unless documents are given as the sources of one answer."""
_PACKED_ENDINGS: Final = (".gz", ".zst", ".xz", ".bz2")
_LINE_ENDINGS: Final = (".jsonl", ".ndjson")
_LIMITS: Final = JsonLimits(max_bytes=64 * 1024 * 1024, max_string=64 * 1024 * 1024)
_TEXT_NAMES: Final = ("contexts", "retrieved_contexts", "documents")


class BatchRow(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An answer, and its own sources or contexts if they differ from the common sources."""

    id: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    answer: str
    query: str | None = None
    sources: tuple[str, ...] | None = None
    """Paths, relative to the folder of the file."""
    date: str | None = None
    contexts: tuple[RetrievedContext, ...] | None = None
    """Texts, which are the sources of this answer."""


_NAMES: Final = frozenset((*BatchRow.__struct_fields__, *_TEXT_NAMES))


def is_row_file(path: Path, *, has_sources: bool = False) -> bool:
    """Tell from its name whether a file has rows, and is not one answer."""
    name = path.name.lower()
    for ending in _PACKED_ENDINGS:
        name = name.removesuffix(ending)
    return name.endswith(ROW_ENDINGS if has_sources else (*ROW_ENDINGS, *_ROW_OR_ANSWER_ENDINGS))


class BatchRows:
    """The rows of a file, read again each time: texts of many rows would fill the memory."""

    def __init__(self, path: Path, columns: Mapping[str, str], *, skip_bad: bool) -> None:
        self._path = path
        self._columns = columns
        self._skip_bad = skip_bad
        self.bad = BadLines(skip_bad)
        """The lines that are not rows."""
        self._count = sum(1 for _ in self._read(self.bad))
        if not self._count:
            raise AffidavitError(faults.BATCH_EMPTY, Where(file=str(path)))

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[BatchRow]:
        return self._read(BadLines(self._skip_bad))

    def _read(self, bad: BadLines) -> Iterator[BatchRow]:
        first_line: dict[str, int] = {}
        for line, row in self._rows(bad):
            if row.id in first_line:
                where = Where(str(self._path), line, "id")
                first = first_line[row.id]
                raise AffidavitError(faults.BATCH_ID_TWICE, where, id=row.id, first=first)
            first_line[row.id] = line
            yield row

    def _rows(self, bad: BadLines) -> Iterator[tuple[int, BatchRow]]:
        if self._is_own():
            yield from _own_rows(self._path, bad)
        else:
            yield from _imported_rows(self._path, self._columns, bad)

    def _is_own(self) -> bool:
        """Tell whether the rows are ours, or of no tool, so that our errors say what is wrong."""
        if self._columns or not self._path.name.lower().endswith(_LINE_ENDINGS):
            return False
        with open_to_read(self._path) as stream:
            first = next(
                (line for line in read_lines(stream, _LIMITS.max_bytes) if line.strip()), b""
            )
        # What is not strict JSON (a byte order mark, NaN) may be what another tool writes.
        value = None
        with suppress(AffidavitError):
            value = decode(first.strip(), _LIMITS)
        names = value.keys() if isinstance(value, dict) else set()
        if "id" in names and names <= _NAMES:
            return True
        from affidavit.importers.reader import detect

        try:
            detect(self._path)
        except AffidavitError as error:
            if names and not names & _NAMES and error.fault is gate_faults.IMPORT_UNKNOWN:
                raise  # It names the columns to map.
            return error.fault is gate_faults.IMPORT_UNKNOWN
        return False


def read_batch_rows(
    path: Path, columns: Mapping[str, str] | None = None, *, skip_bad: bool = False
) -> BatchRows:
    """Return the rows of a file, all of them valid. Every row must have its own id.

    `columns` maps our names to the file's columns. With `skip_bad`, lines that are not rows are
    counted, and the others are rows.
    """
    return BatchRows(path, columns or {}, skip_bad=skip_bad)


def _own_rows(path: Path, bad: BadLines) -> Iterator[tuple[int, BatchRow]]:
    with open_to_read(path) as stream:
        lines = read_lines(stream, _LIMITS.max_bytes)
        try:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                try:
                    yield number, _own_row(decode(line.strip(), _LIMITS, number), number)
                except AffidavitError as error:
                    bad(error.at(file=str(path), line=number))
        except AffidavitError as error:
            raise error.at(file=str(path)) from None


def _own_row(value: JsonValue, number: int) -> BatchRow:
    if isinstance(value, dict):
        value = _with_contexts(value, number)
    try:
        return msgspec.convert(value, BatchRow)
    except msgspec.ValidationError as error:
        problem, field = problem_and_field(error)
        raise _malformed(problem, number, field) from None


def _with_contexts(value: dict[str, JsonValue], number: int) -> dict[str, JsonValue]:
    """Return a row whose texts are under `contexts`; it has one list of sources, of one kind."""
    named = [name for name in _TEXT_NAMES if value.get(name) is not None]
    sources = value.get("sources")
    if isinstance(sources, list) and any(isinstance(each, dict) for each in sources):
        named.append("sources")
    if len(named) > 1 or (named and named != ["sources"] and sources is not None):
        both = " and ".join(dict.fromkeys([*named, *(["sources"] if sources is not None else [])]))
        raise _malformed(f"it has both {both}", number, named[0])
    rest = {name: each for name, each in value.items() if name not in (*_TEXT_NAMES, *named)}
    if named:
        rest["contexts"] = [*_contexts_in(value[named[0]], named[0], number)]
    return rest


def _contexts_in(value: JsonValue, name: str, number: int) -> Iterator[dict[str, JsonValue]]:
    from affidavit.importers.fields import chunk_from
    from affidavit.importers.tool_format import RowProblem

    if not isinstance(value, list):
        raise _malformed("a list of texts is needed", number, name)
    for each in value:
        try:
            chunk = chunk_from(each, name)
        except RowProblem as problem:
            raise _malformed(problem.problem, number, problem.name) from None
        if chunk.text is None or (name == "sources" and isinstance(each, str)):
            raise _malformed("every element needs a text", number, name)
        yield {"text": chunk.text, "id": chunk.id}


def _imported_rows(
    path: Path, columns: Mapping[str, str], bad: BadLines
) -> Iterator[tuple[int, BatchRow]]:
    """Yield the rows of another tool's file; a question that is asked again is `qid#2`."""
    from affidavit.app.gate_rag_traces import contexts_of
    from affidavit.gates.rag_rows import qid_of, trace_from_value
    from affidavit.importers.reader import read_rows

    asked: dict[str, int] = {}
    for row in read_rows(path, role="trace", on_bad=bad, columns=columns):
        try:
            trace = row.trace and trace_from_value(row.trace, row.line, str(path))
            if not trace or trace.answer_json is None:
                raise _malformed("it has no answer", row.line, "answer").at(file=str(path))
        except AffidavitError as error:
            bad(error)
            continue
        qid = qid_of(trace)
        number = asked[qid] = asked.get(qid, 0) + 1
        yield (
            row.line,
            BatchRow(
                id=qid if number == 1 else f"{qid}#{number}",
                answer=trace.answer_json.claim,
                query=str((row.trace or {}).get("q") or "") or None,
                contexts=contexts_of(row, trace),
            ),
        )


def _malformed(problem: str, line: int, field: str | None) -> AffidavitError:
    return AffidavitError(faults.BATCH_ROW, Where(line=line, field=field), problem=problem)


MAX_BATCH_BYTES: Final = 1024 * 1024 * 1024
_RESULT_LINE_START: Final = b'{"id":"'
"""Every line of a results file begins like this."""


class BatchItem(Struct, frozen=True):
    """A row with the key of everything that determines its outcome."""

    row: BatchRow
    key: str


def finished_outcomes(path: Path) -> Mapping[str, BatchOutcome]:
    """Return the outcomes in a results file by id."""
    if not path.exists():
        return {}
    outcomes: dict[str, BatchOutcome] = {}
    for line in split_lines(read_bounded(path, MAX_BATCH_BYTES)):
        try:
            outcome = msgspec.json.decode(line, type=BatchOutcome)
        except msgspec.DecodeError:
            # A crash while writing leaves the start of a line; its answer is checked again.
            if line.startswith(_RESULT_LINE_START[: len(line)]):
                continue
            raise AffidavitError(faults.RESULTS_FOREIGN, Where(file=str(path))) from None
        outcomes[outcome.id] = outcome
    return outcomes


def run_batch(
    items: Iterable[BatchItem],
    results: Path,
    check: Callable[[Iterable[BatchItem]], Iterator[BatchOutcome]],
    is_valid: Callable[[BatchItem, BatchOutcome], bool],
) -> Iterator[BatchOutcome]:
    """Yield an outcome per item, in order; finished ones come from the results file.

    A finished line counts only if its key is current, it has no error, and `is_valid` accepts it.
    """
    known = finished_outcomes(results)
    waiting: deque[BatchOutcome | None] = deque()

    def fresh() -> Iterator[BatchItem]:
        for item in items:
            outcome = known.get(item.row.id)
            is_done = (
                outcome is not None
                and (outcome.key, outcome.error) == (item.key, None)
                and is_valid(item, outcome)
            )
            waiting.append(outcome if is_done else None)
            if not is_done:
                yield item

    for outcome in check(fresh()):
        while (finished := waiting.popleft()) is not None:
            yield finished
        append_line_durably(results, msgspec.json.encode(outcome))
        yield outcome
    yield from (finished for finished in waiting if finished is not None)


def failed_outcome(item: BatchItem, error: AffidavitError) -> BatchOutcome:
    """Return the line of an answer that could not be checked: not measured, so inconclusive."""
    return BatchOutcome(
        id=item.row.id, key=item.key, decision=Decision.INCONCLUSIVE, error=str(error)
    )


def batch_exit(outcomes: Iterable[BatchOutcome], skipped: int = 0) -> Exit:
    """Return the exit code of a batch: one answer that must not ship is enough for a no.

    A line that was skipped was not checked, so the batch is not a yes.
    """
    left_out = (Exit.UNKNOWN,) if skipped else ()
    return worst_exit((*(outcome.decision.exit for outcome in outcomes), *left_out))


@lru_cache(maxsize=8)
def _process_context(plan: CheckPlan) -> CheckContext:
    return build_check_context(structs.replace(plan, jobs=0 if plan.jobs > 1 else plan.jobs))


@lru_cache(maxsize=8)
def _process_memory(choice: JudgeChoice, project: Project) -> MemoryJudge:
    """Return the judge of rows with contexts: the same claims are read once."""
    return MemoryJudge(judge_for(choice, project), None)


class BatchChecker(Struct, frozen=True):
    """Checks rows of a batch, in any process."""

    plan: CheckPlan
    folder: Path
    """The folder of the batch file: a row names its sources relative to it."""
    generated_at: str

    def outcomes(
        self, rows: Iterable[BatchRow], results: Path, run: Runner
    ) -> Iterator[BatchOutcome]:
        """Yield an outcome per row, in order; new ones and their ledgers are stored."""
        items = (BatchItem(row, self.key(row)) for row in rows)
        run = LocalRunner() if is_counted(self.plan.judge) else run
        return run_batch(
            items, results, lambda fresh: self._stored(run(self, fresh)), self.is_valid
        )

    def _stored(self, checked: Iterable["CheckedAnswer"]) -> Iterator[BatchOutcome]:
        # Stored by this process: on Spark, the workers have other disks.
        for outcome, ledger in checked:
            if ledger is not None:
                self.plan.project.sessions.save(outcome.session_id or "", ledger)
            yield outcome

    def key(self, row: BatchRow) -> str:
        """Return the key of everything that determines the outcome of a row, except the time.

        It is empty for a row whose sources cannot be read: such a row fails, and is tried again.
        """
        try:
            context, _ = self.context_for(row)
        except AffidavitError:
            return ""
        content = {
            "row": {"answer": row.answer, "query": row.query, "date": row.date},
            "sources": sorted(each.digest for each in context.index.documents),
            "judge": context.judge.identity.digest,
            "rules": rules_digest(context.rules),
            "schema": SCHEMA,
            "top_k": context.top_k,
        }
        return content_id("key", jcs(content))

    def plan_for(self, row: BatchRow) -> CheckPlan:
        """Return the plan of a row, with its own sources if it names some."""
        if row.sources is None:
            return self.plan
        return structs.replace(self.plan, sources=tuple(self.folder / each for each in row.sources))

    def context_for(self, row: BatchRow) -> tuple[CheckContext, tuple[str, ...]]:
        """Return what a row is checked with, and the names that `[1]`, `[2]` in it stand for."""
        if row.contexts is None:
            return _process_context(self.plan_for(row)), row.sources or ()
        index = PassageIndex(
            [context.text for context in row.contexts], [context.id for context in row.contexts]
        )
        rules = self.plan.rules
        memory = _process_memory(self.plan.judge, self.plan.project)
        memory.fresh.clear()
        judge = with_thresholds(memory, rules.judge_thresholds)
        context = CheckContext(index, judge, rules, self.plan.top_k)
        return context, tuple(index.names)

    def request_for(self, row: BatchRow, numbered_sources: tuple[str, ...]) -> CheckRequest:
        """Return the request of a row."""
        return CheckRequest(
            answer=row.answer,
            query=row.query,
            title=row.query or row.id,
            answer_date=row.date or self.generated_at[:10],
            generated_at=self.generated_at,
            numbered_sources=numbered_sources,
        )

    def requests(self, rows: Iterable[BatchRow]) -> Iterator[tuple[CheckRequest, CheckContext]]:
        """Yield the requests of the rows whose sources can be read, each with its context."""
        for row in rows:
            with suppress(AffidavitError):
                context, names = self.context_for(row)
                yield self.request_for(row, names), context

    def is_valid(self, item: BatchItem, outcome: BatchOutcome) -> bool:
        """Tell whether a finished line agrees with its stored, unchanged ledger."""
        try:
            ledger = self.plan.project.ledger(outcome.session_id or "")
        except AffidavitError:
            return False
        return batch_outcome(item.row.id, item.key, ledger) == outcome

    def __call__(self, item: BatchItem) -> "CheckedAnswer":
        """Check a row. An error is an outcome: the others go on."""
        try:
            context, names = self.context_for(item.row)
            if item.row.contexts is None:
                if item.row.sources is None and not self.plan.sources:
                    raise AffidavitError(faults.ROW_WITHOUT_SOURCES)
                require_documents(context)
            ledger = check_answer(self.request_for(item.row, names), context)
        except AffidavitError as error:
            return CheckedAnswer(failed_outcome(item, error))
        outcome = batch_outcome(item.row.id, item.key, ledger)
        return CheckedAnswer(outcome, ledger_to_json(ledger))


class CheckedAnswer(NamedTuple):
    """The outcome of an answer, and its ledger as it is stored, if it has one."""

    outcome: BatchOutcome
    ledger: bytes | None = None


def default_results_file(plan: CheckPlan, file: Path) -> Path:
    """Return the results file of a batch in the project."""
    return plan.project.batch(sha256_hex(str(file.resolve()).encode())[:16])
