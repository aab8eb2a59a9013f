"""The answer as blocks: what its Markdown becomes, and where its claims are."""

from typing import Any

import pytest
from tests.ledger.examples import ledger_of

from affidavit.ledger.flat import styled_ranges
from affidavit.ledger.model import Span
from affidavit.reports.answer_view import answer_blocks

STYLES = {
    "bold": ("a **b c** d", [("b c", "strong")]),
    "italics by stars and by underscores": ("*a* _b_", [("a", "em"), ("b", "em")]),
    "one within the other": ("**a _b_**", [("b", "em"), ("a _b_", "strong")]),
    "struck out": ("~~a~~", [("a", "del")]),
    "code keeps its stars": ("`a *b*`", [("a *b*", "code")]),
    "a link is its words": ("[a](http://b.example/c_d_e)", [("a", "link")]),
    "a product is no emphasis": ("5*3*2", []),
    "a mark without its partner is text": ("**a", []),
    "a name with underscores": ("HR_Policy_2024", []),
    "nothing between the marks": ("****", []),
}


@pytest.mark.parametrize(("text", "wanted"), STYLES.values(), ids=STYLES.keys())
def test_styled_ranges(text: str, wanted: list[tuple[str, str]]) -> None:
    found = styled_ranges(text, (Span(0, len(text)),))
    assert [(text[span.start : span.end], style) for span, style in found] == wanted


def words(blocks: list[dict[str, Any]]) -> list[Any]:
    """Return the blocks with their plain text."""

    def plain(pieces: list[dict[str, Any]]) -> str:
        return "".join(piece["text"] for piece in pieces)

    found: list[Any] = []
    for block in blocks:
        match block["kind"]:
            case "code":
                found.append(("code", block["text"]))
            case "list":
                items = [
                    (item["mark"], item["depth"], plain(item["pieces"])) for item in block["items"]
                ]
                found.append(("list", items))
            case "table":
                rows = [[plain(cell) for cell in row] for row in block["rows"]]
                found.append(("table", [plain(cell) for cell in block["header"]], rows))
            case kind:
                found.append((kind, plain(block["pieces"])))
    return found


BLOCKS = {
    "a paragraph over two lines": ("One fact.\nTwo facts.", [("text", "One fact. Two facts.")]),
    "headings of both kinds": (
        "# First #\n\nText is here.\n\nSecond\n======\n",
        [("heading", "First"), ("text", "Text is here."), ("heading", "Second")],
    ),
    "bullets, numbers and depth": (
        "- one\n  - two\n\n1. three\n",
        [("list", [("\u2022", 0, "one"), ("\u2022", 1, "two"), ("1.", 0, "three")])],
    ),
    "a table": (
        "| Day | Leave |\n| --- | --- |\n| May | **2** |\n",
        [("table", ["Day", "Leave"], [["May", "2"]])],
    ),
    "code is shown as it is": ("```sh\nls **x**\n```\n", [("code", "ls **x**")]),
    "markup is text": ("Is <script>x</script> bad?", [("text", "Is <script>x</script> bad?")]),
    "an anchor stays": (
        "Staff get leave [cite:a1b2c3d4].",
        [("text", "Staff get leave[cite:a1b2c3d4].")],
    ),
    "nothing": ("", []),
}


@pytest.mark.parametrize(("answer", "wanted"), BLOCKS.values(), ids=BLOCKS.keys())
def test_answer_blocks(answer: str, wanted: list[Any]) -> None:
    assert words(answer_blocks(ledger_of(answer, {}))) == wanted


def test_a_claim_is_where_it_stands_whatever_its_style() -> None:
    (block,) = answer_blocks(ledger_of("Note: staff get **25 days** of leave. Is that so?", {}))
    claims = [piece for piece in block["pieces"] if piece["claim_id"]]
    assert "".join(piece["text"] for piece in claims).endswith("staff get 25 days of leave")
    assert [piece["styles"] for piece in claims] == [(), ("strong",), ()]
    assert [piece["is_last"] for piece in claims] == [False, False, True]
    assert {piece["number"] for piece in claims} == {1}
