"""How a command is declared: the decorator, and the parameters that several commands share."""

import functools
import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Concatenate, Final, ParamSpec

import click

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.exits import Exit
from affidavit.base.faults.input import FILE_TOO_LARGE, FOLDER_MISSING
from affidavit.base.files import is_folder, is_there, read_bounded
from affidavit.cli.commands import Example
from affidavit.cli.program import DocumentedCommand, Flags
from affidavit.cli.terminal import Terminal

Values = ParamSpec("Values")


class NamedPath(click.Path):
    """A path of which only the name is checked.

    The code that opens the file raises its own errors. An empty name would mean the current folder,
    and a dash a file of that name.
    """

    def __init__(self, *, allow_dash: bool, path_type: type[Any] | None) -> None:
        super().__init__(readable=False, allow_dash=allow_dash, path_type=path_type)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        if value == "":
            self.fail("the name is empty", param, ctx)
        if value == "-" and not self.allow_dash:
            self.fail("a dash is not allowed here; give a file", param, ctx)
        return super().convert(value, param, ctx)


def command(
    *,
    examples: tuple[Example, ...],
    exits: Mapping[Exit, str],
    kind: type[DocumentedCommand] = DocumentedCommand,
    **settings: Any,
) -> Callable[[Callable[Concatenate[Terminal, Values], Exit]], DocumentedCommand]:
    """Turn a function of the terminal and the values into a command; it returns the exit code.

    `exits` describes the exit codes of this command, except those of every command
    (program.ALWAYS). The first line of the docstring is the description in the list of
    commands. `settings` are passed to a special `kind`.
    """

    def decorate(function: Callable[Concatenate[Terminal, Values], Exit]) -> DocumentedCommand:
        @functools.wraps(function)
        def run(*args: Values.args, **values: Values.kwargs) -> Exit:
            flags = click.get_current_context().ensure_object(Flags)
            # Exit() refuses None, so a command that forgets its exit code does not end with YES.
            return Exit(function(Terminal(flags), *args, **values))

        result = click.command(cls=kind, examples=examples, exits=exits, **settings)(run)
        for parameter in result.params:
            if isinstance(parameter.type, click.Path):
                parameter.type = NamedPath(
                    allow_dash=parameter.type.allow_dash, path_type=parameter.type.type
                )
        return result

    return decorate


class FiniteFloatRange(click.FloatRange):
    """A finite number within a range; click accepts NaN in every range."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number", param, ctx)
        return number


def _require_folder(context: click.Context, option: click.Parameter, given: Path) -> Path:
    # A mistyped name must not lead to "there is no key" or to a new project elsewhere.
    if not is_folder(given):
        raise AffidavitError(FOLDER_MISSING, Where(file=str(given)))
    return given


def _reject_file_as_folder(context: click.Context, option: click.Parameter, given: Path) -> Path:
    # A missing folder is created later; a file cannot be used as one.
    return _require_folder(context, option, given) if is_there(given) else given


_project = partial(
    click.option,
    "--project",
    default=Path(),
    type=click.Path(path_type=Path),
    help="The folder that contains .affidavit; by default the current one.",
)
project_option = _project(callback=_reject_file_as_folder)
existing_project_option = _project(callback=_require_folder)
tools_option = click.option(
    "--tools",
    type=click.Path(path_type=Path),
    help="The file that declares the tools; by default affidavit.toml in this project.",
)
routes_option = click.option(
    "--routes",
    type=click.Path(path_type=Path),
    help="The route table (YAML); by default the one that the tools file names.",
)
issuer_option = click.option(
    "--issuer", help="The issuer of the answer; by default from the tools file, or the key's id."
)
tsa_roots_option = click.option(
    "--tsa-roots",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Certificates (PEM) of the time stamp authorities that you trust. Repeatable.",
)

anchor_option = click.option(
    "--anchor",
    help="`self` for the digest only, or the URL of a time stamp authority (RFC 3161).",
)
anchor_required_option = click.option(
    "--anchor-required", is_flag=True, help="Issue no receipt without a time stamp."
)


def require_authority_option(anchor: str | None, required: bool) -> None:
    """Refuse an unusable time stamp authority before any tool is queried."""
    from affidavit.app.answer import require_authority_url

    if required and anchor in (None, "self"):
        raise click.UsageError("--anchor-required needs --anchor with the URL of an authority")
    if anchor not in (None, "self"):
        require_authority_url(str(anchor))


def jobs_option(help: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option for the number of parallel jobs, with the help text of a command."""
    return click.option(
        "--jobs", "-j", default=1, show_default=True, type=click.IntRange(1, 256), help=help
    )


STDIN_PATH: Final = Path("-")
STDIN_NAME: Final = "standard input"


def input_name(path: Path) -> str:
    """Return the name of an input for messages."""
    return STDIN_NAME if path == STDIN_PATH else str(path)


def read_input(path: Path, max_bytes: int) -> bytes:
    """Return the bytes of a file, or of standard input for a dash, up to a limit."""
    if path != STDIN_PATH:
        return read_bounded(path, max_bytes)
    # A closed standard input is None.
    raw = sys.stdin.buffer.read(max_bytes + 1) if sys.stdin else b""
    if len(raw) > max_bytes:
        raise AffidavitError(FILE_TOO_LARGE, Where(file=STDIN_NAME), limit=max_bytes)
    return raw


# Output paths are checked before the work starts, so that no long run is lost. Inputs are never
# overwritten, and no two outputs go to one file.


def require_output_paths(
    outputs: Iterable[Path | None], inputs: Iterable[str | Path | None]
) -> None:
    """Refuse outputs that would replace an input or one another, or that cannot be written.

    None stands for an option that was not given.
    """
    wanted = [path for path in outputs if path is not None]
    reject_overwrites(wanted, inputs)
    require_writable(wanted)


def reject_overwrites(outputs: Iterable[Path], inputs: Iterable[str | Path | None]) -> None:
    """Refuse to overwrite an input, or to write two outputs to one file."""
    from affidavit.base.faults.evidence import OUTPUT_IS_INPUT

    # A dash is standard input.
    taken = {resolved_path(Path(name)) for name in inputs if name is not None and str(name) != "-"}
    for path in outputs:
        place = resolved_path(path)
        if place in taken:
            raise AffidavitError(OUTPUT_IS_INPUT, Where(file=str(path)))
        taken.add(place)


def reject_folder(path: Path) -> None:
    """Refuse a folder as the path of an output file."""
    from affidavit.base.faults.input import FILE_IS_FOLDER

    if is_folder(path):
        raise AffidavitError(FILE_IS_FOLDER, Where(file=str(path)))


def require_writable(paths: Iterable[Path]) -> None:
    """Refuse files that cannot be written, with the same code as writing them."""
    from affidavit.base.faults.input import FILE_UNWRITABLE

    for path in paths:
        reject_folder(path)
        where, folder = Where(file=str(path)), path.parent
        if not is_folder(folder):
            raise AffidavitError(FILE_UNWRITABLE, where, reason="its folder does not exist")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise AffidavitError(FILE_UNWRITABLE, where, reason="permission denied")


def resolved_path(path: Path) -> Path:
    """Return the resolved path; unchanged if it cannot be resolved."""
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):
        return path
