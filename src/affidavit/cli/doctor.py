"""`affidavit doctor`."""

from collections.abc import Iterator

from affidavit.app.doctor import Examination, HealthState, PackageHealth, examine
from affidavit.base.exits import Exit
from affidavit.cli.command import command
from affidavit.cli.commands import Example
from affidavit.cli.terminal import Terminal
from affidavit.reports.text_tables import Cell, Tone

_STATE_TONES = {
    HealthState.OK: Tone.GOOD,
    HealthState.MISSING: Tone.FAINT,
    HealthState.BROKEN: Tone.BAD,
}


@command(
    examples=(
        Example("affidavit doctor", "a table for people"),
        Example(
            "affidavit doctor --json > doctor.json", "everything, for machines or a bug report"
        ),
        Example("affidavit -q doctor > /dev/null", "only the exit code, for a script"),
    ),
    exits={
        Exit.YES: "the core works; a missing extra is not an error",
        Exit.NO: "the core does not work, or an installed library is broken",
    },
)
def doctor(terminal: Terminal) -> Exit:
    """Show what is installed and what works.

    It also says how to repair the rest. Every installed library is imported once, in a separate
    process, and the core is tried: a signature, a canonical form, a file, a database, and the
    judge's encoder if its extra is installed. Nothing is changed, and nothing is sent.
    """
    found = examine()
    if terminal.json:
        terminal.print_json(found)
    else:
        print_examination(terminal, found)
    return Exit.YES if found.ok else Exit.NO


def print_examination(terminal: Terminal, found: Examination) -> None:
    """Print an examination for people."""
    terminal.print(f"Affidavit {found.version} on {found.python}, {found.platform}\n")
    terminal.table(("Part", "Package", "Version", "State"), package_rows(found))
    terminal.print("")
    trials = ((trial.name, state_cell(trial.state), trial.detail) for trial in found.trials)
    terminal.table(("Tried", "State", "Result"), trials)
    # Not in the tables, which wrap long lines: a command has to be copied in one piece.
    for title, lines in (
        ("To repair:", repairs(found)),
        ("Optional:", optional_installs(found)),
    ):
        if lines:
            terminal.print("\n".join(("", title, *(f"  {line}" for line in lines))))
    terminal.print("\nThe core works." if found.ok else "\nSomething is broken.")


def package_rows(found: Examination) -> Iterator[tuple[Cell | str, ...]]:
    """Yield a row per library; an extra without an installed library is one row."""
    for package in found.core:
        yield package_row("core", package)
    for extra in found.extras:
        count = len(extra.packages)
        if count > 1 and all(package.state is HealthState.MISSING for package in extra.packages):
            yield (extra.name, f"{count} packages", "", state_cell(extra.state))
        else:
            yield from (package_row(extra.name, package) for package in extra.packages)


def package_row(part: str, package: PackageHealth) -> tuple[Cell | str, ...]:
    """Return the row of one library."""
    return (part, package.name, package.version or "", state_cell(package.state))


def state_cell(state: HealthState) -> Cell:
    """Return the cell of a state."""
    return Cell(
        "not installed" if state is HealthState.MISSING else state.value, _STATE_TONES[state]
    )


def repairs(found: Examination) -> tuple[str, ...]:
    """Return a line for each problem, with the next step."""
    needed = [package for package in found.core if package.state is not HealthState.OK]
    optional = (package for extra in found.extras for package in extra.packages)
    broken = [package for package in optional if package.state is HealthState.BROKEN]
    lines = [
        f"{package.name} ({package.detail or 'not installed'}): {package.next_step}"
        for package in (*needed, *broken)
    ]
    lines += [
        f"{trial.name} ({trial.detail}): {trial.next_step}"
        for trial in found.trials
        if trial.state is HealthState.BROKEN
    ]
    return tuple(dict.fromkeys(lines))


def optional_installs(found: Examination) -> tuple[str, ...]:
    """Return the commands that install missing extras."""
    steps = [extra.next_step for extra in found.extras]
    steps += [trial.next_step for trial in found.trials if trial.state is HealthState.MISSING]
    return tuple(dict.fromkeys(step for step in steps if step is not None))
