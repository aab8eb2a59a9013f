"""`assert_gate` and `assert_grounded`: the gates and the ledger as assertions of a test."""

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from affidavit.pytest_plugin.results import one_line_errors, record_result

if TYPE_CHECKING:
    from affidavit.decision.report import Report
import atexit
import shutil
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from affidavit.ledger.record import Ledger, LedgerEntry

# `assert_gate`: the RAG gates over a gold set and traces, as a test.

Rows = str | Path | Iterable[str | Path] | Iterable[Mapping[str, Any]]
"""A file, several files, or the rows themselves."""


def assert_gate(
    *,
    trace: Rows,
    gold: Rows | None = None,
    gates: str | Iterable[str] = (),
    **settings: Any,
) -> "Report":
    """Decide from a gold set and traces, and fail unless the decision is to ship.

    `gates` and `settings` (k, refusal, scu_enforced, allow_missing, expect_gold_digest, baseline)
    are what the options of `affidavit gate rag` are. Returns the report.
    """
    __tracebackhide__ = True
    with one_line_errors("gate"), _rows_folder() as scratch:
        from affidavit.app.gate_rag import RagPlan, gate_rag

        report = gate_rag(
            RagPlan(
                () if gold is None else row_files(gold, scratch / "gold.jsonl"),
                row_files(trace, scratch / "trace.jsonl"),
                (gates,) if isinstance(gates, str) else tuple(gates),
                **settings,
            )
        )
    record_result("gate", report.ruling.decision.value, report.ruling.reasons)
    if report.ruling.decision.value != "ship":
        raise AssertionError("\n".join(_gate_explanation(report)))
    return report


@contextmanager
def _rows_folder() -> Iterator[Path]:
    """Give a folder for rows; an error names them and not a file that is gone when it is read."""
    from affidavit.base.errors import AffidavitError

    with tempfile.TemporaryDirectory(prefix="affidavit-pytest-") as name:
        try:
            yield Path(name)
        except AffidavitError as error:
            file = Path(error.where.file or "")
            if file.parent != Path(name):
                raise
            where = replace(error.where, file=f"the rows of {file.stem}")
            raise AffidavitError(error.fault, where, **error.values) from None


def row_files(rows: Rows, place: Path) -> tuple[str, ...]:
    """Return the files that are named, or the file that the rows were written to."""
    if isinstance(rows, str | Path):
        return (str(rows),)
    given = tuple(rows)
    if given and all(isinstance(each, str | Path) for each in given):
        return tuple(map(str, given))
    place.write_bytes(b"".join(_json_lines(given, place)))
    return (str(place),)


def _json_lines(rows: Iterable[object], place: Path) -> Iterator[bytes]:
    import msgspec

    from affidavit.base.errors import AffidavitError, Where
    from affidavit.base.faults import gates as faults

    for number, row in enumerate(rows, 1):
        try:
            yield msgspec.json.encode(row) + b"\n"
        except (TypeError, UnicodeEncodeError, RecursionError) as error:
            fault = faults.GOLD_ROW if place.stem == "gold" else faults.TRACE_ROW
            problem = f"JSON cannot hold it ({error})"
            raise AffidavitError(fault, Where(str(place), number), problem=problem) from None


def _gate_explanation(report: "Report") -> Iterator[str]:
    from affidavit.decision.stored_report import parse_report
    from affidavit.reports import gate_wording
    from affidavit.reports.gate_tables import offender_table

    made = parse_report(report.as_wire())
    yield f"the gate does not pass: {gate_wording.headline(made).lower()}"
    yield from (f"  because {reason}" for reason in made.reasons)
    offenders = offender_table(made)
    for row in () if offenders is None else offenders.rows:
        question, wrong, answer, passages = row.cells
        yield f"  {question}"
        yield f'      {wrong}: "{answer}"'
        yield f"      {passages}"
    yield from (f"  warning: {text}" for text in made.warnings)
    yield from (f"  next: {step.do}" for step in made.next_steps)


# `assert_grounded`: every claim of an answer rests on its sources, or the test fails and says why.
#
# The use case is that of `affidavit check`; a test that passes here passes there.

Source = str | Path
_MAX_CLAIMS: Final = 10


def assert_grounded(
    answer: str,
    sources: Source | Iterable[Source],
    *,
    query: str | None = None,
    judge: str | None = None,
    rules: Path | None = None,
    gates: str | Iterable[str] = (),
    top_k: int = 8,
    at: str | None = None,
) -> "Ledger":
    """Check an answer against its sources, and fail unless the decision is to ship.

    A source is a path (of a document or a folder), or a text. `judge`, `rules` and `gates` are
    what the options of `affidavit check` are. Returns the ledger, for closer assertions.
    """
    __tracebackhide__ = True
    with one_line_errors("grounded"):
        ledger = _ledger_of(
            answer,
            (sources,) if isinstance(sources, str | Path) else tuple(sources),
            query=query,
            judge=judge,
            rules=rules,
            gates=(gates,) if isinstance(gates, str) else tuple(gates),
            top_k=top_k,
            at=at,
        )
    decision = ledger.gates.decision
    record_result("grounded", decision.value, ledger.gates.reasons)
    if decision.value != "ship":
        raise AssertionError("\n".join(_ledger_explanation(ledger)))
    return ledger


def _ledger_of(
    answer: str,
    sources: tuple[Source, ...],
    *,
    query: str | None,
    judge: str | None,
    rules: Path | None,
    gates: tuple[str, ...],
    top_k: int,
    at: str | None,
) -> "Ledger":
    from affidavit.app import check
    from affidavit.app.check import CheckRequest, check_answer
    from affidavit.app.clock import time_of
    from affidavit.app.judges import judge_named
    from affidavit.app.project import Project
    from affidavit.base.errors import AffidavitError
    from affidavit.base.faults import evidence as faults

    if not answer.strip():
        raise AffidavitError(faults.ANSWER_EMPTY)
    generated_at = time_of(at)
    scratch = _index_folder()
    plan = check.CheckPlan(
        Project(scratch),
        tuple(
            source_path(source, number, scratch) for number, source in enumerate(sources, start=1)
        ),
        check.ledger_rules_for(rules, gates),
        top_k,
        judge=judge_named(judge),
    )
    bench = check.build_check_context(plan)
    check.require_documents(bench)
    title = query or "An answer under test"
    asked = CheckRequest(answer, query, title, generated_at[:10], generated_at)
    return check_answer(asked, bench)


@cache
def _index_folder() -> Path:
    """Return a folder of this process for indexes; it goes when the process ends."""
    folder = tempfile.mkdtemp(prefix="affidavit-pytest-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def source_path(source: Source, number: int, scratch: Path) -> Path:
    """Return a source as a path; a text becomes a file, the same for the same text.

    A text that names a file that is there, in one word or one line, is a path.
    """
    if isinstance(source, Path):
        return source
    if "\n" not in source and len(source) < 1000 and "\0" not in source and Path(source).exists():
        return Path(source)
    from affidavit.base.digest import digest_of
    from affidavit.base.files import write_atomically

    data = source.encode("utf-8", "backslashreplace")
    folder = scratch / "texts" / digest_of(data).removeprefix("sha256:")[:16]
    path = folder / f"source {number}.txt"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(path, data)
    return path


def _ledger_explanation(ledger: "Ledger") -> Iterator[str]:
    from affidavit.ledger.model import Verdict
    from affidavit.reports.ledger_wording import LEDGER_DECISION_NAMES

    counts = ledger.summary.by_verdict
    yield f"the answer is not grounded: {LEDGER_DECISION_NAMES[ledger.gates.decision].lower()}"
    yield from (f"  because {reason}" for reason in ledger.gates.reasons)
    yield (
        f"  of the claims {counts.supported} supported, {counts.weak} weak,"
        f" {counts.contradicted} contradicted, {counts.not_found} not found"
    )
    doubtful = [entry for entry in ledger.entries if entry.verdict is not Verdict.SUPPORTED]
    for entry in doubtful[:_MAX_CLAIMS]:
        yield from _claim(entry)
    if len(doubtful) > _MAX_CLAIMS:
        yield f"  and {len(doubtful) - _MAX_CLAIMS} more claims"


def _claim(entry: "LedgerEntry") -> Iterator[str]:
    from affidavit.ledger.labels import full_place, verdict_label

    yield f'  {verdict_label(entry.verdict)}: "{entry.claim.text}"'
    for exhibit in entry.evidence[:1]:
        yield f'      evidence: "{exhibit.reading.snippet}" ({full_place(exhibit)})'
    yield f"      why: {entry.notes}"
