"""Where a gate may write: refused before anything is measured, so that no long run ends in vain.

What is read stays as it is: neither a report nor a line of the history goes into it.
"""

import math
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from affidavit.base.errors import AffidavitError, Where
from affidavit.cli.terminal import Terminal

if TYPE_CHECKING:
    from affidavit.app.gating.history import History

_SHOWN: Final = 5
"""How many lines that are no runs are told one by one; a wrong file has as many as it has lines."""


class Finite(click.FloatRange):
    """A number within a range; NaN is within every range, and infinity within open ones."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number", param, ctx)
        return number


def refuse_places(outputs: Iterable[Path], inputs: Iterable[str | Path]) -> None:
    """Refuse to write over what is read, or two things into one file, or where nobody can."""
    from affidavit.base.faults.check import OUTPUT_IS_INPUT

    taken = {_place(Path(name)) for given in inputs for name in _files(str(given))}
    for path in outputs:
        place = _place(path)
        if place in taken:
            raise AffidavitError(OUTPUT_IS_INPUT, Where(file=str(path)))
        taken.add(place)


def require_writable(paths: Iterable[Path]) -> None:
    """Refuse files that cannot be written, with the code that writing them would end with."""
    from affidavit.base.faults.input import FILE_IS_FOLDER, FILE_UNWRITABLE
    from affidavit.base.files import is_folder

    for path in paths:
        where, folder = Where(file=str(path)), path.parent
        if is_folder(path):
            raise AffidavitError(FILE_IS_FOLDER, where)
        if not is_folder(folder):
            raise AffidavitError(FILE_UNWRITABLE, where, reason="its folder does not exist")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise AffidavitError(FILE_UNWRITABLE, where, reason="permission denied")


def known_history(terminal: Terminal, path: Path) -> "History":
    """Return the runs of a history, and say which of its lines are none."""
    from affidavit.app.gating.history import read

    known = read(path)
    for finding in known.findings[:_SHOWN]:
        terminal.note(str(finding))
    if len(known.findings) > _SHOWN:
        terminal.note(f"{len(known.findings) - _SHOWN} more lines of {path} are no runs")
    return known


def _place(path: Path) -> Path:
    """Return where a path leads; one that leads nowhere is told by whoever opens it."""
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):
        return path


def _files(name: str) -> Iterator[str]:
    """Yield the files that a name or a pattern stands for; what no file system knows is itself."""
    from affidavit.app.gating.files import files_named

    if name == "-":
        return
    try:
        yield from files_named([name])
    except AffidavitError:
        yield name
