"""`assert_gate` and `assert_grounded`: the gates and the ledger as assertions of a test.

What they decided is kept for the report of the run.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from affidavit.decision.report import Report
    from affidavit.ledger.record import Ledger, LedgerEntry


# The results of the assertions of the running test, for the report.

_results: list[dict[str, object]] = []


def record_result(kind: str, decision: str, reasons: tuple[str, ...]) -> None:
    """Keep the result of an assertion until its test ends."""
    _results.append({"check": kind, "decision": decision, "reasons": list(reasons)})


def take_results() -> list[dict[str, object]]:
    """Return the results since the last call, and forget them."""
    found = list(_results)
    _results.clear()
    return found


@contextmanager
def one_line_errors(kind: str) -> Iterator[None]:
    """Turn an AffidavitError or a missing extra into a test failure of one line.

    A traceback through our own modules would not help the user. The report lists the check as
    inconclusive.
    """
    __tracebackhide__ = True
    from affidavit.base.errors import AffidavitError

    try:
        yield
    except AffidavitError as error:
        said = str(error)
    except ModuleNotFoundError as error:
        said = _missing(error)
    else:
        return
    record_result(kind, "inconclusive", (said,))
    raise pytest.fail.Exception(said, pytrace=False) from None


def _missing(error: ModuleNotFoundError) -> str:
    from affidavit.app.doctor import find_extra_with
    from affidavit.base.errors import AffidavitError
    from affidavit.base.faults.input import EXTRA_MISSING

    package = (error.name or "").partition(".")[0]
    extra = find_extra_with(package)
    if extra is None:
        raise error
    return str(
        AffidavitError(EXTRA_MISSING, feature="this assertion", package=package, extra=extra)
    )


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
    are the options of `affidavit gate rag`. Returns the report.
    """
    __tracebackhide__ = True
    with one_line_errors("gate"):
        from affidavit.app import api

        if "baseline" in settings:
            settings["fail_on_regression"] = settings.pop("baseline")
        named = {} if gold is None else {"gold": gold}
        report = api.gate("rag", {"trace": trace, "gates": gates, **named, **settings})
    record_result("gate", report.decision.value, report.reasons)
    if report.decision.value != "ship":
        raise AssertionError("\n".join(_gate_explanation(report)))
    return report


def _gate_explanation(report: "Report") -> Iterator[str]:
    from affidavit.reports.gate_tables import headline, offender_table

    yield f"the gate does not pass: {headline(report).lower()}"
    yield from (f"  because {reason}" for reason in report.reasons)
    offenders = offender_table(report)
    for row in () if offenders is None else offenders.rows:
        question, wrong, expected, answer, passages = row.cells
        yield f"  {question}"
        yield f'      {wrong}: "{answer}"'
        yield f"      expected {expected}"
        yield f"      {passages}"
    yield from (f"  warning: {text}" for text in report.warnings)
    yield from (f"  next: {step.do}" for step in report.next_steps)


Source = str | Path
_MAX_CLAIMS: Final = 10


def assert_grounded(
    answer: str,
    contexts: Source | Iterable[Source] = (),
    *,
    sources: Source | Iterable[Source] = (),
    query: str | None = None,
    judge: str | None = None,
    rules: Path | None = None,
    gates: str | Iterable[str] = (),
    top_k: int = 8,
    at: str | None = None,
) -> "Ledger":
    """Check an answer against its contexts or sources, and fail unless the decision is to ship.

    A context is a text; `sources` are paths of documents or folders, and so is a `Path` among the
    contexts. A string is never tested for being the other. The other arguments are the options of
    `affidavit check`. Returns the ledger, for more specific assertions.
    """
    __tracebackhide__ = True
    with one_line_errors("grounded"):
        from affidavit.app import api

        ledger = api.check(
            answer,
            sources,
            contexts=contexts,
            query=query,
            title=query or "An answer under test",
            judge=judge,
            rules=rules,
            gates=gates,
            top_k=top_k,
            risk=None,
            at=at,
            project=None,
        )
    decision = ledger.gates.decision
    record_result("grounded", decision.value, ledger.gates.reasons)
    if decision.value != "ship":
        raise AssertionError("\n".join(_ledger_explanation(ledger)))
    return ledger


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
    listed = ledger.claims_in("review")
    doubtful = [entry for _, entry in listed if entry.verdict is not Verdict.SUPPORTED]
    for entry in doubtful[:_MAX_CLAIMS]:
        yield from _claim(entry)
    if len(doubtful) > _MAX_CLAIMS:
        yield f"  and {len(doubtful) - _MAX_CLAIMS} more claims"


def _claim(entry: "LedgerEntry") -> Iterator[str]:
    from affidavit.ledger.labels import full_place, verdict_label

    yield f'  {verdict_label(entry.verdict)}: "{entry.shown_text}"'
    decided = entry.deciding_readings[:1]
    for reading in decided:
        yield f'      evidence: "{reading.snippet}" ({full_place(reading)})'
    nearest = entry.nearest_reading
    if nearest is not None and not decided:
        yield f'      nearest passage: "{nearest.snippet}" ({full_place(nearest)})'
        yield f"      why: {nearest.notes}"
    else:
        yield f"      why: {entry.notes}"
