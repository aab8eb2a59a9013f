"""The use cases behind the functions of `import affidavit`.

Each returns the frozen result that the command of the same name prints. `affidavit/__init__.py`
holds the signatures and imports this module when a function is called.
"""

import atexit
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from affidavit.app.clock import time_of
from affidavit.base.digest import digest_of
from affidavit.base.errors import NOWHERE, AffidavitError, Where
from affidavit.base.faults import evidence as faults
from affidavit.base.faults import gates as gate_faults
from affidavit.base.files import read_bounded, write_atomically
from affidavit.base.text import excerpt

if TYPE_CHECKING:
    from affidavit.app.bundles import VerifiedBundle
    from affidavit.app.check import CheckContext, CheckPlan
    from affidavit.app.gate_all import AllGatesReport
    from affidavit.app.judge_scoring import ClaimScore
    from affidavit.app.verify import VerifiedReceipt
    from affidavit.decision.report import Report
    from affidavit.ledger.record import Ledger

_GZIP: Final = b"\x1f\x8b"
_ROW_SETTINGS: Final = ("auditor", "gold", "pairs", "rows", "runs", "scholar", "trace")

Source = str | Path
"""Of sources, a path. Of contexts, a text if it is a string."""
Rows = str | Path | Iterable[str | Path] | Iterable[Mapping[str, Any]]
"""A file, several files, or the rows themselves."""


def texts_of(value: str | Iterable[str]) -> tuple[str, ...]:
    """Return one text or several as a tuple."""
    return (value,) if isinstance(value, str) else tuple(value)


@cache
def scratch_folder() -> Path:
    """Return a temporary folder of this process. It is removed when the process ends."""
    folder = tempfile.mkdtemp(prefix="affidavit-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


# Checking an answer.


def check(
    answer: str | Path,
    sources: Source | Iterable[Source],
    *,
    contexts: Source | Iterable[Source],
    query: str | None,
    title: str,
    judge: str | None,
    rules: str | Path | None,
    gates: str | Iterable[str],
    top_k: int,
    risk: float | None,
    at: str | None,
    project: str | Path | None,
) -> "Ledger":
    """Check an answer as `affidavit check` does, and save its ledger if a project is named."""
    from affidavit.app.check import check_answer, check_plan, require_sources_for, save_ledger
    from affidavit.ledger.adjudication import CheckRequest

    text = read_answer(answer)
    generated_at = time_of(at)
    paths, texts = _paths_and_texts(sources, contexts)
    scratch = scratch_folder()
    # Texts beside documents become documents too, so that one index holds all of them.
    files = [*paths, *(text_file(each, n, scratch) for n, each in enumerate(texts, 1) if paths)]
    plan = check_plan(
        scratch if project is None else Path(project),
        files,
        rules=None if rules is None else Path(rules),
        gates=texts_of(gates),
        judge=judge,
        top_k=top_k,
        risk=risk,
    )
    context, names = _check_context(plan, () if paths else texts)
    require_sources_for(text, context)
    request = CheckRequest(
        answer=text,
        query=query,
        title=title or query or "An answer",
        answer_date=generated_at[:10],
        generated_at=generated_at,
        numbered_sources=names,
    )
    ledger = check_answer(request, context)
    if project is not None:
        save_ledger(ledger, plan.project)
    return ledger


def _check_context(
    plan: "CheckPlan", texts: Sequence[str]
) -> "tuple[CheckContext, tuple[str, ...]]":
    """Return what an answer is checked with: texts in memory, or the documents of the plan.

    The names are what `[1]`, `[2]` in the answer stand for.
    """
    from affidavit.app.check import CheckContext, build_check_context, judge_of

    if not texts:
        return build_check_context(plan), ()
    from affidavit.documents.passages import PassageIndex

    index = PassageIndex(texts)
    return CheckContext(index, judge_of(plan), plan.rules, plan.top_k), tuple(index.names)


def _paths_and_texts(
    sources: Source | Iterable[Source], contexts: Source | Iterable[Source]
) -> tuple[list[Path], list[str]]:
    """Return the paths and the texts. What is what follows from argument and type alone.

    A source is a path. A context is a text if it is a string, and a path if it is a `Path`.
    """
    named = [sources] if isinstance(sources, str | Path) else [*sources]
    # A caller without types may give documents of another library, which must not be left out.
    given: list[object] = [contexts]
    if isinstance(contexts, Iterable) and not isinstance(contexts, str | Mapping):
        given = [*contexts]
    for each in given:
        if not isinstance(each, str | Path):
            raise AffidavitError(faults.CONTEXT_TYPE, type=type(each).__name__)
    for each in named:
        if isinstance(each, str) and not _may_be_path(each):
            raise AffidavitError(faults.SOURCE_TEXT, text=excerpt(each))
    paths = [*map(Path, named), *(each for each in given if isinstance(each, Path))]
    return paths, [each for each in given if isinstance(each, str)]


def _may_be_path(text: str) -> bool:
    is_short = all(0 < len(part.encode()) < 256 for part in Path(text).parts or [""])
    return is_short and "\n" not in text and "\0" not in text


def read_answer(answer: str | Path) -> str:
    """Return the text of an answer. A path is read; a text is never taken for a path."""
    from affidavit.app.check import MAX_ANSWER_BYTES, answer_text

    if isinstance(answer, str):
        return answer_text(answer.encode("utf-8", "surrogatepass"), NOWHERE)
    return answer_text(read_bounded(answer, MAX_ANSWER_BYTES), Where(file=str(answer)))


def text_file(text: str, number: int, scratch: Path) -> Path:
    """Write a text to a file, the same one for the same text."""
    data = text.encode("utf-8", "backslashreplace")
    folder = scratch / "texts" / digest_of(data).removeprefix("sha256:")[:16]
    path = folder / f"context {number}.txt"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(path, data)
    return path


# Judging one claim.


def judge(
    claim: str, evidence: str | Iterable[str], *, judge: str | None, rules: str | Path | None
) -> "ClaimScore":
    """Judge a claim against texts as `affidavit judge score` does."""
    from affidavit.app.check import ledger_rules_for
    from affidavit.app.judge_scoring import JudgeRow, RowScorer, judge_row
    from affidavit.app.judges import judge_named

    scorer = RowScorer(
        ledger_rules_for(None if rules is None else Path(rules), ()), judge_named(judge)
    )
    row = JudgeRow(id="claim", line=1, claim=claim, evidence=texts_of(evidence))
    return judge_row(row, scorer.judge, scorer.rules).score


# Deciding by gates.


def gate(kind: str, settings: Mapping[str, Any]) -> "Report":
    """Decide a gate by the settings that `[gates.KIND]` of affidavit.toml has."""
    from affidavit.app.gate_all import gate_config_from

    with _rows_folder() as scratch:
        table = {name: _setting(name, value, scratch) for name, value in settings.items()}
        ((_, decide),) = gate_config_from({kind: table}, Path()).runs()
        return decide()


def gate_all(config: str | Path) -> "AllGatesReport":
    """Decide every gate of a configuration file as `affidavit gate all` does."""
    from affidavit.app.gate_all import load_gate_config, run_all_gates

    return run_all_gates(load_gate_config(Path(config)).runs())


def _setting(name: str, value: Any, scratch: Path) -> Any:
    """Return a setting as a configuration file holds it: paths as texts, rows as a file of them."""
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping) or not isinstance(value, Iterable) or isinstance(value, str):
        return value
    values = tuple(value)
    if any(isinstance(each, Mapping) for each in values) or (not values and name in _ROW_SETTINGS):
        place = scratch / f"{name}.jsonl"
        place.write_bytes(b"".join(_json_lines(values, place)))
        return str(place)
    return tuple(str(each) if isinstance(each, Path) else each for each in values)


@contextmanager
def _rows_folder() -> Iterator[Path]:
    """Give a temporary folder for rows. An error names the rows, not a file that is gone."""
    with tempfile.TemporaryDirectory(prefix="affidavit-") as name:
        try:
            yield Path(name)
        except AffidavitError as error:
            file = Path(error.where.file or "")
            if file.parent != Path(name):
                raise
            where = replace(error.where, file=f"the rows of {file.stem}")
            raise AffidavitError(error.fault, where, **error.values) from None


def _json_lines(rows: Iterable[object], place: Path) -> Iterator[bytes]:
    for number, row in enumerate(rows, 1):
        try:
            yield msgspec.json.encode(row) + b"\n"
        except (TypeError, UnicodeEncodeError, RecursionError) as error:
            fault = gate_faults.GOLD_ROW if place.stem == "gold" else gate_faults.TRACE_ROW
            problem = f"JSON cannot hold it ({error})"
            raise AffidavitError(fault, Where(str(place), number), problem=problem) from None


# Verifying a receipt or a bundle.


def verify(
    subject: str | Path | bytes,
    *,
    keys: str | Path | Iterable[str | Path],
    tsa_roots: str | Path | Iterable[str | Path],
    tsa_policy: str | None,
    stamp_required: bool,
    at: str | None,
    project: str | Path,
) -> "VerifiedReceipt | VerifiedBundle":
    """Verify a bundle (known by its first bytes: gzip) or else a receipt.

    A bundle that cannot be opened and a receipt that cannot be read raise their error.
    """
    from affidavit.app.bundles import bundle_stream, verify_opened
    from affidavit.app.clock import datetime_of
    from affidavit.app.verify import ReceiptInput, key_files, trust_from, verify_steps
    from affidavit.seal.verification import VerifiedInput

    name = "bytes" if isinstance(subject, bytes) else str(subject)
    with BytesIO(subject) if isinstance(subject, bytes) else bundle_stream(Path(subject)) as stream:
        start = stream.read(len(_GZIP))
        if start == _GZIP:
            stream.seek(0)
            return VerifiedInput("bundle", name, verify_opened(stream))
    roots = _paths_of(tsa_roots)
    trust = trust_from(
        key_files(_paths_of(keys), Path(project)), roots, tsa_policy, stamp_required=stamp_required
    )
    receipt = ReceiptInput(name, raw=subject if isinstance(subject, bytes) else None).receipt()
    return VerifiedInput("receipt", name, verify_steps(receipt, trust, datetime_of(at)))


def _paths_of(value: str | Path | Iterable[str | Path]) -> tuple[Path, ...]:
    return (Path(value),) if isinstance(value, str | Path) else tuple(map(Path, value))
