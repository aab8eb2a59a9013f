"""Finds the published test vectors, which are not part of this repository.

They are looked for in the folder that AFFIDAVIT_VECTORS names, else in `../shared/vectors`. Where
they are absent the conformance tests are skipped with that reason; in CI they fail.
"""

import os
from pathlib import Path

import pytest
from tests.repository import ROOT


def vectors_folder() -> Path | None:
    """Return the folder of the vectors, if it is there."""
    named = os.environ.get("AFFIDAVIT_VECTORS")
    folder = Path(named) if named else ROOT.parent / "shared" / "vectors"
    return folder if folder.is_dir() else None


def vector_path(*parts: str) -> Path:
    """Return the path of a vector, or end the test: skipped at home, failed in CI."""
    folder = vectors_folder()
    if folder is None:
        say = pytest.fail if os.environ.get("CI") else pytest.skip
        say("the vectors are not here: name their folder in AFFIDAVIT_VECTORS")
    return folder.joinpath(*parts)


def vector_names(*parts: str) -> list[str]:
    """Return the names of a folder's vectors, to make a test of each; one that says why if none."""
    folder = vectors_folder()
    return sorted(path.name for path in folder.joinpath(*parts).iterdir()) if folder else ["absent"]
