"""Where a command may write: refused before the work, so that no long run ends in vain.

What is read stays as it is, and no two outputs go into one file.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.files import is_folder


def require_places(outputs: Iterable[Path | None], inputs: Iterable[str | Path | None]) -> None:
    """Refuse outputs that would replace an input or one another, or that cannot be written.

    None is an option that was not given.
    """
    wanted = [path for path in outputs if path is not None]
    refuse_places(wanted, inputs)
    require_writable(wanted)


def refuse_places(outputs: Iterable[Path], inputs: Iterable[str | Path | None]) -> None:
    """Refuse to write over what is read, or two things into one file."""
    from affidavit.base.faults.check import OUTPUT_IS_INPUT

    # A dash is standard input, which no file replaces.
    taken = {place_of(Path(name)) for name in inputs if name is not None and str(name) != "-"}
    for path in outputs:
        place = place_of(path)
        if place in taken:
            raise AffidavitError(OUTPUT_IS_INPUT, Where(file=str(path)))
        taken.add(place)


def refuse_folder(path: Path) -> None:
    """Refuse a folder where a file is to be written."""
    from affidavit.base.faults.input import FILE_IS_FOLDER

    if is_folder(path):
        raise AffidavitError(FILE_IS_FOLDER, Where(file=str(path)))


def require_writable(paths: Iterable[Path]) -> None:
    """Refuse files that cannot be written, with the code that writing them would end with."""
    from affidavit.base.faults.input import FILE_UNWRITABLE

    for path in paths:
        refuse_folder(path)
        where, folder = Where(file=str(path)), path.parent
        if not is_folder(folder):
            raise AffidavitError(FILE_UNWRITABLE, where, reason="its folder does not exist")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise AffidavitError(FILE_UNWRITABLE, where, reason="permission denied")


def place_of(path: Path) -> Path:
    """Return where a path leads; one that leads nowhere is told by whoever opens it."""
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):
        return path
