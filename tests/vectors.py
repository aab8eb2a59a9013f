"""Finds the published test vectors, which are not part of this repository.

AFFIDAVIT_VECTORS names their folder; otherwise `../shared/vectors` is tried. If neither is there,
the conformance tests are skipped with that reason. In CI, and if the variable is set, they fail: a
green run must not hide that nothing was compared.
"""

import os
from pathlib import Path

import pytest
from tests.repository import ROOT


def vectors_folder() -> Path | None:
    """Return the folder of the vectors, or None."""
    named = os.environ.get("AFFIDAVIT_VECTORS")
    folder = Path(named) if named else ROOT.parent / "shared" / "vectors"
    return folder if folder.is_dir() else None


def vector_path(*parts: str) -> Path:
    """Return the path of a vector, or end the test."""
    folder = vectors_folder()
    if folder is None:
        required = os.environ.get("CI") or os.environ.get("AFFIDAVIT_VECTORS")
        end_test = pytest.fail if required else pytest.skip
        end_test("the vectors are not here: set AFFIDAVIT_VECTORS to their folder")
    return folder.joinpath(*parts)


def vector_names(*parts: str) -> list[str]:
    """Return the names of a folder's vectors; without the folder one test that is skipped."""
    folder = vectors_folder()
    return sorted(path.name for path in folder.joinpath(*parts).iterdir()) if folder else ["absent"]
