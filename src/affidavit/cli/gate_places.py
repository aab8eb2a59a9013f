"""What a gate reads by a name or a pattern, and the history that it adds to."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from affidavit.base.errors import AffidavitError
from affidavit.cli.terminal import Terminal

if TYPE_CHECKING:
    from affidavit.app.gating.history import History

_SHOWN: Final = 5
"""How many lines that are no runs are told one by one; a wrong file has as many as it has lines."""


def known_history(terminal: Terminal, path: Path) -> "History":
    """Return the runs of a history, and say which of its lines are none."""
    from affidavit.app.gating.history import read

    known = read(path)
    for finding in known.findings[:_SHOWN]:
        terminal.note(str(finding))
    if len(known.findings) > _SHOWN:
        terminal.note(f"{len(known.findings) - _SHOWN} more lines of {path} are no runs")
    return known


def files_read(names: Iterable[str | Path]) -> Iterator[str]:
    """Yield the files that names and patterns stand for; what no file system knows is itself."""
    from affidavit.app.gating.files import files_named

    for name in map(str, names):
        try:
            yield from files_named([name])
        except AffidavitError:
            yield name
