"""Options that several commands have: the project, its tools, whom to trust, how many at once."""

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults.input import FOLDER_MISSING
from affidavit.base.files import is_folder, is_there


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


def _require_folder(context: click.Context, option: click.Parameter, given: Path) -> Path:
    # A mistyped name must not end in "there is no key", or in a new project somewhere else.
    if not is_folder(given):
        raise AffidavitError(FOLDER_MISSING, Where(file=str(given)))
    return given


def _refuse_file(context: click.Context, option: click.Parameter, given: Path) -> Path:
    # A folder that is not there yet is made; in a file there is no place for it.
    return _require_folder(context, option, given) if is_there(given) else given


_project = partial(
    click.option,
    "--project",
    default=Path(),
    type=click.Path(path_type=Path),
    help="Where the folder .affidavit is; by default here.",
)
project_option = _project(callback=_refuse_file)
existing_project_option = _project(callback=_require_folder)
tools_option = click.option(
    "--tools",
    type=click.Path(path_type=Path),
    help="The file that declares the tools; by default affidavit.toml of this project.",
)
routes_option = click.option(
    "--routes",
    type=click.Path(path_type=Path),
    help="The route table (YAML); by default what the tools' file names.",
)
issuer_option = click.option(
    "--issuer", help="Who answers; by default what the tools' file says, or the key's id."
)
tsa_roots_option = click.option(
    "--tsa-roots",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Certificates (PEM) of the time stamp authorities that you trust. Repeatable.",
)


def jobs_option(help: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option that says how many at once; what it is that many of, a command says."""
    return click.option(
        "--jobs", "-j", default=1, show_default=True, type=click.IntRange(1, 256), help=help
    )
