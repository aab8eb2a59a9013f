"""`affidavit completion`."""

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from affidavit.base.exits import Exit
from affidavit.cli.command import command
from affidavit.cli.commands import COMPLETION_VARIABLE, ROOT
from affidavit.cli.terminal import Terminal
from affidavit.cli.tree import Example

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
    """Print the script that completes commands in your shell.

    Put it where your shell looks for such scripts (see the examples; the folder must exist), and
    open a new shell. The script asks `affidavit` itself, so that it never grows old.
    """
    program = click.get_current_context().find_root().command
    # The base class's source(): bash's own starts a bash to warn about its version.
    script = ShellComplete.source(SHELLS[shell](program, {}, ROOT.name, COMPLETION_VARIABLE))
    if terminal.json:
        terminal.print_json({"shell": shell, "script": script})
    else:
        terminal.print(script.rstrip("\n"))
    return Exit.YES
