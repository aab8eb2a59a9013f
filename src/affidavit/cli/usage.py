"""A wrong command line becomes AF001, with the nearest thing that would have been right."""

from collections.abc import Iterable, Iterator

import click

from affidavit.base.errors import AffidavitError
from affidavit.base.faults.input import USAGE
from affidavit.cli.lazy import LazyGroup
from affidavit.cli.tree import Branch


def usage_error_from(error: click.UsageError) -> AffidavitError:
    """Return click's complaint as a fault of the catalog: what is wrong, and what to type."""
    command = error.ctx.command_path if error.ctx else "affidavit"
    match error:
        case click.NoSuchCommand():
            problem = f"there is no command `{command} {error.command_name}`"
            nearest = _nearest_command(error)
        case click.NoSuchOption():
            problem = f"`{command}` has no option {error.option_name}"
            nearest = _nearest_option(error)
        case _:
            problem = _sentence(error.format_message())
            nearest = None
    guess = f"did you mean `{nearest}`? If not, " if nearest else ""
    return AffidavitError(USAGE, problem=problem, hint=f"{guess}run `{command} --help`")


def no_command_error(command: str) -> AffidavitError:
    """Return the fault of a group that was called without a command."""
    return AffidavitError(
        USAGE, problem=f"`{command}` needs a command", hint="choose one from the list above"
    )


def _sentence(message: str) -> str:
    # The renderer adds the full stop; an error of the catalog begins in lower case.
    text = message.strip().rstrip(".")
    return text[:1].lower() + text[1:]


def _nearest_command(error: click.NoSuchCommand) -> str | None:
    """Look among the commands of this group first, then everywhere: `lint` is `evidence lint`."""
    if error.ctx is None or not isinstance(error.ctx.command, LazyGroup):
        return None
    here = {member.name: member.name for member in error.ctx.command.branch.members()}
    name = _nearest(error.command_name, here)
    if name is not None:
        return f"{error.ctx.command_path} {name}"
    root = error.ctx.find_root().command
    paths = _paths(root.branch) if isinstance(root, LazyGroup) else ()
    by_last_word = {path.rpartition(" ")[2]: path for path in paths}
    word = _nearest(error.command_name, by_last_word)
    return None if word is None else by_last_word[word]


def _paths(branch: Branch, above: str = "") -> Iterator[str]:
    for member in branch.members():
        path = f"{above or branch.name} {member.name}"
        yield path
        if isinstance(member, Branch):
            yield from _paths(member, path)


def _nearest_option(error: click.NoSuchOption) -> str | None:
    if error.ctx is None:
        return None
    parameters = error.ctx.command.get_params(error.ctx)
    names = [
        name
        for parameter in parameters
        if isinstance(parameter, click.Option) and not parameter.hidden
        for name in (*parameter.opts, *parameter.secondary_opts)
    ]
    return _nearest(error.option_name, names)


def _nearest(word: str, known: Iterable[str]) -> str | None:
    from difflib import get_close_matches

    by_lower = {name.lower(): name for name in known}
    found = get_close_matches(word.lower(), by_lower, n=1)
    return by_lower[found[0]] if found else None
