"""Measuring a judge and fitting its thresholds, on rows whose truth is known."""

import tomllib
from collections.abc import Iterator
from hashlib import sha256

import pytest
from tests.app.stub_judge import StubJudge

from affidavit.app.judge_evaluation import (
    calibrate,
    evaluate_set,
    fit_thresholds,
    label_rows,
    require_labels,
)
from affidavit.app.judge_scoring import ClaimScore, JudgedRow, RowFault, RowOutcome
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import evidence
from affidavit.base.statistics import Rate
from affidavit.ledger.model import Verdict
from affidavit.ledger.rules import JudgeThresholds, rules_digest, rules_from_toml
from affidavit.reports.judge_card import (
    Card,
    CardV1,
    WeightsFileV1,
    WeightsManifestV1,
    card_as_wire,
    card_markdown,
    load_card,
)
from affidavit.reports.judge_evaluation import (
    calibration_as_json,
    calibration_text,
    evaluation_as_json,
    figure_rows,
    rules_file,
)

OWN = JudgeThresholds()


def row(label: str, support: float, contradiction: float = 0.0, at: int = 1) -> JudgedRow:
    """Return a row as the judge's own thresholds decide it."""
    score = ClaimScore(
        id=str(at),
        verdict=OWN.verdict(support, contradiction),
        support=support,
        contradiction=contradiction,
        confidence=0.0,
        snippet="",
        notes="",
        label=label,
    )
    digest = sha256(f"{at}".encode()).hexdigest()
    return JudgedRow(line=at, score=score, support=support, digest=digest)


def many(label: str, count: int, low: float, high: float, against: float = 0.0) -> list[JudgedRow]:
    """Return rows whose support spreads evenly from `low` to `high`."""
    step = (high - low) / count
    start = sum(map(ord, label)) * 1000
    return [
        row(label, round(low + step * number, 4), against, start + number)
        for number in range(count)
    ]


# Evaluating.

MIXED = [
    row("supported", 0.9),
    row("supported", 0.3),
    row("partial", 0.6),
    row("refuted", 0.2, 0.8),
    row("refuted", 0.7, 0.1),
    row("neutral", 0.1),
    row("neutral", 0.4, 0.6),
    row("not_supported", 0.2),
]


def test_supported_is_measured_against_all_other_labels() -> None:
    report = evaluate_set("mixed", MIXED)
    assert (report.count, report.support.count, report.contradiction.count) == (8, 8, 6)
    assert report.support.counts.recall.value == 0.5
    assert report.support.counts.specificity.value == pytest.approx(4 / 6)
    assert report.contradiction.counts.recall.value == 0.5
    assert report.contradiction.counts.specificity.value == 0.75
    assert report.confusion == (
        ("supported", (1, 1, 0, 0)),
        ("partial", (1, 0, 0, 0)),
        ("refuted", (1, 0, 1, 0)),
        ("neutral", (0, 0, 1, 1)),
        ("not_supported", (0, 0, 0, 1)),
    )


def test_every_figure_is_reported_with_its_interval() -> None:
    report = evaluate_set("mixed", MIXED)
    wire = evaluation_as_json(report)
    figures = wire["supported"]["figures"]
    assert figures["balanced_accuracy"]["value"] == pytest.approx(0.583333)
    assert all(each["low"] <= each["value"] <= each["high"] for each in figures.values())
    assert all(each["interval_by"] for each in figures.values())
    assert len(figures) == len(list(figure_rows(report))) == 10
    assert wire["confusion"]["refuted"]["contradicted"] == 1


def test_rows_that_no_judge_can_read_are_not_measured() -> None:
    unread = RowFault("9", 9, AffidavitError(evidence.CLAIM_EMPTY))
    long = RowFault("10", 10, AffidavitError(evidence.CLAIM_TOO_LONG, length=2, limit=1))
    report = evaluate_set("some", [*MIXED, unread, long])
    assert (report.count, report.support.count, len(report.not_measured)) == (10, 8, 2)


def test_a_broken_row_or_label_stops_the_run() -> None:
    broken = RowFault("9", 9, AffidavitError(evidence.ROW_MALFORMED, problem="x"))
    with pytest.raises(AffidavitError, match="AF285"):
        evaluate_set("x", [broken])
    with pytest.raises(AffidavitError, match="AF287: line 1"):
        evaluate_set("x", [row("perhaps", 0.5)])


def test_without_rows_nothing_is_measured() -> None:
    report = evaluate_set("empty", [])
    assert report.support.count == 0
    figures = evaluation_as_json(report)["supported"]["figures"]
    assert {each["value"] for each in figures.values()} == {None}


# Calibrating.

# The judge is too strict for these: what is supported scores from 0.3 on.
SHIFTED = [*many("supported", 40, 0.3, 0.6), *many("neutral", 40, 0.0, 0.28)]


def unlabelled(count: int, supported: int) -> list[JudgedRow]:
    return [row("", 0.9 if n < supported else 0.1, at=90_000 + n) for n in range(count)]


def test_rows_without_a_label_give_a_corrected_rate() -> None:
    alone, both = calibrate(SHIFTED), calibrate([*SHIFTED, *unlabelled(1000, 600)])
    assert alone.rate is None
    assert both.thresholds == alone.thresholds
    assert both.rate is not None
    assert both.rate.judged == Rate(600, 1000)
    counts = both.before.counts
    shift = (counts.false_negative - counts.false_positive) / counts.count
    assert both.rate.corrected.value == pytest.approx(0.6 + shift)
    told = " ".join(each for each in calibration_text(both) if isinstance(each, str))
    assert "1000 rows have no label" in told
    file = rules_file(both, StubJudge().identity, "sha256:0")
    wire = calibration_as_json(both, file, StubJudge().identity, "sha256:0")["supported_rate"]
    assert (wire["judged"], wire["labelled"]) == (1000, counts.count)
    assert wire["formula"] == "mean(f) over judged rows + mean(y - f) over labelled rows"
    assert wire["corrected"]["low"] < wire["corrected"]["value"] < wire["corrected"]["high"]


def test_thresholds_are_fitted_to_the_labels() -> None:
    found = calibrate(SHIFTED)
    assert found.thresholds.prior == 0.5
    assert 0.27 < found.thresholds.supported_from <= 0.3
    assert found.thresholds.weak_from == pytest.approx(
        found.thresholds.supported_from / 2, abs=1e-4
    )
    assert found.thresholds.contradicted_from == OWN.contradicted_from
    assert found.before.counts.balanced_accuracy.value == pytest.approx(0.6625, abs=0.02)
    assert found.after.counts.balanced_accuracy.value == pytest.approx(1.0, abs=0.03)
    assert found.is_better
    assert found.after.agreement.kappa is not None
    assert found.labels == (("neutral", 40), ("supported", 40))


def test_the_order_of_the_rows_does_not_matter() -> None:
    assert calibrate(SHIFTED) == calibrate(SHIFTED[::-1])


def test_random_labels_give_no_better_thresholds() -> None:
    chance = [
        row("supported" if int(sha256(f"c{at}".encode()).hexdigest(), 16) % 2 else "neutral",
            round(int(sha256(f"s{at}".encode()).hexdigest()[:6], 16) / 16**6, 4), at=at)
        for at in range(60)
    ]  # fmt: skip
    found = calibrate(chance)
    fitted_on_all = fit_thresholds(label_rows(chance)[0])
    assert fitted_on_all == found.thresholds
    balanced = found.after.counts.balanced_accuracy.value
    assert balanced is not None
    assert 0.3 < balanced < 0.7  # Fitted and tested on the same rows, it would look better.


def test_no_thresholds_beat_a_judge_that_is_always_right() -> None:
    right = [*many("supported", 30, 0.6, 1.0), *many("neutral", 30, 0.0, 0.4)]
    found = calibrate(right)
    assert not found.is_better
    assert found.thresholds.supported_from == OWN.supported_from


def test_partial_and_refuted_labels_move_their_own_thresholds() -> None:
    rows = [
        *many("supported", 20, 0.7, 0.9),
        *many("partial", 20, 0.45, 0.6),
        *many("neutral", 20, 0.0, 0.4),
        *many("refuted", 20, 0.0, 0.4, against=0.3),
    ]
    found = fit_thresholds(label_rows(rows)[0])
    assert 0 < found.contradicted_from <= 0.3
    decided = [found.verdict(each.support, each.score.contradiction) for each in rows]
    wanted = [Verdict.SUPPORTED, Verdict.WEAK, Verdict.NOT_FOUND, Verdict.CONTRADICTED]
    assert decided == [verdict for verdict in wanted for _ in range(20)]


TOO_FEW: dict[str, tuple[list[JudgedRow], str]] = {
    "none at all": (
        [],
        "15 more that are supported and 15 more that are not supported and 20 more",
    ),
    "too few": (SHIFTED[20:60], "label 10 more of any kind"),
    "one kind": (many("supported", 60, 0, 1), "label 15 more that are not supported"),
    "one kind is scarce": (
        [*many("supported", 60, 0, 1), *many("partial", 12, 0, 1)],
        "label 3 more that are not supported",
    ),
}


@pytest.mark.parametrize(("rows", "said"), TOO_FEW.values(), ids=TOO_FEW.keys())
def test_too_few_labels_say_how_many_more_of_which_kind(rows: list[JudgedRow], said: str) -> None:
    with pytest.raises(AffidavitError, match=said) as caught:
        calibrate(rows)
    assert caught.value.fault.exit == 3


def test_just_enough_labels_are_enough() -> None:
    rows = [*many("supported", 35, 0, 1), *many("neutral", 15, 0, 1)]
    require_labels(label_rows(rows)[0])


def test_the_rules_file_is_read_back_with_its_digest() -> None:
    found = calibrate(SHIFTED)
    digest = "sha256:" + "1" * 64
    file = rules_file(found, StubJudge().identity, digest)
    rules = rules_from_toml(file.text.encode())
    assert rules.judge == found.thresholds
    assert rules_digest(rules) == file.rules_digest
    assert {digest, file.rules_digest, StubJudge().identity.digest} <= set(file.text.split())
    assert set(tomllib.loads(file.text)) == {"judge"}
    wire = calibration_as_json(found, file, StubJudge().identity, digest)
    assert wire["is_better"] is True
    assert wire["after"]["kappa"]["low"] <= wire["after"]["kappa"]["value"]


def test_kappa_without_a_value_is_none() -> None:
    def outcomes() -> Iterator[RowOutcome]:
        yield from many("supported", 30, 0.6, 1.0)
        yield from many("neutral", 30, 0.6, 1.0)

    wire = calibration_as_json(
        found := calibrate(outcomes()),
        rules_file(found, StubJudge().identity, ""),
        StubJudge().identity,
        "",
    )
    assert wire["before"]["kappa"]["value"] == 0.0


# The card.


def card(**parts: object) -> Card:
    import msgspec

    wire = {
        "schema": "affidavit/judge-card/1",
        "judge": {"name": "stub", "version": "1", "digest": "sha256:0"},
        "figures": [
            {
                "set": "a|b",
                "n": 10,
                "figure": "F",
                "value": 0.8,
                "low": 0.7,
                "high": 0.9,
                "target": 0.75,
            },
            {"set": "c", "n": 10, "figure": "E", "value": 0.08, "target": 0.06, "better": "lower"},
            {"set": "d", "n": 0, "figure": "E", "value": None, "target": 0.06},
        ],
        "calibration": [
            {
                "set": "a",
                "bins": [
                    {"low": 0, "high": 0.5, "count": 8, "mean_score": 0.2, "share": 0.25},
                    {"low": 0.5, "high": 1, "count": 0, "mean_score": None, "share": None},
                ],
            }
        ],
        **parts,
    }
    text = "{{ identity }}\n{{ figures }}\n{{ calibration }}\n{{ manifest }}\n"
    weights = WeightsManifestV1({"model.onnx": WeightsFileV1(33_785_260, "4caf")}, 128)
    return Card(msgspec.convert(wire, CardV1), weights, text)


def test_the_card_states_what_was_measured() -> None:
    page = card_markdown(card())
    assert "Measured was `stub` version 1, `sha256:0`." in page
    assert r"| a\|b | F | 10 | 0.8 | 0.7 to 0.9 | ≥ 0.75 | yes |" in page
    assert "| c | E | 10 | 0.08 | – | ≤ 0.06 | no |" in page
    assert "| d | E | 0 | not measured | – | ≥ 0.06 | – |" in page
    assert "| a | 25 of 8 | – |" in page
    assert "| `model.onnx` | 33.8 MB | `sha256:4caf` |" in page


def test_the_card_states_what_was_not_measured() -> None:
    page = card_markdown(card(figures=[], calibration=[], judge=None))
    assert page.count("Not measured yet") == 2
    assert "names no version" in page


def test_the_card_of_this_installation_is_whole() -> None:
    found = load_card()
    page = card_markdown(found)
    assert "{{" not in page
    for heading in ("What it was trained on", "Known weaknesses", "Speed and size"):
        assert f"## {heading}\n" in page
    assert card_as_wire(found)["schema"] == "affidavit/judge-card/1"


def test_a_card_without_weights_says_so() -> None:
    whole = card()
    page = card_markdown(Card(whole.measured, None, whole.text))
    assert "The weights of this judge are not installed" in page
