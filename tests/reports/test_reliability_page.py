"""The page of a judge's reliability: self-contained, escaped, and readable without its drawings."""

import re

from affidavit.base.statistics.classification import reliability_bins
from affidavit.ledger.model import JudgeIdentity
from affidavit.reports.judge_reliability import FigureRow, ReliabilitySet, diagram, reliability_html

JUDGE = JudgeIdentity("lexical", "1", "sha256:" + "0" * 64, rederivable=True)
PAIRS = [(0.05, False), (0.15, False), (0.85, True), (0.9, True), (0.95, False)]
SET = ReliabilitySet(
    name="mine",
    count=6,
    not_measured=1,
    figures=(FigureRow("F1", "0.800", "0.7 to 0.9", "not measured", "–", "Wilson"),),
    bins=reliability_bins(PAIRS),
    bins_at_base_rate=reliability_bins([]),
    confusion=(("supported", 2, 0, 0, 1), ("neutral", 0, 0, 1, 1)),
)


def test_the_page_needs_nothing_from_elsewhere() -> None:
    page = reliability_html([SET], JUDGE, "1.0")
    assert "default-src 'none'" in page
    assert not re.search(r"(?:src|href)=|url\(|<script|@import", page)
    assert "prefers-color-scheme: dark" in page


def test_every_drawing_has_words_and_a_table() -> None:
    page = reliability_html([SET], JUDGE, "1.0")
    (drawn,) = re.findall(r'<svg[^>]*role="img" aria-label="([^"]+)"', page)
    assert "2 claims scored 0.93 on average; 50% of them were supported" in drawn
    assert '<th scope="row">0.9 to 1.0</th><td class="num">2</td>' in page
    assert "1 of them could not be read" in page


def test_a_set_without_figures_has_no_diagram_and_says_so() -> None:
    empty = ReliabilitySet("none", 0, 0, (), reliability_bins([]), reliability_bins([]), ())
    page = reliability_html([empty], JUDGE, "1.0")
    assert "<svg" not in page
    assert "Nothing could be measured" in page


def test_names_from_outside_are_escaped() -> None:
    hostile = ReliabilitySet("<img src=x>", 0, 0, (), (), (), ())
    assert "<img" not in reliability_html([hostile], JUDGE, "1.0")


def test_a_point_stands_where_promise_and_share_meet() -> None:
    drawn = diagram("x", reliability_bins([(0.25, True), (0.25, False)]))
    (point,) = drawn["points"]
    assert (point["x"], point["y"], point["radius"]) == (80.0, 160.0, 12.0)
    assert [bar["height"] for bar in drawn["bars"]] == [0.0, 0.0, 90.0, *[0.0] * 7]
