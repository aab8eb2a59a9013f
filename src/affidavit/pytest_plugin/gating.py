"""`assert_gate`: the RAG gates over a gold set and traces, as a test."""

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from affidavit.pytest_plugin.recorded import note, one_clear_line

if TYPE_CHECKING:
    from affidavit.gates.report import Report

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
    with one_clear_line("gate"), _scratch() as scratch:
        from affidavit.wiring.gating import RagPlan, run_rag

        report = run_rag(
            RagPlan(
                () if gold is None else files_of(gold, scratch / "gold.jsonl"),
                files_of(trace, scratch / "trace.jsonl"),
                (gates,) if isinstance(gates, str) else tuple(gates),
                **settings,
            )
        )
    note("gate", report.ruling.decision.value, report.ruling.reasons)
    if report.ruling.decision.value != "ship":
        raise AssertionError("\n".join(_explained(report)))
    return report


@contextmanager
def _scratch() -> Iterator[Path]:
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


def files_of(rows: Rows, place: Path) -> tuple[str, ...]:
    """Return the files that are named, or the file that the rows were written to."""
    if isinstance(rows, str | Path):
        return (str(rows),)
    given = tuple(rows)
    if given and all(isinstance(each, str | Path) for each in given):
        return tuple(map(str, given))
    place.write_bytes(b"".join(_lines(given, place)))
    return (str(place),)


def _lines(rows: Iterable[object], place: Path) -> Iterator[bytes]:
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


def _explained(report: "Report") -> Iterator[str]:
    from affidavit.formats.gate_report import words
    from affidavit.formats.gate_report.tables import offender_table
    from affidavit.formats.gate_report.wire import report_of

    made = report_of(report.as_wire())
    yield f"the gate does not pass: {words.headline(made).lower()}"
    yield from (f"  because {reason}" for reason in made.reasons)
    offenders = offender_table(made)
    for row in () if offenders is None else offenders.rows:
        question, wrong, answer, passages = row.cells
        yield f"  {question}"
        yield f'      {wrong}: "{answer}"'
        yield f"      {passages}"
    yield from (f"  warning: {text}" for text in made.warnings)
    yield from (f"  next: {step.do}" for step in made.next_steps)
