"""`assert_grounded`: every claim of an answer rests on its sources, or the test fails and says why.

The use case is that of `affidavit check`; a test that passes here passes there.
"""

import atexit
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from affidavit.pytest_plugin.recorded import note, one_clear_line

if TYPE_CHECKING:
    from affidavit.ledger.record import Ledger, LedgerEntry

Source = str | Path
_MOST_CLAIMS: Final = 10


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
    with one_clear_line("grounded"):
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
    note("grounded", decision.value, ledger.gates.reasons)
    if decision.value != "ship":
        raise AssertionError("\n".join(_explained(ledger)))
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
    from affidavit.app.checking import AskedAnswer, check_answer
    from affidavit.base.errors import AffidavitError
    from affidavit.base.faults import check as faults
    from affidavit.wiring import benches
    from affidavit.wiring.clock import time_of
    from affidavit.wiring.judges import judge_named
    from affidavit.wiring.project import Project

    if not answer.strip():
        raise AffidavitError(faults.ANSWER_EMPTY)
    generated_at = time_of(at)
    scratch = _scratch()
    plan = benches.BenchPlan(
        Project(scratch),
        tuple(path_of(source, number, scratch) for number, source in enumerate(sources, start=1)),
        benches.rules_for(rules, gates),
        top_k,
        judge=judge_named(judge),
    )
    bench = benches.set_up_bench(plan)
    benches.require_documents(bench)
    title = query or "An answer under test"
    asked = AskedAnswer(answer, query, title, generated_at[:10], generated_at)
    return check_answer(asked, bench)


@cache
def _scratch() -> Path:
    """Return a folder of this process for indexes; it goes when the process ends."""
    folder = tempfile.mkdtemp(prefix="affidavit-pytest-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def path_of(source: Source, number: int, scratch: Path) -> Path:
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


def _explained(ledger: "Ledger") -> Iterator[str]:
    from affidavit.formats.ledger_words import DECISIONS
    from affidavit.ledger.model import Verdict

    counts = ledger.summary.by_verdict
    yield f"the answer is not grounded: {DECISIONS[ledger.gates.decision].lower()}"
    yield from (f"  because {reason}" for reason in ledger.gates.reasons)
    yield (
        f"  of the claims {counts.supported} supported, {counts.weak} weak,"
        f" {counts.contradicted} contradicted, {counts.not_found} not found"
    )
    doubtful = [entry for entry in ledger.entries if entry.verdict is not Verdict.SUPPORTED]
    for entry in doubtful[:_MOST_CLAIMS]:
        yield from _claim(entry)
    if len(doubtful) > _MOST_CLAIMS:
        yield f"  and {len(doubtful) - _MOST_CLAIMS} more claims"


def _claim(entry: "LedgerEntry") -> Iterator[str]:
    from affidavit.ledger.places import full_place, verdict_label

    yield f'  {verdict_label(entry.verdict)}: "{entry.claim.text}"'
    for exhibit in entry.evidence[:1]:
        yield f'      evidence: "{exhibit.reading.snippet}" ({full_place(exhibit)})'
    yield f"      why: {entry.notes}"
