"""The page on the lexical judge tells what the judge does: its examples are run."""

import re

import pytest
from tests.judge.reading import verdict_on
from tests.repository import ROOT

PAGE = (ROOT / "docs" / "judge.md").read_text("utf-8")
ROWS = re.findall(
    r"^\| ([A-Z]\d+) \| [^|]+ \| ([^|]+) \| ([^|]+) \| (\w+) \|$",
    PAGE,
    re.MULTILINE,
)


def test_the_page_has_all_its_rules() -> None:
    assert len(ROWS) == PAGE.count("\n| ") - PAGE.count("\n| id |")
    assert len({rule for rule, *_ in ROWS}) == len(ROWS)


@pytest.mark.parametrize(
    ("claim", "passage", "wanted"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS]
)
def test_example_of_a_rule(claim: str, passage: str, wanted: str) -> None:
    verdict, reading = verdict_on(claim, passage.replace("⏎", "\n"))
    assert verdict == wanted, reading.notes
