"""The comment of a pull request: the verdict first, nothing of it acts, and it fits."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.golden_files import Golden
from tests.reports import gate_samples

from affidavit.reports.gate_markdown import MAX_COMMENT_LENGTH, escaped, marker

ESCAPES = {
    "a table's bar": ("a|b", "a\\|b"),
    "code and emphasis": ("`a` *b* _c_ ~d~", "\\`a\\` \\*b\\* \\_c\\_ \\~d\\~"),
    "a link": ("[a](b)", "\\[a\\](b)"),
    "HTML": ("<img src=x> & co", "&lt;img src=x&gt; &amp; co"),
    "a mention": ("@octocat", "@\u200boctocat"),
    "an issue": ("#12 GH-7", "\\#\u200b12 GH\u200b-7"),
    "an address": (
        "https://a.example www.b.example",
        "https:\u200b//a.example www\u200b.b.example",
    ),
    "mathematics": ("$x$", "\\$x\\$"),
    "a heading, a list and a rule": ("# a", "\\# a"),
    "a list item": ("- a", "\\- a"),
    "a numbered item": ("1. a", "1\\. a"),
    "a number is no list": ("0.5", "0.5"),
    "line breaks": ("a\n\n# b", "a \\# b"),
    "what is not seen": ("a\x1b[2Jb", "a\\\\u001b\\[2Jb"),
}


@pytest.mark.parametrize(("text", "wanted"), ESCAPES.values(), ids=ESCAPES.keys())
def test_escaped(text: str, wanted: str) -> None:
    assert escaped(text) == wanted


@given(st.text(max_size=300))
def test_nothing_that_is_escaped_acts(text: str) -> None:
    made = escaped(text)
    assert "\n" not in made
    assert not re.search(r"[<>]|@\w|#\d|://", made)
    assert not re.search(r"(?<!\\)(?:\\\\)*[`*_|\[\]]", re.sub(r"\\.", "", made))


@pytest.mark.parametrize("kind", gate_samples.KINDS)
def test_the_comment(kind: str, golden: Golden) -> None:
    golden.check(f"gate_{kind}.md", gate_samples.markdown_of(gate_samples.KINDS[kind]()))


def test_the_verdict_stands_first() -> None:
    lines = gate_samples.markdown_of(gate_samples.rag(5, 5)).splitlines()
    assert lines[0] == marker("rag") == "<!-- affidavit:rag -->"
    assert lines[1].startswith("## ❌ Do not ship: 2 passed, 2 failed, 1 not measured")


def test_a_marker_holds_nothing_that_ends_it() -> None:
    assert marker("x --> <b>") == "<!-- affidavit:xb -->"


def test_it_fits_into_a_comment_and_says_what_was_left_out() -> None:
    wire = gate_samples.rag(3, 10, changes={"claim": "|" * 5000, "citations": ["@" * 90] * 500})
    wire["warnings"] = ["<" * 400] * 60
    wire["reasons"] = ["<" * 400] * 30
    made = gate_samples.markdown_of(wire)
    assert len(made) <= MAX_COMMENT_LENGTH
    assert "and 20 more reasons" in made
    assert "Left out, for a comment has its limits: notes." in made
    assert "| precision |" in made


def test_even_what_is_needed_is_cut_rather_than_too_long() -> None:
    wire = gate_samples.latency()
    wire["gates"] = [{**wire["gates"][0], "metric": "<" * 400 + str(n)} for n in range(150)]
    made = gate_samples.markdown_of(wire)
    assert len(made) <= MAX_COMMENT_LENGTH
    assert made.endswith("_Cut here, for a comment has its limits. The JSON report has all._\n")


def test_many_gates_are_cut_and_counted() -> None:
    wire = gate_samples.latency()
    wire["gates"] = [{**wire["gates"][0], "metric": f"p95_ms/{n}rps"} for n in range(150)]
    assert "| and 55 more |" in gate_samples.markdown_of(wire)


def test_a_report_of_several_gates() -> None:
    parts: dict[str, Any] = {"rag": gate_samples.rag(), "latency": gate_samples.latency()}
    whole = {
        "schema_version": "affidavit-gate/1",
        "kind": "all",
        "decision": "no_ship",
        "reasons": ["latency: p95_ms is too high"],
        "parts": parts,
    }
    made = gate_samples.markdown_of(whole)
    assert made.startswith("<!-- affidavit:all -->\n## ❌ Do not ship\n")
    assert "| RAG answers | ❔ Could not tell |" in made
    assert "### ❌ Latency: do not ship: 2 passed, 1 failed" in made
    assert made.count("<!--") == 1
