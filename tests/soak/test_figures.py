"""pass^k, the posterior, the table of cases, and the two documents."""

import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.soak.making import RULE, plan, trial, trials

from affidavit.base.statistics import Rate, beta_interval, difference_interval, holm_corrected
from affidavit.base.statistics import pass_hat_k as exact_pass_hat_k
from affidavit.soak.drift import DriftVerdict, Outcomes, compare_with_baseline
from affidavit.soak.figures import (
    case_figures,
    counts_by_case,
    pass_hat_k_table,
    pass_hat_k_values,
    posterior_of,
)
from affidavit.soak.policy import SoakCounts, StopPolicy, StopReason
from affidavit.soak.report import SoakDetails, soak_details, soak_report, soak_result
from affidavit.soak.sequential import RateBound, Side


@given(st.integers(0, 60), st.integers(0, 60))
def test_pass_hat_k_is_the_unbiased_estimator(passes: int, failures: int) -> None:
    runs = passes + failures
    values = pass_hat_k_values(passes, runs)
    assert len(values) == runs
    for k, value in enumerate(values, 1):
        assert value == pytest.approx(exact_pass_hat_k(passes, runs, k), abs=1e-12)


def test_over_runs_the_interval_is_a_power_of_wilsons() -> None:
    table = pass_hat_k_table(SoakCounts(9, 1), ())
    assert table.over == "runs"
    assert [(each.k, each.value) for each in table.values[:2]] == [(1, 0.9), (2, 0.8)]
    (low, high), (low2, high2) = (each.ci95 or (0, 0) for each in table.values[:2])
    assert [low2, high2] == pytest.approx([low**2, high**2], abs=1e-5)


def test_over_cases_one_that_always_fails_is_not_hidden() -> None:
    """Of fifty cases one always fails: pass^k stays at 0.98, and the case is first in the table."""
    cases = {f"c{at:02}": SoakCounts(4, 0) for at in range(49)} | {"bad": SoakCounts(0, 4)}
    table = pass_hat_k_table(SoakCounts(196, 4), [*cases.values()])
    assert table.over == "cases"
    assert {each.value for each in table.values} == {0.98}
    assert len(table.values) == 4
    assert table.values[0].ci95 is not None
    figures = case_figures(cases)
    assert (figures[0].case, figures[0].pass_rate, figures[0].pass_all) == ("bad", 0.0, False)
    assert figures[1].pass_all


def test_over_cases_k_ends_at_the_case_with_the_fewest_runs() -> None:
    table = pass_hat_k_table(SoakCounts(5, 0), [SoakCounts(2, 0), SoakCounts(3, 0)])
    assert [each.k for each in table.values] == [1, 2]
    single = pass_hat_k_table(SoakCounts(2, 0), [SoakCounts(2, 0)])
    assert [each.ci95 for each in single.values] == [None, None]


def test_over_cases_no_interval_is_given_that_would_be_too_narrow() -> None:
    """Two cases that are alike, resampled, give an interval of no width at all."""
    alike = pass_hat_k_table(SoakCounts(20, 4), [SoakCounts(10, 2)] * 2)
    assert {each.ci95 for each in alike.values} == {None}
    all_pass = pass_hat_k_table(SoakCounts(50, 0), [SoakCounts(2, 0)] * 25)
    assert {each.ci95 for each in all_pass.values} == {None}


def test_a_case_that_was_never_judged_comes_first_and_has_no_rate() -> None:
    cases = counts_by_case(trials("pifip", ["b", "a"]))
    figures = case_figures(cases)
    assert (figures[0].case, figures[0].pass_rate, figures[0].ci95) == ("a", None, None)
    assert figures[0].pass_all is False
    assert counts_by_case(trials("pp")) == {}


@settings(max_examples=25)
@given(st.integers(0, 60), st.integers(0, 60))
def test_the_posterior_is_scipys(passes: int, failures: int) -> None:
    found = posterior_of(SoakCounts(passes, failures))
    wanted = stats.beta.ppf([0.025, 0.975], passes + 1, failures + 1)
    assert [*found.ci95] == pytest.approx([*wanted], abs=2e-6)
    assert found.mean == pytest.approx((passes + 1) / (passes + failures + 2), abs=1e-6)


def test_the_posterior_of_many_runs() -> None:
    found = beta_interval(9_800, 200)
    wanted = stats.beta.ppf([0.025, 0.975], 9_801, 201)
    assert [found.low, found.high] == pytest.approx([*wanted])


def test_newcombes_own_example() -> None:
    """Newcombe (1998), table II, method 10: 56/70 against 48/80 gives 0.0524 to 0.3339."""
    found = difference_interval(Rate(48, 80), Rate(56, 70))
    assert found is not None
    assert (round(found.low, 4), round(found.high, 4)) == (0.0524, 0.3339)
    assert difference_interval(Rate(0, 0), Rate(1, 2)) is None


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_is_never_below_the_plain_value_and_keeps_the_order(values: list[float]) -> None:
    corrected = holm_corrected(values)
    assert all(a <= b <= 1 for a, b in zip(values, corrected, strict=True))
    by_value = [after for _, after in sorted(zip(values, corrected, strict=True))]
    assert by_value == sorted(by_value)


def test_holms_own_arithmetic() -> None:
    assert holm_corrected([0.01, 0.04, 0.03]) == (0.03, 0.06, 0.06)


def test_the_first_document() -> None:
    made = soak_report(
        soak_result(plan(4, suite="nightly"), trials("pfip")), 60, "2026-01-31T14:30:00Z"
    )
    wire = json.loads(msgspec.json.encode(made))
    assert wire["results"] == {
        "runs": 4,
        "passes": 2,
        "failures": 1,
        "infra_errors": 1,
        "pass_rate": 0.666667,
        "pass_all": False,
        "first_failure_at": 2,
        "violations_by_rule": {RULE: 1},
        "infra_errors_by_kind": {"subprocess_failed": 1},
        "pass_rate_ci95": [0.20766, 0.938508],
    }
    assert wire["decision_policy"] == {
        "pass_on_severity_at_or_above": "error",
        "stop_on_first_failure": False,
    }
    assert wire["suite"] == "nightly"
    assert [run["status"] for run in wire["runs"]] == ["pass", "fail", "infra_error", "pass"]
    assert wire["runs"][2]["infra_error_message"] == "it ended with 9"
    assert wire["runs"][1]["violated_rules"] == [RULE]


def test_without_a_judged_run_there_is_no_first_document() -> None:
    with pytest.raises(ValueError, match="judged"):
        soak_report(soak_result(plan(2), trials("ii")), 60, "2026-01-31T14:30:00Z")


def details_of(letters: str, ended: StopReason | None = None, **others: object) -> SoakDetails:
    asked = plan(len(letters), **others)
    result = soak_result(asked, trials(letters), ended)
    return soak_details(result, (), tool_version="0", time_budget_secs=60)


PARTIAL = {
    "a whole soak is not": (None, False),
    "the time ended": (StopReason.TIME_BUDGET, True),
    "it was interrupted": (StopReason.INTERRUPTED, True),
    "too few bundles are all there are": (StopReason.TOO_FEW_BUNDLES, False),
}


@pytest.mark.parametrize(("ended", "wanted"), PARTIAL.values(), ids=PARTIAL.keys())
def test_what_is_partial(ended: StopReason | None, wanted: bool) -> None:
    assert details_of("pp", ended).partial is wanted


def test_a_shard_is_partial() -> None:
    result = soak_result(plan(2), trials("p"))
    made = soak_details(result, (), tool_version="0", time_budget_secs=60, shard="1/2")
    assert made.partial


def test_the_second_document_has_what_until_decided() -> None:
    made = details_of("fffff", stop=StopPolicy(until=RateBound(0.95, 95)))
    assert made.sequential is not None
    assert (made.sequential.side, made.sequential.judged_runs) == (Side.BELOW, 2)
    assert made.stopped is StopReason.DECIDED
    assert details_of("pp").sequential is None
    assert details_of("ii").pass_rate is None


def test_faults_are_counted_by_kind() -> None:
    hit = [
        trial(1, "f", faults={"reset": 2}),
        trial(2, "p", faults={"reset": 1, "stale": 1}),
        trial(3, "p"),
    ]
    made = soak_details(soak_result(plan(3), hit), (), tool_version="0", time_budget_secs=60)
    assert [(each.kind, each.injected, each.counts) for each in made.faults] == [
        ("reset", 3, SoakCounts(1, 1)),
        ("stale", 1, SoakCounts(1, 0)),
    ]


def test_a_document_survives_being_written() -> None:
    made = details_of("pfip", stop=StopPolicy(until=RateBound(0.5, 95)))
    assert msgspec.json.decode(msgspec.json.encode(made), type=SoakDetails) == made
    assert made.plan_digest == made.plan.digest
    assert made.plan.digest != plan(5).digest


DRIFTS = {
    "the pass rate fell": ((90, 10, 0, {}), (50, 50, 0, {}), DriftVerdict.DRIFTED, "pass_rate"),
    "infra errors came up": ((90, 0, 0, {}), (60, 0, 30, {}), DriftVerdict.DRIFTED, "infra_errors"),
    "only a rule shifted": (
        (100, 0, 0, {"r": 1}),
        (100, 0, 0, {"r": 40}),
        DriftVerdict.DRIFTED,
        "changed by more than chance: r",
    ),
    "many runs that agree": ((950, 50, 0, {}), (940, 60, 0, {}), DriftVerdict.STEADY, "less than"),
    "few runs that agree": ((9, 1, 0, {}), (9, 1, 0, {}), DriftVerdict.CANNOT_TELL, "too few"),
    "nothing was judged": ((9, 1, 0, {}), (0, 0, 3, {}), DriftVerdict.CANNOT_TELL, "no judged run"),
    "one rule among many by chance": (
        (100, 0, 0, {f"r{at}": 1 for at in range(20)}),
        (100, 0, 0, {"r0": 8} | {f"r{at}": 1 for at in range(1, 20)}),
        DriftVerdict.STEADY,
        "less than",
    ),
}


@pytest.mark.parametrize(("before", "now", "wanted", "said"), DRIFTS.values(), ids=DRIFTS.keys())
def test_drift(
    before: tuple[int, int, int, dict[str, int]],
    now: tuple[int, int, int, dict[str, int]],
    wanted: DriftVerdict,
    said: str,
) -> None:
    old, new = (Outcomes(SoakCounts(*each[:3]), each[3]) for each in (before, now))
    if wanted is DriftVerdict.CANNOT_TELL and not now[0]:
        # Every run is an infra error, which by itself is a drift; so the baseline has them, too.
        old = Outcomes(SoakCounts(0, 0, 3), {})
    made = compare_with_baseline("old.json", old, new)
    assert (made.verdict, said in made.why) == (wanted, True)
    assert {shift.name for shift in made.shifts} >= {"infra_errors"}
