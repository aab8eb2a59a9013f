"""The page of a judge's reliability: self-contained, escaped, and readable without its drawings."""

import dataclasses
import re

import msgspec

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import evidence as faults
from affidavit.base.label_statistics import ScoredLabel, evaluate_labels, reliability_bins
from affidavit.ledger.model import JudgeIdentity
from affidavit.reports.judge_evaluation import SetReport, diagram, evaluation_html

JUDGE = JudgeIdentity("lexical", "1", "sha256:" + "0" * 64, rederivable=True)
PAIRS = [(0.05, False), (0.15, False), (0.85, True), (0.9, True), (0.95, False)]
NOTHING = evaluate_labels([])
SET = SetReport(
    name="mine",
    count=6,
    not_measured=(AffidavitError(faults.CLAIM_EMPTY),),
    support=dataclasses.replace(
        evaluate_labels([ScoredLabel(actual, score > 0.5, score) for score, actual in PAIRS]),
        bins_at_base_rate=reliability_bins([]),
    ),
    contradiction=NOTHING,
    confusion=(("supported", (2, 0, 0, 1)), ("neutral", (0, 0, 1, 1))),
)
EMPTY = SetReport(
    name="none",
    count=0,
    not_measured=(),
    support=NOTHING,
    contradiction=NOTHING,
    confusion=(),
)


def test_the_page_needs_nothing_from_elsewhere() -> None:
    page = evaluation_html([SET], JUDGE, "1.0")
    assert "default-src 'none'" in page
    assert not re.search(r"(?:src|href)=|url\(|<script|@import", page)
    assert "prefers-color-scheme: dark" in page


def test_every_drawing_has_words_and_a_table() -> None:
    page = evaluation_html([SET], JUDGE, "1.0")
    (drawn,) = re.findall(r'<svg[^>]*role="img" aria-label="([^"]+)"', page)
    assert "2 claims scored 0.93 on average; 50% of them were supported" in drawn
    assert '<th scope="row">0.9 to 1.0</th><td class="num">2</td>' in page
    assert "1 of them could not be read" in page


def test_a_set_without_figures_has_no_diagram_and_says_so() -> None:
    page = evaluation_html([EMPTY], JUDGE, "1.0")
    assert "<svg" not in page
    assert "Nothing could be measured" in page


def test_names_from_outside_are_escaped() -> None:
    hostile = msgspec.structs.replace(EMPTY, name="<img src=x>")
    assert "<img" not in evaluation_html([hostile], JUDGE, "1.0")


def test_a_point_stands_where_promise_and_share_meet() -> None:
    drawn = diagram("x", reliability_bins([(0.25, True), (0.25, False)]))
    (point,) = drawn["points"]
    assert (point["x"], point["y"], point["radius"]) == (80.0, 160.0, 12.0)
    assert [bar["height"] for bar in drawn["bars"]] == [0.0, 0.0, 90.0, *[0.0] * 7]
