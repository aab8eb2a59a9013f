"""The commands that prepare a project and a shell: `affidavit init` and `affidavit completion`."""

import shlex
from pathlib import Path

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from affidavit.base.exits import Exit
from affidavit.cli.command import command
from affidavit.cli.commands import COMPLETION_VARIABLE, ROOT, Example
from affidavit.cli.terminal import Terminal


@command(
    examples=(
        Example(
            "affidavit init",
            "a config, a small gold set with answers, and a workflow in this folder",
        ),
        Example("affidavit init my-project", "the same in another folder"),
        Example("affidavit init --tools", "tools with two sources, and checks that ask them"),
    ),
    exits={Exit.YES: "the files exist"},
)
@click.argument(
    "folder",
    default=Path(),
    required=False,
    type=click.Path(path_type=Path),
    help="The project folder; by default the current one.",
)
@click.option("--tools", is_flag=True, help="Files for `affidavit answer` instead of gates.")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
def init(terminal: Terminal, folder: Path, tools: bool, force: bool) -> Exit:
    """Create the first files of a project with gates or tools.

    They work at once: run the command that is printed last, then replace the questions and answers
    with your own. Existing files are kept.
    """
    from affidavit.app.init_project import STARTER_FILES, TOOL_FILES, create_project_files

    started = create_project_files(folder, TOOL_FILES if tools else STARTER_FILES, force=force)
    config = shlex.quote(str(folder / "affidavit.toml"))
    following = f"affidavit gate all -c {config}"
    if tools:
        place = "" if folder == Path() else f" --project {shlex.quote(str(folder))}"
        checks = shlex.quote(str(folder / "checks.yaml"))
        following = f"affidavit keys new{place} && affidavit answer {checks}{place}"
    if terminal.json:
        terminal.print_json({"written": started.written, "kept": started.kept, "next": following})
        return Exit.YES
    for name in started.written:
        terminal.print(f"wrote {folder / name}")
    for name in started.kept:
        terminal.print(f"kept  {folder / name} (already exists; --force overwrites it)")
    terminal.print(f"\nNext: {following}")
    return Exit.YES


@command(
    examples=(
        Example("affidavit help", "the pages that there are"),
        Example("affidavit help checks", "the operators and rules of checks"),
    ),
    exits={Exit.YES: "printed"},
)
@click.argument("topic", required=False, help="The name of a page; without one, all are listed.")
def help_page(terminal: Terminal, topic: str | None) -> Exit:
    """Print a page of the documentation.

    The pages are installed with the program, so they describe this version and need no network.
    """
    from affidavit.app.help_topics import help_page as page_of
    from affidavit.app.help_topics import help_topics

    if topic is not None:
        page = page_of(topic)
        if terminal.json:
            terminal.print_json({"topic": topic, "markdown": page})
        else:
            terminal.print(page.rstrip())
        return Exit.YES
    topics = help_topics()
    if terminal.json:
        terminal.print_json({"topics": topics})
    else:
        terminal.table(("Topic", "What it is about"), topics.items())
    return Exit.YES


SHELLS: dict[str, type[ShellComplete]] = {
    "bash": BashComplete,
    "zsh": ZshComplete,
    "fish": FishComplete,
}


@command(
    examples=(
        Example(
            "affidavit completion bash > ~/.local/share/bash-completion/completions/affidavit",
            "bash 4.4 or newer with the package bash-completion",
        ),
        Example(
            "affidavit completion zsh > ~/.zfunc/_affidavit",
            "zsh, with `fpath+=~/.zfunc` before `compinit` in ~/.zshrc",
        ),
        Example(
            "affidavit completion fish > ~/.config/fish/completions/affidavit.fish",
            "fish",
        ),
        Example('eval "$(affidavit completion bash)"', "bash, for this session only"),
    ),
    exits={Exit.YES: "the script is printed"},
)
@click.argument("shell", type=click.Choice(tuple(SHELLS)), help="The shell you use.")
def completion(terminal: Terminal, shell: str) -> Exit:
    """Print the completion script of your shell.

    Save it where your shell looks for such scripts (see the examples; the folder must exist), and
    open a new shell. The script asks `affidavit` itself, so it is always up to date.
    """
    program = click.get_current_context().find_root().command
    # Not BashComplete.source(), which starts bash to warn about its version.
    script = ShellComplete.source(SHELLS[shell](program, {}, ROOT.name, COMPLETION_VARIABLE))
    if terminal.json:
        terminal.print_json({"shell": shell, "script": script})
    else:
        terminal.print(script.rstrip("\n"))
    return Exit.YES
