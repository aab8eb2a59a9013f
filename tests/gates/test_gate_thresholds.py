"""Gates as they are written, in every spelling, and how they come out."""

import time

import msgspec
import pytest

from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit
from affidavit.base.statistics import Rate
from affidavit.decision.counts import Tally
from affidavit.decision.decision import Decision, GateStatus
from affidavit.decision.evaluation import GateResult, Measure, decide, measure_from_tally
from affidavit.decision.gate import override_gates, parse_gate
from affidavit.decision.metric import Metric, MetricKind, metric_table
from affidavit.gates import metrics
from affidavit.gates.metrics import RAG_GATES, RESEARCH_GATES
from affidavit.gates.report import make_report

DEFAULTS = ["precision>=0.8", "chr>=0.75", "under_refusal<=0.05", "over_refusal<=0.1"]

SPELLINGS = {
    "nothing asked: the defaults of the document": ([], DEFAULTS),
    "section 6, with spaces, as the shell splits them": (
        ["precision=0.80", "chr=0.75", "under_refusal=0.05", "over_refusal=0.10"],
        DEFAULTS,
    ),
    "section 6, as one text": (
        ["precision=0.80 chr=0.75 under_refusal=0.05 over_refusal=0.10"],
        DEFAULTS,
    ),
    "the reference scorer: one text with commas, under and over": (
        ["precision=0.80,chr=0.75,under=0.05,over=0.10"],
        DEFAULTS,
    ),
    "commas and spaces": (["precision = 0.80, chr >= 0.75"], DEFAULTS),
    "one changed, the others stay": (["precision>=0.9"], ["precision>=0.9", *DEFAULTS[1:]]),
    "strictly": (["over<0.1"], [*DEFAULTS[:3], "over_refusal<0.1"]),
    "with confidence": (["precision>=0.80@95"], ["precision>=0.8@95", *DEFAULTS[1:]]),
    "with confidence, as percent": (
        ["chr=0.75@99.9%"],
        [DEFAULTS[0], "chr>=0.75@99.9", *DEFAULTS[2:]],
    ),
    "one off": (["under=off"], [DEFAULTS[0], DEFAULTS[1], DEFAULTS[3]]),
    "one more": (["scu_violations==0"], [*DEFAULTS, "scu_violations<=0"]),
    "recall as the document writes it": (["recall@k=0.7"], [*DEFAULTS, "recall_at_k>=0.7"]),
    "minus zero is zero": (["over=-0"], [*DEFAULTS[:3], "over_refusal<=0"]),
}


@pytest.mark.parametrize(("texts", "wanted"), SPELLINGS.values(), ids=SPELLINGS.keys())
def test_spelling(texts: list[str], wanted: list[str]) -> None:
    assert [*map(str, override_gates(texts, RAG_GATES, metrics.RAG_METRICS))] == wanted


def test_what_is_written_is_read_back() -> None:
    for text in ("precision>=0.8@95", "p95_ms/5rps<=2500", "kappa>=-0.5"):
        tables = {**metrics.RAG_METRICS, **metrics.LATENCY_METRICS, **metrics.AGREEMENT_METRICS}
        assert str(parse_gate(text, tables)[1]) == text
    assert parse_gate("p95/5rps=off", metrics.LATENCY_METRICS) == ("p95_ms/5rps", None)


REFUSED = {
    "no number": ("precision", "AF400"),
    "no number behind the operator": ("precision>=", "AF400"),
    "a word for a number": ("precision>=high", "AF400"),
    "not a number": ("precision>=nan", "AF400"),
    "two confidences": ("precision>=0.8@95@99", "AF400"),
    "a metric that is not there": ("rouge>=0.5", "AF401"),
    "the wrong direction": ("precision<=0.8", "AF402"),
    "the wrong direction of a rate that should be low": ("under>=0.8", "AF402"),
    "a share above 1": ("precision=80", "AF403"),
    "a share below 0": ("chr=-0.1", "AF403"),
    "infinite": ("scu_violations=1e999", "AF403"),
    "infinite, as a word": ("scu_violations=inf", "AF400"),
    "a mark between digits": ("precision=0.8_5", "AF400"),
    "a part, where there are none": ("precision/5rps>=0.8", "AF401"),
    "a part that is no text": ("precision/\udcff>=0.8", "AF400"),
    "half a violation": ("scu_violations=0.5", "AF403"),
    "twice": ("chr=0.5,chr=0.6", "AF404"),
    "twice, by another name": ("under=0.5,under_refusal=0.6", "AF404"),
    "confidence for a count": ("scu_violations=0@95", "AF405"),
    "a confidence of 100": ("precision>=0.8@100", "AF405"),
    "a confidence that is no number": ("precision>=0.8@high", "AF405"),
    "a confidence and off": ("precision=off@95", "AF400"),
}


@pytest.mark.parametrize(("text", "code"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(text: str, code: str) -> None:
    with pytest.raises(AffidavitError) as caught:
        override_gates([text], RAG_GATES, metrics.RAG_METRICS)
    assert caught.value.fault.code == code


LONG = "9" * 100_000
TOO_LONG = {
    "a number": f"precision={LONG}",
    "in the wrong direction": f"precision<={LONG}",
    "a name": f"p{LONG}=1",
    "a confidence": f"precision>=0.8@{LONG}",
    "a part": f"chr/{LONG}=1",
}


@pytest.mark.parametrize("text", TOO_LONG.values(), ids=TOO_LONG.keys())
def test_what_is_refused_is_quoted_in_a_line(text: str) -> None:
    with pytest.raises(AffidavitError) as caught:
        override_gates([text], RAG_GATES, metrics.RAG_METRICS)
    assert len(str(caught.value)) < 400


def test_a_long_row_of_spaces_is_passed_over_at_once() -> None:
    before = time.process_time()
    gates = override_gates(
        [f"precision{' ' * 20_000}>=0.9 chr=off"], RAG_GATES, metrics.RAG_METRICS
    )
    override_gates([" " * 20_000], RAG_GATES, metrics.RAG_METRICS)
    assert time.process_time() - before < 1
    assert str(gates[0]) == "precision>=0.9"


ENOUGH = {
    "all right": ("precision>=0.80@95", (8, 0), "(16 would do at this rate)"),
    "near the threshold": ("precision>=0.80@95", (5, 1), "(554 would do at this rate)"),
    "a rate that should be low": ("under<=0.05@95", (0, 10), "(73 would do at this rate)"),
    "what is open counts as bad": ("precision>=0.80@95", (8, 0, 1), "(78 would do at this rate)"),
    "the threshold itself": ("precision>=0.80@95", (4, 1), "(no number would do at this rate)"),
    "what no number can show": ("precision=1@95", (9, 0), "(no number would do at this rate)"),
    "more than there are": (
        "under<=1e-200@95",
        (0, 10),
        "(more than 1000000000000 would do at this rate)",
    ),
}


@pytest.mark.parametrize(("text", "counts", "said"), ENOUGH.values(), ids=ENOUGH.keys())
def test_how_many_items_would_do(text: str, counts: tuple[int, ...], said: str) -> None:
    _, gate = parse_gate(text, metrics.RAG_METRICS)
    assert gate is not None
    measure = measure_from_tally(gate.metric, Tally(*counts))
    (result,) = decide([gate], {gate.key: measure}).results
    assert result.status is GateStatus.OPEN
    assert result.reason.endswith(said)


@pytest.mark.parametrize("share", [0.85, 0.9, 0.95, 1.0])
def test_so_many_would_do_and_no_fewer(share: float) -> None:
    _, gate = parse_gate("precision>=0.80@95", metrics.RAG_METRICS)
    assert gate is not None

    def tried(items: int) -> GateResult:
        right = round(items * share)
        tally = Tally(right, items - right)
        return decide([gate], {gate.key: measure_from_tally(gate.metric, tally)}).results[0]

    told = int(tried(20 if share < 1 else 5).reason.rpartition("(")[2].split()[0])
    whole = -(-told // 20) * 20 if share < 1 else told
    assert tried(whole).status is GateStatus.PASSED
    assert tried(whole - (20 if share < 1 else 1)).status is GateStatus.OPEN


def test_a_load_without_rows_is_named() -> None:
    made = decide(override_gates(["p95/7rps=900"], (), metrics.LATENCY_METRICS), {})
    assert made.decision is Decision.INCONCLUSIVE
    assert made.reasons[0].startswith("p95_ms/7rps was not measured, because no row of 7rps was:")


def test_a_load_with_rows_is_not_said_to_have_none() -> None:
    gates = override_gates(["tail/7rps=3"], (), metrics.LATENCY_METRICS)
    measure = Measure(metric=metrics.LATENCY_METRICS["tail_amplification"], value=None, count=2)
    (reason,) = decide(gates, {"tail_amplification/7rps": measure}).reasons
    assert "because there is no median above 0:" in reason


P, F, U = GateStatus.PASSED, GateStatus.FAILED, GateStatus.OPEN

# The gate, the tally (hits, misses, unknown, absent), whether items may be missing, the outcome.
TRIED = {
    "reached exactly": ("precision>=0.8", (4, 1), False, P),
    "strictly above is asked": ("precision>0.8", (4, 1), False, F),
    "above": ("precision>0.8", (5, 0), False, P),
    "missed": ("precision>=0.8", (79, 21), False, F),
    "a rate that should be low, kept": ("under<=0.05", (1, 19), False, P),
    "a rate that should be low, exceeded": ("under<=0.05", (2, 18), False, F),
    "nothing measured is never a pass": ("precision>=0", (0, 0), False, U),
    "nothing measured is never a fail": ("precision>=1", (0, 0, 3, 0), False, U),
    "would pass whatever the rest is": ("precision>=0.8", (99, 0, 1, 0), False, P),
    "would fail whatever the rest is": ("precision>=0.8", (1, 8, 1, 0), False, F),
    "the rest could turn a pass": ("precision>=0.8", (4, 1, 1, 0), False, U),
    "the rest could turn a fail": ("precision>=0.8", (3, 1, 1, 0), False, U),
    "missing items could turn it": ("precision>=0.8", (4, 1, 0, 1), False, U),
    "missing items are allowed": ("precision>=0.8", (4, 1, 0, 1), True, P),
    "unknown items are not missing": ("precision>=0.8", (4, 1, 1, 0), True, U),
    "the rest could turn a low rate": ("over<=0.1", (1, 9, 0, 1), False, U),
    "no violation": ("scu_violations=0", (0, 7), False, P),
    "one violation": ("scu_violations=0", (1, 700), False, F),
    "one violation and more open": ("scu_violations=0", (1, 7, 0, 3), False, F),
    "an open one could be a violation": ("scu_violations=0", (0, 7, 0, 1), False, U),
    "confidence: the lower bound holds": ("precision>=0.8@95", (95, 5), False, P),
    "confidence: the bound does not, so too few to tell": ("precision>=0.8@95", (9, 1), False, U),
    "confidence does not soften a fail": ("precision>=0.8@95", (7, 3), False, F),
    "confidence: a low rate's upper bound holds": ("under<=0.05@95", (0, 100), False, P),
    "confidence: a low rate's upper bound does not": ("under<=0.05@95", (0, 20), False, U),
    "confidence with open items counted as bad": ("precision>=0.8@95", (880, 90, 20, 0), False, P),
}


@pytest.mark.parametrize(("text", "tally", "allowed", "status"), TRIED.values(), ids=TRIED.keys())
def test_gate(text: str, tally: tuple[int, ...], allowed: bool, status: GateStatus) -> None:
    (gate,) = override_gates([text], (), metrics.RAG_METRICS)
    measure = measure_from_tally(gate.metric, Tally(*tally), allow_missing=allowed)
    made = decide([gate], {gate.key: measure})
    (result,) = made.results
    assert result.status is status
    assert made.decision == {P: "ship", F: "no_ship", U: "inconclusive"}[status]
    assert made.decision.exit == {P: Exit.YES, F: Exit.NO, U: Exit.UNKNOWN}[status]
    assert made.reasons == (() if status is P else (result.reason,))
    assert made.failed == ({gate.metric.name} if status is F else set())


def test_the_reason_says_what_was_counted_and_what_to_do() -> None:
    (gate,) = override_gates(["under=0.05"], (), metrics.RAG_METRICS)
    said = decide([gate], {"under_refusal": measure_from_tally(gate.metric, Tally(1, 2))})
    assert said.reasons == ("under_refusal is 0.3333 (1 of 3), but under_refusal<=0.05 is asked",)
    nothing = decide([gate], {})
    assert nothing.reasons == (
        "under_refusal was not measured, because no unanswerable gold item has a run: add what is"
        " missing, or leave the gate out with under_refusal=off",
    )
    one = decide([gate], {"under_refusal": measure_from_tally(gate.metric, Tally(0, 3, 1))})
    assert "but 1 item not measured could turn" in one.reasons[0]


def test_the_decision() -> None:
    measures = {
        "precision": measure_from_tally(metrics.RAG_METRICS["precision"], Tally(9, 1)),
        "chr": measure_from_tally(metrics.RAG_METRICS["chr"], Tally(1, 9)),
    }
    passing, failing, absent = (
        override_gates([text], (), metrics.RAG_METRICS)[0]
        for text in ("precision=0.8", "chr=0.8", "under=1")
    )
    assert decide([passing], measures).decision is Decision.SHIP
    assert decide([passing, absent], measures).decision is Decision.INCONCLUSIVE
    assert decide([failing, absent], measures).decision is Decision.NO_SHIP
    assert decide([], measures).decision is Decision.INCONCLUSIVE
    assert decide([passing], measures, doubts=["x"]).decision is Decision.INCONCLUSIVE
    assert decide([failing], measures, doubts=["x"]).decision is Decision.NO_SHIP
    assert decide([passing], measures, refusals=["x"]).decision is Decision.NO_SHIP


def test_an_amount_has_no_counts() -> None:
    (gate,) = override_gates(["p95=2000"], (), metrics.LATENCY_METRICS)
    slow = Measure(metric=gate.metric, value=2100.5)
    assert decide([gate], {"p95_ms": slow}).reasons == (
        "p95_ms is 2100.5, but p95_ms<=2000 is asked",
    )
    open_ended = Measure(metric=gate.metric, value=1500.0, not_measured=2, still_open=2)
    assert decide([gate], {"p95_ms": open_ended}).decision is Decision.INCONCLUSIVE
    assert (
        decide([gate], {"p95_ms": Measure(metric=gate.metric, value=1500.0)}).decision
        is Decision.SHIP
    )


def test_wire_forms() -> None:
    (gate,) = override_gates(["precision=0.8@95"], (), metrics.RAG_METRICS)
    measure = measure_from_tally(gate.metric, Tally(2, 1, 1, 0))
    assert msgspec.to_builtins(measure.figure) == {
        "value": None,
        "numerator": 2,
        "denominator": 3,
        "ci95": None,
        "not_measured": 1,
        "bounds": (0.5, 0.75),
    }
    made = decide([gate], {"precision": measure})
    (result,) = make_report("rag", made, {"precision": measure}).gates
    wire = msgspec.to_builtins(result)
    assert wire.pop("reason") == result.reason
    assert wire == {
        "metric": "precision",
        "op": ">=",
        "threshold": 0.8,
        "confidence": 95,
        "value": None,
        "n": 3,
        "ci95": None,
        "not_measured": 1,
        "bounds": (0.5, 0.75),
        "status": "fail",
    }
    empty = Measure(metric=gate.metric, value=None)
    assert empty.figure.ci95 is None
    assert empty.rate is None
    assert measure.rate == Rate(2, 3)


def test_the_research_gates_are_the_documents() -> None:
    assert [*map(str, RESEARCH_GATES)] == [
        "evidence_coverage_rate>=0.95",
        "golden_recall>=0.8",
        "abstention_accuracy>=0.9",
        "manifest_integrity>=1",
    ]


SIDE = Metric("side", MetricKind.SHARE, False, "there is none", may_be_empty=True)
SIDES = {
    "a class without items leaves the decision to the others": (Rate(0, 0), True, Decision.SHIP),
    "alone it decides nothing": (Rate(0, 0), False, Decision.INCONCLUSIVE),
    "with items it is a gate like any other": (Rate(1, 1), True, Decision.NO_SHIP),
}


@pytest.mark.parametrize(("rate", "beside", "wanted"), SIDES.values(), ids=SIDES.keys())
def test_a_metric_whose_class_may_be_empty(rate: Rate, beside: bool, wanted: Decision) -> None:
    table = metric_table([SIDE, metrics.RAG_METRICS["precision"]])
    texts = ["side<=0.1", *(["precision>=0.5"] if beside else [])]
    measures = {
        "side": Measure(metric=SIDE, value=rate.value, rate=rate),
        "precision": Measure(metric=table["precision"], value=1.0, rate=Rate(1, 1)),
    }
    made = decide(override_gates(texts, (), table), measures)
    assert made.decision is wanted
    if not rate.denominator:
        reason = "side<=0.1 has nothing to measure, because there is none"
        assert (made.results[0].status, made.results[0].reason) == (GateStatus.EMPTY, reason)
        assert made.reasons == (() if beside else (reason,))


def test_a_class_that_may_be_empty_is_still_open_where_nothing_was_counted() -> None:
    _, gate = parse_gate("side<=0.1", metric_table([SIDE]))
    assert gate is not None
    assert decide([gate], {}).results[0].status is GateStatus.OPEN
