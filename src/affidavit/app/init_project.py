"""A project's first files: a config whose every line is explained, a tiny gold set, a workflow.

Together they give a decision at once, so that a newcomer changes what works.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Final

from affidavit.base.files import write_atomically

STARTER_FILES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "affidavit.toml": "affidavit.toml",
        "eval/gold.jsonl": "eval/gold.jsonl",
        "eval/trace.jsonl": "eval/trace.jsonl",
        ".github/workflows/affidavit.yml": "workflow.yml",
    }
)
"""Where a file goes in the project, and what it is called among the starters."""


@dataclass(frozen=True, slots=True)
class CreatedFiles:
    """What was written, and what was there before and has been left alone."""

    written: tuple[str, ...]
    kept: tuple[str, ...]


def starter_content(name: str) -> bytes:
    """Return the content of one of the starters, by its place in the project."""
    return (files("affidavit.app") / "starter" / STARTER_FILES[name]).read_bytes()


def create_project_files(folder: Path, *, force: bool = False) -> CreatedFiles:
    """Write what is not there yet; `force` writes everything anew."""
    # A link that leads nowhere is there too: what it names is somebody's.
    present = tuple(name for name in STARTER_FILES if os.path.lexists(folder / name))
    kept = () if force else present
    written = tuple(name for name in STARTER_FILES if name not in kept)
    for name in written:
        path = folder / name
        with suppress(OSError):  # Writing says by its code what kept the folder from being made.
            path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, starter_content(name))
    return CreatedFiles(written, kept)
