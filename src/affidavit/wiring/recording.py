"""`affidavit.record`: where a recording goes, whose it is, and what time it is."""

from pathlib import Path

from affidavit.app.evidence.recording import Clock, Recorder
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults.bundles import BUNDLE_EVENT
from affidavit.base.faults.input import FILE_UNWRITABLE
from affidavit.base.json_limits import JsonValue
from affidavit.seal.bundle.drafting import Run
from affidavit.wiring.clock import now

RUNS = Path(".affidavit") / "runs"


def recorder_for(
    run: str | Path,
    *,
    run_id: str | None,
    input: JsonValue,
    source: str,
    producer: tuple[str, str],
    git: str,
    clock: Clock | None,
) -> Recorder:
    """Return a recorder of a run: a path that ends in .jsonl, or a run id, kept in .affidavit."""
    is_path = isinstance(run, Path) or run.endswith(".jsonl")
    if not is_path and {"/", "\\"} & set(str(run)):
        problem = "a run id holds no slash; a path ends in .jsonl"
        raise AffidavitError(BUNDLE_EVENT, Where(field="run_id"), problem=problem)
    path = Path(run) if is_path else RUNS / f"{run}.jsonl"
    name = run_id if run_id is not None else path.name.removesuffix(".jsonl")
    described = Run(name, source, *producer, git)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise AffidavitError(FILE_UNWRITABLE, Where(file=str(path)), reason=reason) from error
    return Recorder(path, described, now if clock is None else clock, input)
