"""The help is complete, compared with golden files, and its examples work."""

import itertools
import shlex
from collections.abc import Iterator

import click
import pytest
from tests.cli.running import run, run_sample
from tests.golden_files import Golden

from affidavit import __version__
from affidavit.base.exits import Exit
from affidavit.cli.commands import ROOT, CommandEntry, Example, GroupEntry
from affidavit.cli.program import DocumentedCommand, LazyGroup, cli, example_lines, load_command


def all_commands() -> Iterator[tuple[str, DocumentedCommand]]:
    """Yield every command of the product by the words that call it, the root first."""

    def below(words: str, command: click.Command) -> Iterator[tuple[str, DocumentedCommand]]:
        assert isinstance(command, DocumentedCommand)
        yield words, command
        if isinstance(command, LazyGroup):
            context = click.Context(command)
            for name in command.list_commands(context):
                member = command.get_command(context, name)
                assert member is not None
                yield from below(f"{words} {name}", member)

    yield from below("affidavit", cli)


COMMANDS = dict(all_commands())


def leaves(branch: GroupEntry) -> Iterator[CommandEntry]:
    for member in branch.members():
        if isinstance(member, CommandEntry):
            yield member
        else:
            yield from leaves(member)


@pytest.mark.parametrize("words", COMMANDS)
def test_help_is_as_it_was_read(words: str, golden: Golden) -> None:
    result = run(*words.split()[1:], "--help")
    assert (result.exit_code, result.stderr) == (0, "")
    golden.check(f"help/{words.replace(' ', '-')}.txt", result.stdout)


def test_help_of_nested_groups_is_as_it_was_read(golden: Golden) -> None:
    texts = [run_sample(*words, "-h").stdout for words in ([], ["look"], ["look", "deep"])]
    golden.check("help-of-the-sample.txt", "\n".join(texts))


@pytest.mark.parametrize("words", COMMANDS)
def test_help_has_an_example_that_the_parser_accepts(
    words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    help_text = run(*words.split()[1:], "--help").stdout
    only_parse(monkeypatch)
    for example in COMMANDS[words].examples:
        assert example.line in help_text
        result = run(*arguments_in(example.line))
        assert (result.exit_code, result.stderr) == (0, "")


def only_parse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parse command lines completely, without running the command."""
    monkeypatch.setattr(click.Context, "invoke", lambda *_, **__: Exit.YES)


def arguments_in(line: str) -> list[str]:
    """Return the arguments of `affidavit` in a line for the shell."""
    tokens = shlex.split(line.replace('"$(', "").replace(')"', ""))
    behind = tokens[tokens.index("affidavit") + 1 :]
    return list(itertools.takewhile(lambda token: token not in {"|", ">", "&&", ";"}, behind))


def test_an_example_with_a_wrong_option_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    only_parse(monkeypatch)
    assert run(*arguments_in("affidavit doctor --json > x.json")).exit_code == 0
    assert run(*arguments_in("affidavit doctor --nope > x.json")).exit_code == 2


@pytest.mark.parametrize("leaf", tuple(leaves(ROOT)), ids=lambda leaf: leaf.name)
def test_the_table_and_the_docstring_say_the_same(leaf: CommandEntry) -> None:
    assert str(load_command(leaf).help).partition("\n")[0] == leaf.help


@pytest.mark.parametrize("leaf", tuple(leaves(ROOT)), ids=lambda leaf: leaf.name)
def test_the_line_of_the_table_is_short_and_has_no_comma(leaf: CommandEntry) -> None:
    # It must fit one line of the help, and fish's script cuts a description at a comma.
    assert len(leaf.help) <= 60
    assert "," not in leaf.help


def test_a_command_without_an_example_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="has no example"):
        DocumentedCommand("mute", examples=(), exits={})


def test_a_command_of_another_kind_is_refused() -> None:
    with pytest.raises(TypeError, match="not made with"):
        load_command(CommandEntry("x", "tests.cli.sample_commands:leaf", ""))


def test_version() -> None:
    result = run("--version")
    assert (result.exit_code, result.stdout) == (0, f"affidavit {__version__}\n")


def test_examples_that_are_too_wide_stand_below_their_notes() -> None:
    examples = (Example("affidavit a", "short"), Example("affidavit b --long", "also short"))
    assert example_lines(examples, 80) == [
        "affidavit a         # short",
        "affidavit b --long  # also short",
    ]
    assert example_lines(examples, 30) == [
        "# short",
        "affidavit a",
        "",
        "# also short",
        "affidavit b --long",
    ]
