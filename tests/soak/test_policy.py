"""When a soak stops, and what it decides."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.soak.making import plan, trial, trials

from affidavit.base.errors import AffidavitError
from affidavit.decision.decision import Decision
from affidavit.decision.gate import override_gates
from affidavit.soak.policy import (
    SOAK_METRICS,
    DecisionPolicy,
    SoakCounts,
    SoakEnd,
    StopPolicy,
    StopReason,
    StopRule,
    decide_soak,
)
from affidavit.soak.report import soak_result
from affidavit.soak.sequential import RateBound, Side, rate_bound_from
from affidavit.soak.trial import case_of, trial_seed

SHIP, NO, OPEN = Decision.SHIP, Decision.NO_SHIP, Decision.INCONCLUSIVE

DECISIONS: dict[str, tuple[str, int, dict[str, Any], Decision, str]] = {
    "all passed": ("ppp", 3, {}, SHIP, "all 3 runs were judged, and 0 failed"),
    "one failure fails": ("pfp", 3, {}, NO, "1 of 3 judged runs failed"),
    "an infra error is neither": ("pip", 3, {}, OPEN, "1 could not be judged"),
    "a failure outweighs an infra error": ("pif", 3, {}, NO, "1 of 2 judged runs failed"),
    "runs that were not run": ("pp", 3, {}, OPEN, "1 were not run"),
    "both are open": ("pi", 3, {}, OPEN, "1 could not be judged and 1 were not run"),
    "fewer failures than allowed": ("pfp", 3, {"most": 2}, SHIP, "1 failed"),
    "as many failures as allowed": ("pff", 3, {"most": 2}, NO, "2 of 3"),
    "an infra error may be the last straw": ("pfi", 3, {"most": 2}, OPEN, "1 could not"),
    "too few judged runs": ("ppp", 3, {"least": 4}, OPEN, "3 runs were judged, and 4"),
    "too few, and a failure": ("ppf", 3, {"least": 4}, NO, "1 of 3"),
    "a gate that holds": ("ppf", 3, {"gates": "pass_rate>=0.5"}, SHIP, "pass_rate"),
    "a gate that fails": ("pff", 3, {"gates": "pass_rate>=0.5"}, NO, "pass_rate"),
    "a gate that an infra error may turn": ("pfi", 3, {"gates": "pass_rate>=0.5"}, OPEN, "pass"),
    "a gate on infra errors": ("pfi", 3, {"gates": "infra_errors<=0"}, NO, "infra_errors"),
    "nothing judged and a gate": ("ii", 2, {"gates": "pass_rate>=0.5"}, OPEN, "no run was judged"),
    "known to be above": ("ppp", 9, {"side": Side.ABOVE}, SHIP, "is above 0.9 at 95% confidence"),
    "known to be below": ("fff", 9, {"side": Side.BELOW}, NO, "is below 0.9"),
    "not known": ("ppf", 3, {"side": Side.UNDECIDED}, OPEN, "3 runs do not decide"),
    "above, and too many failures": ("ppf", 3, {"side": Side.ABOVE, "most": 1}, NO, "1 of 3"),
    "a switched off gate leaves nothing": ("ppp", 3, {"gates": "pass_rate=off"}, SHIP, "all 3"),
}


@pytest.mark.parametrize(
    ("letters", "iterations", "asked", "wanted", "said"), DECISIONS.values(), ids=DECISIONS.keys()
)
def test_a_decision(
    letters: str, iterations: int, asked: dict[str, Any], wanted: Decision, said: str
) -> None:
    policy = DecisionPolicy(**({"max_failures": asked["most"]} if "most" in asked else {}))
    stop = StopPolicy(
        min_runs=asked.get("least", 1), until=RateBound(0.9, 95) if "side" in asked else None
    )
    made = decide_soak(
        policy,
        stop,
        SoakCounts.of(trials(letters)),
        SoakEnd(iterations, StopReason.DECIDED if "side" in asked else None),
        side=asked.get("side", Side.UNDECIDED),
        gates=override_gates([asked["gates"]], (), SOAK_METRICS) if "gates" in asked else (),
    )
    assert made.decision is wanted
    assert said in "; ".join(made.reasons)
    assert (made.gates is not None) is (asked.get("gates", "off").endswith("off") is False)


STOPS: dict[str, tuple[str, DecisionPolicy, StopPolicy, StopReason | None, int]] = {
    "runs to the end": ("pfpf", DecisionPolicy(), StopPolicy(), None, 4),
    "the first failure": (
        "ppfp",
        DecisionPolicy(stop_on_first_failure=True),
        StopPolicy(),
        StopReason.FIRST_FAILURE,
        3,
    ),
    "the second failure": (
        "pfpfpp",
        DecisionPolicy(max_failures=2),
        StopPolicy(),
        StopReason.MAX_FAILURES,
        4,
    ),
    "a violation": (
        "ppfp",
        DecisionPolicy(),
        StopPolicy(stop_on_violation=True),
        StopReason.VIOLATION,
        3,
    ),
    "an infra error stops nothing": (
        "pip",
        DecisionPolicy(stop_on_first_failure=True),
        StopPolicy(stop_on_violation=True),
        None,
        3,
    ),
    "enough is known": (
        "f" * 9,
        DecisionPolicy(),
        StopPolicy(until=RateBound(0.9, 95)),
        StopReason.DECIDED,
        2,
    ),
    "enough is known, but more runs are asked for": (
        "f" * 9,
        DecisionPolicy(),
        StopPolicy(until=RateBound(0.9, 95), min_runs=5),
        StopReason.DECIDED,
        5,
    ),
    "not enough is known": ("pp", DecisionPolicy(), StopPolicy(until=RateBound(0.9, 95)), None, 2),
}


@pytest.mark.parametrize(
    ("letters", "policy", "stop", "wanted", "runs"), STOPS.values(), ids=STOPS.keys()
)
def test_a_soak_stops(
    letters: str, policy: DecisionPolicy, stop: StopPolicy, wanted: StopReason | None, runs: int
) -> None:
    made = soak_result(plan(len(letters), policy=policy, stop=stop), trials(letters))
    assert (made.stopped, len(made.trials)) == (wanted, runs)


def test_a_warning_violates_without_failing() -> None:
    rule = StopRule(DecisionPolicy(), StopPolicy(stop_on_violation=True))
    assert rule.feed(trial(1, "p")) is None
    assert rule.feed(trial(2, "p", violated_rules=("x",))) is StopReason.VIOLATION


@given(st.text("pfi", min_size=1, max_size=30), st.randoms())
def test_the_order_in_which_trials_end_does_not_matter(letters: str, random: Any) -> None:
    asked = plan(len(letters), policy=DecisionPolicy(max_failures=2))
    shuffled = trials(letters)
    random.shuffle(shuffled)
    assert soak_result(asked, shuffled) == soak_result(asked, trials(letters))


@given(st.text("pfi", min_size=1, max_size=30), st.integers(1, 5))
def test_a_further_failure_never_helps(letters: str, most: int) -> None:
    """Turning a pass into a failure never turns a failed soak into a passed one."""

    def decided(runs: str) -> Decision:
        counts = SoakCounts.of(trials(runs))
        policy = DecisionPolicy(max_failures=most)
        return decide_soak(policy, StopPolicy(), counts, SoakEnd(len(runs))).decision

    worse = letters.replace("p", "f", 1)
    order = [NO, OPEN, SHIP]
    assert order.index(decided(worse)) <= order.index(decided(letters))


BOUNDS = {
    "as documented": ("0.95@95", (0.95, 95)),
    "without the zero": (".9@99.5", (0.9, 99.5)),
    "no confidence": ("0.95", None),
    "a rate of one": ("1@95", None),
    "a rate of zero": ("0.0@95", None),
    "less than a coin": ("0.9@10", None),
    "certainty": ("0.9@100", None),
    "words": ("most@95", None),
}


@pytest.mark.parametrize(("text", "wanted"), BOUNDS.values(), ids=BOUNDS.keys())
def test_a_bound(text: str, wanted: tuple[float, float] | None) -> None:
    if wanted is not None:
        assert rate_bound_from(text) == RateBound(*wanted)
        return
    with pytest.raises(AffidavitError, match="AF761"):
        rate_bound_from(text)


def test_seeds_of_neighbouring_soaks_are_apart() -> None:
    seeds = {trial_seed(seed, index) for seed in range(20) for index in range(1, 51)}
    assert len(seeds) == 1000
    assert all(0 <= seed < 2**32 for seed in seeds)
    # `printf affidavit-soak-1/1/1 | sha256sum`
    assert trial_seed(1, 1) == 0xE11B0544


def test_cases_take_turns() -> None:
    assert [case_of(("a", "b"), index) for index in (1, 2, 3)] == ["a", "b", "a"]
    assert case_of((), 1) is None
