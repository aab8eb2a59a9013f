"""Options that several commands have: where the project is, its tools, and whom to trust."""

from functools import partial
from pathlib import Path

import click

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults.input import FOLDER_MISSING
from affidavit.base.files import is_folder


def _require_folder(context: click.Context, option: click.Parameter, given: Path) -> Path:
    # A mistyped name must not end in "there is no key", or in a new project somewhere else.
    if not is_folder(given):
        raise AffidavitError(FOLDER_MISSING, Where(file=str(given)))
    return given


_project = partial(
    click.option,
    "--project",
    default=Path(),
    type=click.Path(path_type=Path),
    help="Where the folder .affidavit is; by default here.",
)
project_option = _project()
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
