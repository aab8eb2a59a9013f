import re
import sys
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affidavit.base.errors import AffidavitError
from affidavit.ledger import sentences
from affidavit.ledger.sentences import sentence_spans

SPEC = {
    "no text, no sentence": ("", []),
    "white space is no sentence": (" \n\n\t ", []),
    "prose is split at full stops": ("He left. She came.", ["He left.", "She came."]),
    "an abbreviation does not end a sentence": (
        "Dr. Smith spoke. Nobody heard.",
        ["Dr. Smith spoke.", "Nobody heard."],
    ),
    "a section number does not end a sentence": (
        "See section 4.2 of the policy. It applies.",
        ["See section 4.2 of the policy.", "It applies."],
    ),
    "a wrapped line stays in its sentence": ("Leave is\n15 days.", ["Leave is\n15 days."]),
    "a wrapped number is not a list": (
        "They may take all of their\n15. days and more.",
        ["They may take all of their\n15. days and more."],
    ),
    "a blank line ends a sentence without a stop": ("One\n\nTwo", ["One", "Two"]),
    "a heading stands alone, without its marks": (
        "# Leave. Rules\nIt is 15 days.",
        ["Leave. Rules", "It is 15 days."],
    ),
    "an underlined heading loses its line": ("Leave\n=====\nText.", ["Leave", "Text."]),
    "list items stand alone, without their bullets": (
        "Rules:\n- one day\n* two days. And more.\n\u2022 three",
        ["Rules:", "one day", "two days.", "And more.", "three"],
    ),
    "a task box is a mark too": ("- [x] done it\n- [ ] to do", ["done it", "to do"]),
    "numbered items stand alone": (
        "Steps:\n1. ask\n2) wait\n3. go",
        ["Steps:", "ask", "wait", "go"],
    ),
    "lettered items stand alone": ("(a) ask first\n(b) then go", ["ask first", "then go"]),
    "an item goes on in its next line": ("- one\n  day\n- two", ["one\n  day", "two"]),
    "a table row is one span, its separator none": (
        "| Kind | Days |\n|---|---|\n| Annual. Paid | 15 |\nAfter.",
        ["Kind | Days", "Annual. Paid | 15", "After."],
    ),
    "a ruler has no span": ("One.\n\n---\n\nTwo.", ["One.", "Two."]),
    "a quotation loses its first mark": ("> He left.\n> She came.", ["He left.", "> She came."]),
    "code is kept line by line, its fence is not": (
        "Run:\n```sh\nls. Then\n# cd\n```\nDone.",
        ["Run:", "ls. Then", "# cd", "Done."],
    ),
    "a fence of tildes may hold backticks": ("~~~\n```\nx = 1\n~~~\nEnd.", ["x = 1", "End."]),
    "a fence that is never closed is code to the end": ("```\nx = 1\ny = 2", ["x = 1", "y = 2"]),
    "an anchor before the stop stays inside": (
        "It is so [cite:a1b2c3d4]. Next one.",
        ["It is so [cite:a1b2c3d4].", "Next one."],
    ),
    "an anchor behind the stop goes with the sentence before": (
        "It is so. [cite:A1B2C3D4] Next one.[1] Third one. [^n][2, 3] Last (p1#2).",
        ["It is so. [cite:A1B2C3D4]", "Next one.[1]", "Third one. [^n][2, 3]", "Last (p1#2)."],
    ),
    "a Markdown link is no anchor": ("See it. [1](u) is here.", ["See it.", "[1](u) is here."]),
    "references are lines of their own": (
        "Text here.\n[^1]: HR Policy, p. 12\n[2] Guidelines\n[3] Else",
        ["Text here.", "[^1]: HR Policy, p. 12", "[2] Guidelines", "[3] Else"],
    ),
    "am ends a sentence before a capital letter": (
        "It opens at 9 am. Visitors sign in.",
        ["It opens at 9 am.", "Visitors sign in."],
    ),
    "am ends none before a day or a time zone": (
        "It opens at 9 am. Monday and at 8 a.m. Eastern time.",
        ["It opens at 9 am. Monday and at 8 a.m. Eastern time."],
    ),
    "a unit ends a sentence before its next word": (
        "They get 2 days per month. Their wall is 5 m. The end is near.",
        ["They get 2 days per month.", "Their wall is 5 m.", "The end is near."],
    ),
    "a German date is not cut": (
        "Es gilt ab 1. M\u00e4rz 2020. Es endet.",
        ["Es gilt ab 1. M\u00e4rz 2020.", "Es endet."],
    ),
    "Chinese": ("\u4e00\u3002\u4e8c\uff01\u4e09", ["\u4e00\u3002", "\u4e8c\uff01", "\u4e09"]),
    "a quotation in Japanese": (
        "\u5f7c\u306f\u300c\u884c\u304f\u3002\u6765\u308b\u3002\u300d\u3068\u8a00\u3046\u3002\u7d42\u3002",
        [
            "\u5f7c\u306f\u300c\u884c\u304f\u3002\u6765\u308b\u3002\u300d\u3068\u8a00\u3046\u3002",
            "\u7d42\u3002",
        ],
    ),
    "a quotation that is closed": (
        "\u300c\u4e00\u300d\u4e8c\u3002\u4e09\u3002",
        ["\u300c\u4e00\u300d\u4e8c\u3002", "\u4e09\u3002"],
    ),
    "Hindi": (
        "\u0915 \u0939\u0948\u0964 \u0916 \u0939\u0948\u0964",
        ["\u0915 \u0939\u0948\u0964", "\u0916 \u0939\u0948\u0964"],
    ),
    "question and exclamation marks end sentences": ("Why? Yes! So.", ["Why?", "Yes!", "So."]),
}


@pytest.mark.parametrize(("text", "wanted"), SPEC.values(), ids=SPEC.keys())
def test_sentence_spans(text: str, wanted: list[str]) -> None:
    assert [text[span.start : span.end] for span in sentence_spans(text)] == wanted


def test_an_endless_word_takes_no_endless_time() -> None:
    word = ".[1][1]" * 20_000
    before = time.process_time()
    assert len(sentence_spans(f"One. {word} Two.")) == 3
    assert time.process_time() - before < 2


PIECES = st.sampled_from(
    ("He left. ", "Dr. ", "\n", "\n\n", "- ", "1. ", "15. ", "# ", "| ", "> ", "```\n", "---\n")
) | st.sampled_from(
    ("[1] ", "[^a]: ", "[cite:a1b2c3d4]", "(p1#2)", "word", "3.5%", "\u00e9\u0301", "?", "\r\n")
)


@given(st.one_of(st.text(), st.lists(PIECES).map("".join)))
def test_spans_are_ordered_and_lose_no_letter(text: str) -> None:
    spans = sentence_spans(text)
    at = 0
    for span in spans:
        assert at <= span.start < span.end <= len(text)
        assert text[span.start : span.end] == text[span.start : span.end].strip()
        at = span.end
    if "```" not in text and "~~~" not in text:
        edges = [0, *(at for span in spans for at in (span.start, span.end)), len(text)]
        for start, end in batched_pairs(edges):
            assert not re.search(r"[^\W_]", LIST_MARK.sub("", text[start:end]))


LIST_MARK = re.compile(r"\(?(?:\d{1,3}|[a-z]{1,5})[.)]|\[[xX]\]")


def batched_pairs(edges: list[int]) -> Iterator[tuple[int, int]]:
    return zip(edges[::2], edges[1::2], strict=True)


def test_nupunkt_is_asked_for_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nupunkt", None)
    sentences._model.cache_clear()
    with pytest.raises(AffidavitError, match=r"AF003.*affidavit\[ledger\]"):
        sentence_spans("One.")
    sentences._model.cache_clear()
