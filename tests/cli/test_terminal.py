"""Output: text and JSON, on a terminal and in a pipe."""

import json
import re
from dataclasses import dataclass
from enum import StrEnum
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.running import SAMPLED, run_on_terminal, run_process, run_sample
from tests.cli.sample_commands import LONG_WORD

from affidavit.cli.program import Flags
from affidavit.cli.terminal import Terminal
from affidavit.reports.json_text import json_bytes
from affidavit.reports.text_tables import (
    TextTable,
    cell_width,
    escape_controls,
    plain_table,
    single_line,
)

ESCAPE = "\x1b["


def test_a_table_in_a_pipe_is_whole_and_plain() -> None:
    result = run_sample("look", "draw")
    width = len(LONG_WORD)
    assert result.stdout == (
        f"{'WORD':<{width}}  STATE  NOTE\n"
        f"{'-' * width}  -----  --------------\n"
        f"{LONG_WORD}  fine   [bold]x[/bold]\n"
        f"{'b':<{width}}  bad    y\n"
    )


@pytest.mark.parametrize("columns", [30, 80])
def test_a_table_on_a_screen_fits_and_loses_nothing(columns: int) -> None:
    code, shown = run_on_terminal(SAMPLED, "look", "draw", columns=columns)
    text = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert code == 0
    assert max(map(len, text.splitlines())) <= columns
    letters = "".join(
        line.split()[0] for line in text.splitlines() if line.startswith("  ") and line[2] != " "
    )
    assert LONG_WORD in letters
    assert "✓ fine" in text
    assert "✗ bad" in text
    assert "…" not in text


NO_COLOR = {
    "the option": (["--no-color"], {}),
    "the variable": ([], {"NO_COLOR": "1"}),
    "a terminal that can do nothing": ([], {"TERM": "dumb"}),
}


def test_a_screen_has_colors() -> None:
    assert f"{ESCAPE}32m" in run_on_terminal(SAMPLED, "look", "draw")[1]


def test_an_empty_no_color_variable_has_no_effect() -> None:
    # https://no-color.org: "when present and not an empty string".
    assert f"{ESCAPE}32m" in run_on_terminal(SAMPLED, "look", "draw", env={"NO_COLOR": ""})[1]


@pytest.mark.parametrize(("options", "env"), NO_COLOR.values(), ids=NO_COLOR.keys())
def test_no_colors_by(options: list[str], env: dict[str, str]) -> None:
    shown = run_on_terminal(SAMPLED, *options, "look", "draw", env=env)[1]
    assert "fine" in shown
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]", shown)


def test_a_screen_without_unicode_gets_ascii_signs() -> None:
    shown = run_on_terminal(SAMPLED, "look", "draw", env={"PYTHONIOENCODING": "ascii"})[1]
    assert shown.isascii()
    assert "+ fine" in shown
    assert "x bad" in shown


def test_without_rich_the_table_has_no_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = f"import sys; sys.modules['rich'] = None; {SAMPLED}"
    code, shown = run_on_terminal(broken, "look", "draw", columns=200)
    assert code == 0
    assert "WORD" in shown


def test_progress_is_shown_on_a_terminal_only() -> None:
    assert "Counting" in run_on_terminal(SAMPLED, "look", "deep", "work")[1]
    assert "Counting" not in run_on_terminal(SAMPLED, "-q", "look", "deep", "work")[1]
    done = run_process(SAMPLED, "look", "deep", "work")
    assert (done.stdout, done.stderr) == (b"3\n", b"")


def test_notes_and_details() -> None:
    assert run_sample("tell", "x").stderr == "a note\n"
    assert run_sample("tell", "x", "-q").stderr == ""
    assert run_sample("tell", "x", "-v").stderr == "a note\na detail\n"


SPELLINGS = [
    [*before, "look", *between, "draw", *after]
    for before, between, after in product(([], ["--json"]), repeat=3)
    if before or between or after
]


@pytest.mark.parametrize("arguments", SPELLINGS, ids=" ".join)
def test_with_json_standard_output_has_only_json(arguments: list[str]) -> None:
    result = run_sample(*arguments)
    assert result.stdout == ""
    assert LONG_WORD in result.stderr


class Color(StrEnum):
    RED = "red"


@dataclass(frozen=True, slots=True)
class Thing:
    color: Color
    parts: tuple["Thing", ...] = ()


def test_json_of_frozen_things() -> None:
    thing = Thing(Color.RED, (Thing(Color.RED),))
    wanted = {"color": "red", "parts": [{"color": "red", "parts": []}]}
    assert json.loads(json_bytes({"thing": thing, "name": "é"})) == {"thing": wanted, "name": "é"}
    assert "é".encode() in json_bytes("é")


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, Thing, b"x"], ids=repr)
def test_values_without_a_json_form_are_refused(value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        json_bytes(value)


SHOWN = {
    "colors are not obeyed": ("\x1b[32mok", "\\x1b[32mok"),
    "the screen is not cleared": ("\x1bc", "\\x1bc"),
    "nothing is overwritten": ("no\ryes", "no\\x0dyes"),
    "nothing is deleted": ("no\x08\x08yes", "no\\x08\\x08yes"),
    "control characters of eight bits": ("\x9b2J", "\\x9b2J"),
    "letters are not turned around": ("a\u202eb", "a\\u202eb"),
    "invisible characters are shown": ("q1\u200b\ufeff\xad", "q1\\u200b\\ufeff\\xad"),
    "also beyond the first plane": ("a\U000e0041", "a\\U000e0041"),
    "joiners stay": ("👩\u200d🚀", "👩\u200d🚀"),
    "letters stay": ("naïve 漢字 é", "naïve 漢字 é"),
    "lines stay": ("a\n\tb", "a\n\tb"),
}


@pytest.mark.parametrize(("text", "shown"), SHOWN.values(), ids=SHOWN.keys())
def test_text_from_files_cannot_control_the_terminal(
    text: str, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert escape_controls(text) == shown
    terminal = Terminal(Flags(verbose=True))
    terminal.print(text)
    terminal.note(text)
    terminal.detail(text)
    assert tuple(capsys.readouterr()) == (f"{shown}\n", f"{shown}\n{shown}\n")


@given(st.text())
def test_one_line_is_one_line(text: str) -> None:
    assert len(single_line(text).splitlines()) <= 1


@given(st.lists(st.tuples(st.text(), st.text()), max_size=5))
def test_a_plain_table_has_a_line_per_row_and_every_cell(rows: list[tuple[str, str]]) -> None:
    lines = plain_table(TextTable(("a", "b"), tuple(rows))).split("\n")
    assert len(lines) == len(rows) + 3
    for (first, second), line in zip(rows, lines[2:], strict=False):
        assert single_line(first) in line
        assert single_line(second) in line


WIDTHS = {"ascii": ("abc", 3), "wide": ("漢字", 4), "combining": ("e\u0301", 1), "empty": ("", 0)}


@pytest.mark.parametrize(("text", "width"), WIDTHS.values(), ids=WIDTHS.keys())
def test_width(text: str, width: int) -> None:
    assert cell_width(text) == width
