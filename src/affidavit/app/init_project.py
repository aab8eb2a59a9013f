"""Creates the first files of a project: a commented config, a small gold set and a workflow.

They give a decision at once, so a newcomer starts from something that works.
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
"""Maps the path of a file in the project to its name among the starter files."""

TOOL_FILES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "affidavit.toml": "tools/affidavit.toml",
        "checks.yaml": "tools/checks.yaml",
        "data/shop.csv": "tools/shop.csv",
        "data/erp.json": "tools/erp.json",
    }
)
"""The same for a project with tools and checks."""


@dataclass(frozen=True, slots=True)
class CreatedFiles:
    """The files that were written, and existing files that were kept."""

    written: tuple[str, ...]
    kept: tuple[str, ...]


def starter_content(name: str, starters: Mapping[str, str] = STARTER_FILES) -> bytes:
    """Return the content of a starter file by its path in the project."""
    return (files("affidavit.app") / "starter" / starters[name]).read_bytes()


def create_project_files(
    folder: Path, starters: Mapping[str, str] = STARTER_FILES, *, force: bool = False
) -> CreatedFiles:
    """Write the files that do not exist yet; `force` overwrites existing ones."""
    # A broken link counts as existing.
    present = tuple(name for name in starters if os.path.lexists(folder / name))
    kept = () if force else present
    written = tuple(name for name in starters if name not in kept)
    for name in written:
        path = folder / name
        with suppress(OSError):  # Writing raises the error if the folder cannot be created.
            path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, starter_content(name, starters))
    return CreatedFiles(written, kept)
