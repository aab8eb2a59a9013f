"""Latency: percentiles, loads, the frontier, the guard of a release."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affidavit.base.errors import AffidavitError
from affidavit.base.statistics import percentile
from affidavit.decision.report import ReportInput
from affidavit.gates.latency import (
    LATENCY_READER,
    Configuration,
    Latencies,
    LatencyCounts,
    LatencyRow,
    RollbackGuard,
    find_tradeoff,
    latencies_from_chunk,
    latency_counts,
    latency_from_value,
    latency_report,
)
from affidavit.gates.report import ConfigurationFigures


def rows(*values: float, **fields: object) -> list[LatencyRow]:
    return [LATENCY_READER.from_value({"e2e_ms": value, **fields}) for value in values]


def value_of(counts: LatencyCounts, name: str) -> float | None:
    return counts.measures()[name].value


FIGURES = {
    "linear interpolation on n - 1, not truncated": ((10, 20, 30, 45), "p95_ms", 42.75),
    "the median between two": ((10, 25), "p50_ms", 17.5),
    "one value is every percentile": ((7,), "p99_ms", 7.0),
    "P99 over P50": ((10, 10, 10, 30), "tail_amplification", 2.94),
    "nothing measured is not 0": ((), "p95_ms", None),
    "a median of 0 has no amplification": ((0, 0, 5), "tail_amplification", None),
}


@pytest.mark.parametrize(("values", "name", "wanted"), FIGURES.values(), ids=FIGURES.keys())
def test_figure(values: tuple[float, ...], name: str, wanted: float | None) -> None:
    found = value_of(latency_counts(rows(*values)), name)
    assert found == (None if wanted is None else pytest.approx(wanted))


milliseconds = st.lists(st.integers(0, 4000).map(lambda n: n / 4), max_size=40)


@given(milliseconds, milliseconds, milliseconds)
def test_parts_merge(first: list[float], second: list[float], third: list[float]) -> None:
    one, two, three = (
        latency_counts([*rows(*values[:5], rps=5, config="a"), *rows(*values[5:], llm_ms=1)])
        for values in (first, second, third)
    )
    whole = latency_counts(
        row
        for values in (first, second, third)
        for row in (*rows(*values[:5], rps=5, config="a"), *rows(*values[5:], llm_ms=1))
    )
    assert (one + two) + three == one + (two + three) == three + two + one == whole
    for percent in (50, 90, 95, 99):
        wanted = percentile([*first, *second, *third], percent)
        assert value_of(whole, f"p{percent}_ms") == wanted


def test_a_gate_on_one_load() -> None:
    counts = latency_counts([*rows(100, rps=1), *rows(2400, 2400, rps=5)])
    asked = latency_report(counts, {}, overrides=["p95_ms=off p95_ms/1rps<=2000,p95/5rps=2500"])
    assert asked.decision == "ship"
    assert latency_report(counts, {}).decision == "no_ship"
    unknown = latency_report(counts, {}, overrides=["p95=off", "p95/20rps=2500"])
    assert unknown.decision == "inconclusive"
    assert latency_report(latency_counts([]), {}).decision == "inconclusive"


def test_the_parts_in_the_report() -> None:
    counts = latency_counts([*rows(100, rps=0.5, config="fast"), *rows(300, guard_ms=4)])
    given_ = {"latency": ReportInput(path="l.csv", digest=None, rows=2, skipped=1)}
    made = latency_report(counts, given_, tradeoff=find_tradeoff([]))
    wire = made.to_builtins()["details"]
    assert wire["load"]["0.5rps"]["n"] == 1
    assert wire["config"]["fast"]["p95_ms"] == 100
    assert wire["stage"] == {
        "guard_ms": {
            "n": 1,
            "p50_ms": 4,
            "p90_ms": 4,
            "p95_ms": 4,
            "p99_ms": 4,
            "tail_amplification": 1,
        }
    }
    assert wire["tradeoff"]["interactive"] is None
    assert made.reasons == ("lines that were not rows and were skipped: 1",)
    assert counts.of_config("fast") == Latencies({100.0: 1})
    assert counts.of_config("other") == Latencies()


def test_knobs_name_a_configuration_and_a_load_may_be_given_for_all() -> None:
    knobs = {"k_sem": 40, "k_lex": 8, "knee": True}
    counts = latency_counts([*rows(100, knobs=knobs), *rows(50, rps=1, knobs={})], rps=5)
    assert [*counts.parts] == [
        ("config", "k_lex=8 k_sem=40 knee=True"),
        ("load", "1rps"),
        ("load", "5rps"),
    ]


def test_the_accuracy_that_goes_with_it() -> None:
    counts = latency_counts(rows(100, 200))
    fine = latency_report(counts, {}, precision=0.9)
    assert fine.to_builtins()["details"]["release"] == {"p95_ms": 195.0, "precision": 0.9}
    assert latency_report(counts, {}, refusals=["no"]).decision == "no_ship"
    assert latency_report(counts, {}, doubts=["hm"]).reasons == ("hm",)


BAD = {
    "no latency": ({"qid": "a"}, "e2e_ms"),
    "below 0": ({"e2e_ms": -1}, "e2e_ms"),
    "a text": ({"e2e_ms": "12"}, "e2e_ms"),
    "no load at all": ({"e2e_ms": 1, "rps": 0}, "rps"),
}


@pytest.mark.parametrize(("value", "field"), BAD.values(), ids=BAD.keys())
def test_no_measurement(value: object, field: str) -> None:
    with pytest.raises(AffidavitError) as caught:
        latency_from_value(value, 4)
    assert (caught.value.fault.code, caught.value.where.field) == ("AF411", field)


def test_an_answer_that_did_not_come_has_no_latency() -> None:
    lines = (
        b'{"e2e_ms": 10}\n{"fault": "HTTP 500"}\n{"fault": "late", "e2e_ms": 60000}\n{"qid": 1}\n'
    )
    wrong: list[AffidavitError] = []
    made = [row for _, row in latencies_from_chunk(lines, 1, "l.jsonl", wrong.append)]
    assert [str(error.where) for error in wrong] == ["l.jsonl, line 4, field e2e_ms"]
    counts = latency_counts(made)
    assert (counts.everything.count, counts.silent) == (1, 2)
    assert (counts + counts).silent == 4
    report = latency_report(counts, {})
    assert report.decision == "inconclusive"
    assert report.warnings == ("questions without an answer, which have no latency: 2",)
    assert report.to_builtins()["counts"] == {"answers": 1, "no_answer": 2}


def test_a_load_is_open_where_its_answers_did_not_come() -> None:
    counts = latency_counts([*rows(10, rps=1), *rows(10, rps=5), *rows(9, rps=5, fault="late")])
    asked = ["p95=off", "p95/1rps=20", "p95/5rps=20"]
    results = latency_report(counts, {}, overrides=asked).gates
    assert [result.status for result in results] == ["pass", "not_measured"]


def test_the_frontier() -> None:
    made = find_tradeoff(
        [
            Configuration("slow", 3000, 0.95, passes_relaxed=True),
            Configuration("fast", 500, 0.70),
            Configuration("middle", 1000, 0.85, passes=True, passes_relaxed=True),
            Configuration("worse", 1100, 0.80, passes=True),
            Configuration("as precise, slower", 1200, 0.85, passes=True),
            Configuration("unknown", None, 0.99),
            Configuration("unknown too", 1, None),
        ]
    )
    kept = [each.config for each in made.frontier]
    assert kept == ["fast", "middle", "as precise, slower", "slow"]
    assert made.dominated == ("worse",)
    assert made.not_measured == ("unknown", "unknown too")
    assert (made.interactive, made.batch) == ("middle", "slow")
    assert made.frontier[0] == ConfigurationFigures("fast", 500, 0.7, passes=False)


def test_what_is_better_in_p99_or_citations_is_not_beaten() -> None:
    made = find_tradeoff(
        [
            Configuration("best", 500, 0.9, p99_ms=900, chr=0.8),
            Configuration("shorter tail", 600, 0.8, p99_ms=700, chr=0.8),
            Configuration("better citations", 700, 0.7, p99_ms=900, chr=0.9),
            Configuration("beaten", 800, 0.6, p99_ms=900, chr=0.8),
            Configuration("beaten too", 900, 0.5),
        ]
    )
    assert [each.config for each in made.frontier] == ["best", "shorter tail", "better citations"]
    assert (made.frontier[0].p99_ms, made.frontier[0].chr) == (900, 0.8)
    assert made.dominated == ("beaten", "beaten too")


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=12))
def test_nothing_on_the_frontier_is_beaten_in_both(points: list[tuple[int, int]]) -> None:
    made = find_tradeoff(
        Configuration(f"c{n}", slow, right / 10) for n, (slow, right) in enumerate(points)
    )
    for kept in made.frontier:
        assert not any(
            slow < (kept.p95_ms or 0) and right / 10 > (kept.precision or 0)
            for slow, right in points
        )
    assert len(made.frontier) + len(made.dominated) == len(points)


GUARDED = {
    "as before": ((1000, 0.9), (1000, 0.9), 0, 0),
    "slower by exactly 15 percent": ((1000, 0.9), (1150, 0.9), 0, 0),
    "slower by more": ((1000, 0.9), (1151, 0.9), 1, 0),
    "worse by exactly two points": ((1000, 0.9), (1000, 0.88), 0, 0),
    "worse by more": ((1000, 0.9), (1000, 0.879), 1, 0),
    "both": ((1000, 0.9), (2000, 0.5), 2, 0),
    "nothing to compare with": ((None, None), (2000, 0.5), 0, 2),
    "one not measured": ((1000, 0.9), (2000, None), 1, 1),
}


@pytest.mark.parametrize(
    ("before", "now", "objections", "doubts"), GUARDED.values(), ids=GUARDED.keys()
)
def test_the_guard(
    before: tuple[float, float], now: tuple[float, float], objections: int, doubts: int
) -> None:
    releases = (Configuration("last", *before), Configuration("this", *now))
    guard = RollbackGuard()
    assert len(guard.objections(*releases)) == objections
    assert len(guard.doubts(*releases)) == doubts
    made = latency_report(latency_counts(rows(1)), {}, releases=releases, guard=guard)
    wanted = "no_ship" if objections else "inconclusive" if doubts else "ship"
    assert made.decision == wanted


def test_the_values_can_be_sliced() -> None:
    from affidavit.gates.latency import _RepeatedValues

    assert _RepeatedValues({2.0: 2, 1.0: 1})[0:3] == [1.0, 2.0, 2.0]


def test_percentiles_have_their_n_and_interval() -> None:
    made = Latencies({float(value): 1 for value in range(1, 101)}).figures
    p95 = made["p95_ms"].figure
    assert (p95.denominator, p95.ci95) == (100, (90.0, 100.0))
    assert (made["p99_ms"].n, made["p99_ms"].ci95) == (100, None)
    assert (made["tail_amplification"].n, made["tail_amplification"].ci95) == (100, None)
    assert Latencies().figures["p50_ms"].n == 0
