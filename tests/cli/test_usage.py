"""A wrong command line gives one line, AF001, with the next step."""

import json

import pytest
from tests.cli.running import run, run_sample

WRONG = {
    "a misspelt command": (
        ["doctr"],
        "unknown command `affidavit doctr`."
        " Next: did you mean `affidavit doctor`? If not, run `affidavit --help`",
    ),
    "a command in capitals": (
        ["DOCTOR"],
        "unknown command `affidavit DOCTOR`."
        " Next: did you mean `affidavit doctor`? If not, run `affidavit --help`",
    ),
    "a command that resembles nothing": (
        ["xyzzy"],
        "unknown command `affidavit xyzzy`. Next: run `affidavit --help`",
    ),
    "a misspelt option": (
        ["doctor", "--jsn"],
        "`affidavit doctor` has no option --jsn."
        " Next: did you mean `--json`? If not, run `affidavit doctor --help`",
    ),
    "a misspelt option before the command": (
        ["--verbos", "doctor"],
        "`affidavit` has no option --verbos."
        " Next: did you mean `--verbose`? If not, run `affidavit --help`",
    ),
    "a short option": (
        ["-x"],
        "`affidavit` has no option -x. Next: run `affidavit --help`",
    ),
    "a value for a flag": (
        ["doctor", "--json=yes"],
        "option '--json' does not take a value. Next: run `affidavit doctor --help`",
    ),
    "an argument too many": (
        ["doctor", "now"],
        "got unexpected extra argument (now). Next: run `affidavit doctor --help`",
    ),
    "a missing argument": (
        ["completion"],
        "missing argument '{bash|zsh|fish}'. Choose from: bash, zsh, fish."
        " Next: run `affidavit completion --help`",
    ),
    "a choice that does not exist": (
        ["completion", "tcsh"],
        "invalid value for '{bash|zsh|fish}': 'tcsh' is not one of 'bash', 'zsh', 'fish'."
        " Next: run `affidavit completion --help`",
    ),
    "options but no command": (["-q"], "missing command. Next: run `affidavit --help`"),
}

WRONG_DEEPER = {
    "a misspelt command of a group": (
        ["look", "darw"],
        "unknown command `affidavit look darw`."
        " Next: did you mean `affidavit look draw`? If not, run `affidavit look --help`",
    ),
    "a misspelt command two levels down": (
        ["look", "deep", "wrok"],
        "unknown command `affidavit look deep wrok`."
        " Next: did you mean `affidavit look deep work`? If not, run `affidavit look deep --help`",
    ),
    "a command of a group, without the group": (
        ["work"],
        "unknown command `affidavit work`."
        " Next: did you mean `affidavit look deep work`? If not, run `affidavit --help`",
    ),
    "a command of the root, inside a group": (
        ["look", "tell"],
        "unknown command `affidavit look tell`."
        " Next: did you mean `affidavit tell`? If not, run `affidavit look --help`",
    ),
    "a misspelt option of a group": (
        ["look", "--quite", "draw"],
        "`affidavit look` has no option --quite."
        " Next: did you mean `--quiet`? If not, run `affidavit look --help`",
    ),
    "a misspelt option of the command": (
        ["tell", "x", "--tims", "2"],
        "`affidavit tell` has no option --tims."
        " Next: did you mean `--times`? If not, run `affidavit tell --help`",
    ),
    "a value of another type": (
        ["tell", "x", "--times", "often"],
        "invalid value for '--times': 'often' is not a valid integer."
        " Next: run `affidavit tell --help`",
    ),
    "a missing value": (
        ["tell", "x", "--times"],
        "option '--times' requires an argument. Next: run `affidavit tell --help`",
    ),
}


@pytest.mark.parametrize(("arguments", "said"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_command_line(arguments: list[str], said: str) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"AF001: {said}\n")


@pytest.mark.parametrize(("arguments", "said"), WRONG_DEEPER.values(), ids=WRONG_DEEPER.keys())
def test_a_wrong_command_line_of_nested_commands(arguments: list[str], said: str) -> None:
    result = run_sample(*arguments)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"AF001: {said}\n")


@pytest.mark.parametrize("words", [[], ["look"], ["look", "deep"]], ids=" ".join)
def test_a_group_without_a_command_shows_its_help(words: list[str]) -> None:
    result = run_sample(*words)
    path = " ".join(["affidavit", *words])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"Usage: {path} [OPTIONS] COMMAND")
    line = f"\n\nAF001: `{path}` needs a command. Next: choose one from the list above\n"
    assert result.stderr.endswith(line)


@pytest.mark.parametrize(
    "arguments", [["--json", "doctr"], ["doctr", "--json"], ["doctor", "--nope", "--json"]]
)
def test_the_error_is_also_json_wherever_the_option_stands(arguments: list[str]) -> None:
    result = run(*arguments)
    error = json.loads(result.stdout)["error"]
    assert result.exit_code == 2
    assert result.stderr == f"AF001: {error['message']}. Next: {error['next']}\n"


def test_json_behind_the_dashes_is_an_argument() -> None:
    result = run("doctor", "--nope", "--", "--json")
    assert (result.exit_code, result.stdout) == (2, "")
