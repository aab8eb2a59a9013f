"""`affidavit.record`: where a recording goes, whose it is, and what time it is."""

from pathlib import Path

from affidavit.app.evidence.recording import Clock, Recorder
from affidavit.app.evidence.run_log import VERSION, run_from
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults.input import FILE_UNWRITABLE
from affidavit.base.faults.recordings import RECORD_VALUE
from affidavit.base.json_limits import JsonValue
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
        raise AffidavitError(RECORD_VALUE, Where(field="run_id"), problem=problem)
    path = Path(run) if is_path else RUNS / f"{run}.jsonl"
    name = run_id if run_id is not None else path.name.removesuffix(".jsonl")
    described = run_from(
        {
            "affidavit_run": VERSION,
            "id": name,
            "source": source,
            "producer": producer[0],
            "producer_version": producer[1],
            "git": git,
        }
    )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise AffidavitError(FILE_UNWRITABLE, Where(file=str(path)), reason=reason) from error
    return Recorder(path, described, now if clock is None else clock, input)
