"""Affidavit shows what an AI answer rests on."""

# Nothing is imported here while the program runs: it is the first thing that every command does.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable as _Callable
    from pathlib import Path as _Path
    from typing import Any as _Any

    from affidavit.app.recording import Recorder as _Recorder
del TYPE_CHECKING

__all__ = ["__version__", "record"]

__version__ = "0.1.0"


def record(
    run: "str | _Path",
    *,
    run_id: str | None = None,
    input: "_Any" = None,
    source: str = "urn:affidavit:run",
    producer: str = "affidavit",
    producer_version: str = __version__,
    git: str = "unknown",
    clock: "_Callable[[], str] | None" = None,
) -> "_Recorder":
    """Record a run: `with affidavit.record("run.jsonl") as run: run.model_call(...)`.

    `run` is a path that ends in .jsonl, or a run id, whose log is then kept in .affidavit/runs.
    """
    from affidavit.app.recording import recorder_for

    return recorder_for(
        run,
        run_id=run_id,
        input=input,
        source=source,
        producer=(producer, producer_version),
        git=git,
        clock=clock,
    )
