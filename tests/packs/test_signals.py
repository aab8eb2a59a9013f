"""Signals by event type and field, completeness by pack, closure as a sum: fixed fixtures."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.packs.making import MANIFEST, event, line_of, lint, pack_with

from affidavit.packs.closure import score_gain
from affidavit.packs.lint import LintPass
from affidavit.packs.report import ClosureConfidence, SignalState
from affidavit.packs.signals import REGISTRY, REGISTRY_VERSION, REPLAY_CRITICAL, TOTAL_WEIGHT

COMMITMENT = {"$redacted": {"alg": "sha256-salted", "digest": "sha256:ab", "size_bytes": 4}}
STARTED = event("affidavit.run.started", {"input": "q"})
FINISHED = event("affidavit.run.finished", {"status": "ok"})
MODEL = {"model": "m", "input": "q", "output": "a", "parameters": {"temperature": 0, "seed": 1}}
MODEL_CALL = event("affidavit.model.call", MODEL)
TOOL_CALL = event("affidavit.tool.call", {"tool": "t", "input": {}, "output": "r"})
# One event for each signal of the registry, so that all are captured.
EVERYTHING = [
    STARTED,
    event("affidavit.prompt", {"text": "p"}),
    event("affidavit.rng.seed", {"seed": 7}),
    event("affidavit.retrieval", {"query": "q", "results": [{"id": "c-1"}]}),
    event("affidavit.code.version", {"version": "1"}),
    event("affidavit.environment", {"values": {"python": "3.11"}}),
    event("affidavit.policy.decision", {"policy": "p", "decision": "allow"}),
    event("affidavit.human.approval", {"approver": "a", "decision": "yes"}),
    event("affidavit.verdict", {"verdict": "ship"}),
    MODEL_CALL,
    TOOL_CALL,
    FINISHED,
]


def without_signals(**reasons: str) -> dict[str, Any]:
    return event("affidavit.run.finished", {"status": "ok", "absent_signals": reasons})


def states(events: list[dict[str, Any]]) -> dict[str, SignalState]:
    return {name: seen.status for name, seen in lint([], events).signals.items()}


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in MODEL.items() if name != key}


# The signal, the events, its state, and words of the reason.
SPEC: dict[str, tuple[str, list[dict[str, Any]], SignalState, str]] = {
    "captured": ("model_outputs", [MODEL_CALL], SignalState.CAPTURED, "found in 1 event"),
    "captured in all of several": (
        "model_outputs",
        [MODEL_CALL, MODEL_CALL],
        SignalState.CAPTURED,
        "found in 2 events",
    ),
    "one of several lacks it": (
        "model_outputs",
        [MODEL_CALL, event("affidavit.model.call", without("output"))],
        SignalState.MISSING,
        "1 of 2 events that should show it do not",
    ),
    "a tool that takes no arguments": (
        "tool_io_bodies",
        [TOOL_CALL],
        SignalState.CAPTURED,
        "found",
    ),
    **{
        f"nothing in it: {output!r}": (
            "tool_io_bodies",
            [event("affidavit.tool.call", {"tool": "t", "input": 1, "output": output})],
            SignalState.MISSING,
            "1 of 1 events that should show it do not",
        )
        for output in (None, "", " \n\t", [], {}, [None, [""]], {"a": {"b": ""}})
    },
    **{
        f"something in it: {output!r}": (
            "tool_io_bodies",
            [event("affidavit.tool.call", {"tool": "t", "input": 1, "output": output})],
            SignalState.CAPTURED,
            "found",
        )
        for output in (0, False, "null", [None, 1], {"a": ["", "x"]}, "\\", " a")
    },
    "an empty field that need not be there": (
        "prompt_lineage",
        [event("affidavit.model.call", {**MODEL, "input": ""}), STARTED],
        SignalState.MISSING,
        "no event of the run shows it",
    ),
    "redacted": (
        "model_outputs",
        [event("affidavit.model.call", {**MODEL, "output": COMMITMENT})],
        SignalState.REDACTED,
        "1 of 1 are redacted",
    ),
    "redacted inside": (
        "model_outputs",
        [event("affidavit.model.call", {**MODEL, "output": [{"text": COMMITMENT}]}), MODEL_CALL],
        SignalState.REDACTED,
        "1 of 2 are redacted",
    ),
    "what looks like a redaction and is none": (
        "model_outputs",
        [event("affidavit.model.call", {**MODEL, "output": {"$redacted": 1}})],
        SignalState.CAPTURED,
        "found",
    ),
    "a redaction elsewhere": (
        "model_identity",
        [event("affidavit.model.call", {**MODEL, "output": COMMITMENT})],
        SignalState.CAPTURED,
        "found",
    ),
    "a recorder that did not record it": (
        "rng_seeds",
        [STARTED],
        SignalState.MISSING,
        "no event of the run shows it",
    ),
    "nothing could have shown it": (
        "rng_seeds",
        [event("assay.profile.started")],
        SignalState.UNKNOWN,
        "no event could have shown it",
    ),
    "an Assay decision without bodies": (
        "tool_io_bodies",
        [event("assay.tool.decision", {"tool": "t", "decision": "allow"})],
        SignalState.MISSING,
        "1 of 1 events",
    ),
    "an Assay decision shows the tool": (
        "tool_calls",
        [event("assay.tool.decision", {"tool": "t", "decision": "allow"})],
        SignalState.CAPTURED,
        "found",
    ),
    "a field that is only sometimes there": (
        "human_approvals",
        [event("assay.tool.decision", {"tool": "t"})],
        SignalState.UNKNOWN,
        "no event could have shown it",
    ),
    "a seed in the call's own settings": ("rng_seeds", [MODEL_CALL], SignalState.CAPTURED, "found"),
    "data that is no object": (
        "model_outputs",
        [event("affidavit.model.call", "text")],
        SignalState.MISSING,
        "1 of 1 events",
    ),
    "the run says that it had none": (
        "tool_calls",
        [MODEL_CALL, without_signals(tool_calls="it has no tools", unknown="x")],
        SignalState.CAPTURED,
        "the run says that it had none: it has no tools",
    ),
    "the run does not say why it had none": (
        "tool_calls",
        [MODEL_CALL, without_signals(tool_calls=" ")],
        SignalState.MISSING,
        "and not why",
    ),
    "a list, as earlier versions wrote it": (
        "tool_calls",
        [
            MODEL_CALL,
            event("affidavit.run.finished", {"absent_signals": ["tool_calls", "unknown", 5]}),
        ],
        SignalState.MISSING,
        "and not why",
    ),
    "a run that shows nothing of what it did": (
        "tool_calls",
        [STARTED, without_signals(tool_calls="it has no tools")],
        SignalState.MISSING,
        "shows nothing of what it did",
    ),
    "what every run has": (
        "environment",
        [MODEL_CALL, without_signals(environment="none")],
        SignalState.MISSING,
        "every run has some",
    ),
    "what the run says does not undo what is there": (
        "model_outputs",
        [
            event("affidavit.model.call", without("output")),
            without_signals(model_outputs="none"),
        ],
        SignalState.MISSING,
        "1 of 1 events",
    ),
    "a run that ends without an object": (
        "tool_calls",
        [event("affidavit.run.finished", "ok")],
        SignalState.MISSING,
        "no event",
    ),
}


@pytest.mark.parametrize(("name", "events", "state", "words"), SPEC.values(), ids=SPEC.keys())
def test_a_signal(name: str, events: list[dict[str, Any]], state: SignalState, words: str) -> None:
    seen = lint([], events).signals[name]
    assert (seen.status, words in seen.reason) == (state, True)
    assert seen.evidence_paths
    assert (seen.commitment is not msgspec.UNSET) is (state is SignalState.REDACTED)


def test_everything_can_be_captured() -> None:
    assert set(states(EVERYTHING).values()) == {SignalState.CAPTURED}
    result = lint([], EVERYTHING)
    assert (result.closure.score, result.closure.confidence) == (1.0, ClosureConfidence.HIGH)


def test_the_registry_has_what_was_agreed() -> None:
    assert REGISTRY_VERSION == "signals/v1"
    assert set(REGISTRY) == {
        "policy_decisions",
        "tool_calls",
        "tool_io_bodies",
        "model_identity",
        "prompt_lineage",
        "human_approvals",
        "run_inputs",
        "model_outputs",
        "rng_seeds",
        "retrieved_evidence",
        "sampling_parameters",
        "code_version",
        "environment",
        "verdicts",
    }
    assert TOTAL_WEIGHT == 20


def test_evidence_paths_name_line_and_field_and_are_few() -> None:
    seen = lint([], [STARTED, *[MODEL_CALL] * 5]).signals["model_outputs"]
    assert seen.evidence_paths == tuple(f"events.ndjson:{line}/data/output" for line in (2, 3, 4))
    gap = lint([], [event("affidavit.model.call", without("model"))]).signals["model_identity"]
    assert gap.evidence_paths == ("events.ndjson:1/data/model",)
    hint = lint([], [STARTED]).signals["tool_io_bodies"]
    assert hint.evidence_paths == (
        "affidavit.tool.call/data/input",
        "affidavit.tool.call/data/output",
    )


def test_an_empty_output_is_a_gap_among_many_equal_events() -> None:
    full, empty = ({"tool": "t", "input": 1, "output": each} for each in ("r", ""))
    done = LintPass([], MANIFEST)
    done.feed_lines(
        1, b"".join(line_of(event("affidavit.tool.call", full)) + b"\n" for _ in "1234")
    )
    batch = [line_of(event("affidavit.tool.call", each)) + b"\n" for each in (full, empty, full)]
    done.feed_lines(5, b"".join(batch))
    seen = done.finish().signals["tool_io_bodies"]
    assert seen.reason == "1 of 7 events that should show it do not"
    assert seen.evidence_paths == ("events.ndjson:6/data/output",)


def test_a_commitment_is_carried_into_the_report() -> None:
    redacted = [event("affidavit.model.call", {**MODEL, "output": COMMITMENT})] * 2
    found = lint([], redacted).signals["model_outputs"]
    assert msgspec.to_builtins(found.commitment) == COMMITMENT["$redacted"]


def emptied(value: Any) -> Any:
    """Return the value with every text empty and everything else null."""
    if isinstance(value, dict):
        return {key: emptied(member) for key, member in value.items()}
    return "" if isinstance(value, str) else None


# Fixed fixtures of the score: which signals a run records, and what it comes to.
SCORES: dict[str, tuple[list[dict[str, Any]], float, ClosureConfidence]] = {
    "nothing known, nothing whole": ([event("x")], 0.0, ClosureConfidence.LOW),
    "whole, and nothing of it known": (
        [event("assay.profile.started"), event("assay.profile.finished")],
        0.0,
        ClosureConfidence.MEDIUM,
    ),
    "cut off, and all of it known": ([STARTED], 0.15, ClosureConfidence.MEDIUM),
    "whole, and the input alone": ([STARTED, FINISHED], 0.15, ClosureConfidence.HIGH),
    # 3 input, 3 outputs, 2 identity, 2 lineage (input), 2 seeds, 1 parameters.
    "a model call": ([STARTED, MODEL_CALL, FINISHED], 0.65, ClosureConfidence.HIGH),
    "the same, redacted": (
        [STARTED, event("affidavit.model.call", {**MODEL, "output": COMMITMENT}), FINISHED],
        0.5,
        ClosureConfidence.HIGH,
    ),
    "everything": (EVERYTHING, 1.0, ClosureConfidence.HIGH),
    "every field, and nothing in them": (
        [event(each["type"], emptied(each["data"])) for each in EVERYTHING],
        0.0,
        ClosureConfidence.HIGH,
    ),
    # 13 are captured, and 4 are declared: tool_calls and tool_io_bodies.
    "a model call, and no tools": (
        [STARTED, MODEL_CALL, without_signals(tool_calls="none", tool_io_bodies="none")],
        0.85,
        ClosureConfidence.MEDIUM,
    ),
    "most of it declared": (
        [
            event("affidavit.run.started"),
            event("affidavit.prompt", {"text": "p"}),
            without_signals(**dict.fromkeys(REGISTRY, "none")),
        ],
        0.75,
        ClosureConfidence.LOW,
    ),
    "start and finish, and all of it declared": (
        [event("affidavit.run.started"), without_signals(**dict.fromkeys(REGISTRY, "none"))],
        0.0,
        ClosureConfidence.HIGH,
    ),
}


@pytest.mark.parametrize(("events", "score", "confidence"), SCORES.values(), ids=SCORES.keys())
def test_the_score(
    events: list[dict[str, Any]], score: float, confidence: ClosureConfidence
) -> None:
    closure = lint([], events).closure
    assert (closure.score, closure.confidence) == (score, confidence)


@given(st.sets(st.integers(0, len(EVERYTHING) - 1)))
def test_the_score_is_the_sum_of_what_is_captured(chosen: set[int]) -> None:
    closure = lint([], [EVERYTHING[at] for at in sorted(chosen)]).closure
    assert closure.score == pytest.approx(sum(map(score_gain, closure.captured)))
    assert 0 <= closure.score <= 1


@given(st.permutations(EVERYTHING[1:-1]), st.integers(0, 10))
def test_an_event_that_is_left_out_never_raises_the_score(
    events: list[dict[str, Any]], left: int
) -> None:
    whole = lint([], [STARTED, *events, FINISHED]).closure.score
    part = lint([], [STARTED, *events[:left], FINISHED]).closure.score
    assert part <= whole


def test_the_lists_of_completeness_divide_what_is_required() -> None:
    pack = pack_with(
        {"check": {"type": "x"}, "x-assay": {"requires_signals": sorted(REGISTRY)}},
    )
    redacted = event("affidavit.model.call", {**MODEL, "output": COMMITMENT})
    complete = lint([pack], [STARTED, redacted]).completeness
    parts = [*complete.captured, *complete.redacted, *complete.unknown]
    assert sorted(parts) == list(complete.required) == sorted(REGISTRY)
    assert complete.redacted == ("model_outputs",)
    assert complete.by_signal["tool_calls"].status is SignalState.MISSING
    assert tuple(complete.by_signal) == complete.required


DEPENDENCIES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a connection": (event("assay.net.connect", subject="api.test:443"), ["network: api.test:443"]),
    "a connection to nobody": (event("assay.net.connect"), ["network: unnamed"]),
    "a process": (event("assay.process.exec", subject="echo"), ["process: echo"]),
    "a tool without its output": (event("affidavit.tool.call", {"tool": "t"}), ["live tool: t"]),
    "a tool without a name": (event("affidavit.tool.call", {"tool": 5}), ["live tool: unnamed"]),
    "a tool with its output": (TOOL_CALL, []),
    "a tool with an empty output": (
        event("affidavit.tool.call", {"tool": "t", "output": ""}),
        ["live tool: t"],
    ),
    "a call that is drawn": (
        event("affidavit.model.call", {"model": "m", "parameters": {"temperature": 0.5}}),
        ["sampled model: m"],
    ),
    "a call that is drawn with a seed": (
        event("affidavit.model.call", {"parameters": {"temperature": 1, "seed": 3}}),
        [],
    ),
    "a call at temperature 0": (MODEL_CALL, []),
    "a call without settings": (event("affidavit.model.call", {"model": "m"}), []),
    "no object": (event("affidavit.tool.call", []), []),
}


@pytest.mark.parametrize(("given_event", "wanted"), DEPENDENCIES.values(), ids=DEPENDENCIES.keys())
def test_what_is_not_held_still(given_event: dict[str, Any], wanted: list[str]) -> None:
    closure = lint([], [given_event, given_event]).closure
    assert list(closure.uncontrolled_dependencies) == wanted


def test_very_many_dependencies_are_not_all_named() -> None:
    events = [event("assay.net.connect", subject=f"h{at:03}") for at in (*range(102), 0)]
    named = lint([], events).closure.uncontrolled_dependencies
    assert len(named) == 101
    assert named[-1] == "and others: the first 100 are named"


def test_the_order_of_equal_events_does_not_change_the_report() -> None:
    first, second = lint([], EVERYTHING), lint([], EVERYTHING)
    assert first.closure == second.closure
    assert sorted(signal.name for signal in REPLAY_CRITICAL) == list(first.closure.scoring.weights)


def test_more_types_than_plans_are_planned_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("affidavit.packs.lint.MAX_PLANS", 3)
    rule = {"check": {"type": "event_type_exists", "pattern": "t9"}}
    result = lint([pack_with(rule)], [event(f"t{at}") for at in range(10)])
    assert (result.findings, result.events) == ((), 10)


SOME_EVENTS = st.sampled_from(
    [
        *EVERYTHING,
        event("affidavit.model.call", {**MODEL, "output": COMMITMENT}),
        event("affidavit.model.call", {**MODEL, "parameters": {"temperature": 0.7}}),
        event("affidavit.model.call", {**MODEL, "parameters": []}),
        event("affidavit.model.call", without("output")),
        event("affidavit.model.call", "text"),
        event("affidavit.tool.call", {"tool": "t"}),
        event("affidavit.tool.call", {"tool": "t", "input": 1, "output": [None]}),
        event("affidavit.tool.call", {"tool": "t", "input": 1, "output": " "}),
        event("affidavit.tool.call", {"tool": "t", "input": {"output": 1}}),
        event("assay.tool.decision", {"tool": "t", "decision": "allow"}),
        event("assay.net.connect", subject="h"),
        event("x", {"m": "ada@mail.org", 'a"b': 1}),
        event("x", {"retention_days": 5}),
    ]
)
WHOLE_PACKS = [
    pack_with(
        {"check": {"type": "event_count", "min": 3}},
        {"check": {"type": "event_type_exists", "pattern": "assay.*"}},
        {"check": {"type": "event_field_present", "paths_any_of": ["/data/retention_days"]}},
        {"check": {"type": "event_field_present", "paths_any_of": ["/traceparent", "/nothing"]}},
        {"check": {"type": "json_path_exists", "paths": ["/data/x"], "value_equals": 1}},
        *(
            {
                "check": {
                    "type": "conditional",
                    "condition": {"all": [{"path": "/type", "equals": "affidavit.model.call"}]},
                    "then": {"type": "json_path_exists", "paths": [path]},
                }
            }
            for path in ("/data/output", "/data/parameters/seed", "/data/a/0", "/time")
        ),
        {
            "check": {
                "type": "event_pairs",
                "start_pattern": "*.started",
                "finish_pattern": "*.finished",
            }
        },
    )
]


@given(st.lists(SOME_EVENTS, max_size=60))
def test_events_that_are_taken_together_say_what_they_say_one_by_one(
    events: list[dict[str, Any]],
) -> None:
    lines = [line_of({**each, "assayseq": at}) for at, each in enumerate(events)]
    one_by_one, together = (LintPass(WHOLE_PACKS, MANIFEST) for _ in range(2))
    for number, line in enumerate(lines, 1):
        one_by_one.feed(number, line)
    # The first few alone, so that the others can be taken by what is known of them.
    together.feed_lines(1, b"".join(line + b"\n" for line in lines[:10]))
    together.feed_lines(11, b"".join(line + b"\n" for line in lines[10:]))
    first, second = one_by_one.finish(), together.finish()
    assert first == second


def test_many_equal_events_are_counted_exactly() -> None:
    lines = b"".join(line_of(each) + b"\n" for each in [MODEL_CALL, TOOL_CALL] * 50)
    done = LintPass(WHOLE_PACKS, MANIFEST)
    for portion in range(4):
        done.feed_lines(1 + portion * 100, lines)
    result = done.finish()
    assert result.events == 400
    assert result.signals["model_outputs"].reason == "found in 200 events"
    assert result.signals["tool_io_bodies"].reason == "found in 200 events"
    missing = next(each for each in result.rules if each.rule.id == "R-8").finding
    assert missing is not None
    assert missing.message.startswith("200 events matched the condition, but 200")
