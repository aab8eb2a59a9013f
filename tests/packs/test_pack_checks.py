"""What each check passes and what it finds: the contract of the pack engine as a table."""

from typing import Any

import pytest
from tests.packs.making import MANIFEST, event, line_of, lint, messages, pack_with

from affidavit.packs.checks import FixedEvaluator
from affidavit.packs.events import Event, decode_head

A, B = event("a", {"x": 1}), event("b", {"y": None})
START, FINISH = event("job.started"), event("job.finished")
PAIRS = {"type": "event_pairs", "start_pattern": "*.started", "finish_pattern": "*.finished"}
DECISION = "assay.tool.decision"
CONTEXT = {"principal": "alice", "auth_scheme": "oauth2", "auth_issuer": "https://idp.test"}
G3 = {"type": "g3_authorization_context_present"}
NO_CONTEXT = (
    "No assay.tool.decision event says on whose authority it was made"
    " (principal, auth_scheme, auth_issuer)"
)
CONDITIONAL = {
    "type": "conditional",
    "condition": {"all": [{"path": "/data/decision", "equals": "allow"}]},
    "then": {"type": "json_path_exists", "paths": ["/data/mandate"]},
}


def allow(**data: Any) -> dict[str, Any]:
    return event("d", {"decision": "allow", **data})


# The check, the events, and the message of the finding; None if it holds.
SPEC: dict[str, tuple[dict[str, Any], list[dict[str, Any]], str | None]] = {
    "enough events": ({"type": "event_count", "min": 2}, [A, B], None),
    "too few events": (
        {"type": "event_count", "min": 3},
        [A, B],
        "Bundle contains 2 events (minimum: 3)",
    ),
    "no event at all": (
        {"type": "event_count", "min": 1},
        [],
        "Bundle contains 0 events (minimum: 1)",
    ),
    "a type of this form": ({"type": "event_type_exists", "pattern": "{x,a}"}, [B, A], None),
    "no type of this form": (
        {"type": "event_type_exists", "pattern": "c*"},
        [A, B],
        "No event found matching type pattern 'c*'",
    ),
    "a field of some event": (
        {"type": "event_field_present", "paths_any_of": ["/data/z", "/data/x"]},
        [B, A],
        None,
    ),
    "null is present": ({"type": "event_field_present", "paths_any_of": ["data/y"]}, [B], None),
    "no event has one of the fields": (
        {"type": "event_field_present", "paths_any_of": ["/data/z", "/q"]},
        [A, B],
        "No event contains any of the required fields: /data/z, /q",
    ),
    "the older spelling, in data": (
        {"type": "event_field_present", "any_of": ["x"], "in_data": True},
        [A],
        None,
    ),
    "the older spelling, in the envelope": (
        {"type": "event_field_present", "any_of": ["assayrunid"]},
        [A],
        None,
    ),
    "the older spelling does not look in data by itself": (
        {"type": "event_field_present", "any_of": ["x"]},
        [A],
        "No event contains any of the required fields: /x",
    ),
    "what a producer adds to the envelope is not seen": (
        {"type": "event_field_present", "paths_any_of": ["/run_id"]},
        [event("a", run_id="r")],
        "No event contains any of the required fields: /run_id",
    ),
    "a key that is spelled with escapes is found": (
        {"type": "event_field_present", "paths_any_of": ['/data/a"b']},
        [event("a", {'a"b': 1})],
        None,
    ),
    "the whole document is always there": (
        {"type": "event_field_present", "paths_any_of": ["/"]},
        [A],
        None,
    ),
    "a member of a list": (
        {"type": "json_path_exists", "paths": ["/data/l/1/k"]},
        [event("a", {"l": [0, {"k": 1}]})],
        None,
    ),
    "a list has no such member": (
        {"type": "json_path_exists", "paths": ["/data/l/2", "/data/l/01", "/data/l/-"]},
        [event("a", {"l": [0, 1]})],
        "No event contains paths: /data/l/2, /data/l/01, /data/l/-",
    ),
    "a text has no members": (
        {"type": "json_path_exists", "paths": ["/data/t/0"]},
        [event("a", {"t": "xy"})],
        "No event contains paths: /data/t/0",
    ),
    "the wanted value": (
        {"type": "json_path_exists", "paths": ["/data/x"], "value_equals": 1.0},
        [A],
        None,
    ),
    "another value": (
        {"type": "json_path_exists", "paths": ["/data/x"], "value_equals": "1"},
        [A],
        'No event has path /data/x equal to "1"',
    ),
    "true is not 1": (
        {"type": "json_path_exists", "paths": ["/data/x"], "value_equals": True},
        [A],
        "No event has path /data/x equal to true",
    ),
    "null can be wanted": (
        {"type": "json_path_exists", "paths": ["/data/y"], "value_equals": None},
        [B],
        None,
    ),
    "a manifest's field": ({"type": "manifest_field", "path": "/run_id"}, [A], None),
    "a field of our block": (
        {"type": "manifest_field", "path": "/x-affidavit/merkle_root", "required": True},
        [A],
        None,
    ),
    "the manifest lacks it": (
        {"type": "manifest_field", "path": "/nothing", "required": True},
        [A],
        "Manifest missing field: /nothing",
    ),
    "the condition holds, and so does the rest": (CONDITIONAL, [allow(mandate="m")], None),
    "the condition never holds": (CONDITIONAL, [event("d", {"decision": "deny"}), A], None),
    "the condition holds, and the rest does not": (
        CONDITIONAL,
        [allow(mandate="m"), allow(), allow()],
        "3 events matched the condition, but 2 matching events were missing required path:"
        " /data/mandate",
    ),
    "a pair": (PAIRS, [START, A, FINISH], None),
    "two pairs, one inside the other": (PAIRS, [START, START, FINISH, FINISH], None),
    "neither start nor finish": (
        PAIRS,
        [A],
        "Missing both start (*.started) and finish (*.finished) events",
    ),
    "no start": (PAIRS, [FINISH], "Missing start event matching '*.started'"),
    "no finish": (PAIRS, [START], "Missing finish event matching '*.finished'"),
    "the finish before the start": (
        PAIRS,
        [FINISH, START],
        "1 started events have no finish event",
    ),
    "a second finish": (
        PAIRS,
        [START, FINISH, FINISH],
        "1 finished events have no start event before them",
    ),
    "the finish of another thing": (
        PAIRS,
        [START, event("other.finished")],
        "1 started events have no finish event",
    ),
    "the finish in another run": (
        PAIRS,
        [START, event("job.finished", run="run-2")],
        "1 started events have no finish event",
    ),
    "patterns of different form are paired by order alone": (
        {"type": "event_pairs", "start_pattern": "begin", "finish_pattern": "end.*"},
        [event("begin"), event("end.well")],
        None,
    ),
    "the whole authority": (G3, [event(DECISION, CONTEXT)], None),
    "authority in another type": (G3, [event("x", CONTEXT)], NO_CONTEXT),
    "no principal": (G3, [event(DECISION, {**CONTEXT, "principal": " "})], NO_CONTEXT),
    "a scheme that is not known": (
        G3,
        [event(DECISION, {**CONTEXT, "auth_scheme": "basic"})],
        NO_CONTEXT,
    ),
    "an issuer that is too long": (
        G3,
        [event(DECISION, {**CONTEXT, "auth_issuer": "i" * 2049})],
        NO_CONTEXT,
    ),
    "a credential for a principal": (
        G3,
        [event(DECISION, {**CONTEXT, "principal": "Bearer abc"})],
        NO_CONTEXT,
    ),
    "a token for an issuer": (
        G3,
        [event(DECISION, {**CONTEXT, "auth_issuer": "eyJh.eyJi.c2ln"})],
        NO_CONTEXT,
    ),
    "a host name is no token": (
        G3,
        [event(DECISION, {**CONTEXT, "auth_issuer": "idp.example.com"})],
        None,
    ),
    "a decision that is no object": (G3, [event(DECISION, [1])], NO_CONTEXT),
    "a check that nobody knows": (
        {"type": "reference_exists", "to": "x"},
        [A],
        "No check is called 'reference_exists': it was not checked",
    ),
}


@pytest.mark.parametrize(("check", "events", "wanted"), SPEC.values(), ids=SPEC.keys())
def test_a_check(check: dict[str, Any], events: list[dict[str, Any]], wanted: str | None) -> None:
    result = lint([pack_with({"check": check})], events)
    assert messages(result) == ([] if wanted is None else [wanted])
    (outcome,) = result.rules
    assert (outcome.finding is None) is (wanted is None)


SCOPED: dict[str, tuple[dict[str, Any], list[str], str | None]] = {
    "counted in scope": ({"type": "event_count", "min": 1}, ["a"], None),
    "not enough in scope": (
        {"type": "event_count", "min": 1},
        ["z", "q"],
        "Scoped events for event_types [q, z] contain 0 events (minimum: 1)",
    ),
    "a type out of scope": (
        {"type": "event_type_exists", "pattern": "a"},
        ["b"],
        "No event found matching type pattern 'a'",
    ),
    "a field out of scope": (
        {"type": "json_path_exists", "paths": ["/data/x"]},
        ["b"],
        "No event contains paths: /data/x",
    ),
    "a condition out of scope": (
        {**CONDITIONAL, "condition": {"all": [{"path": "/type", "equals": "a"}]}},
        ["b"],
        None,
    ),
    "a pair out of scope": (
        PAIRS,
        ["a"],
        "Missing both start (*.started) and finish (*.finished) events",
    ),
    "an authority out of scope": (G3, ["a"], NO_CONTEXT),
}


@pytest.mark.parametrize(("check", "types", "wanted"), SCOPED.values(), ids=SCOPED.keys())
def test_event_types_scope_every_check(
    check: dict[str, Any], types: list[str], wanted: str | None
) -> None:
    events = [A, B, START, FINISH, event(DECISION, CONTEXT)]
    result = lint([pack_with({"check": check, "event_types": types})], events)
    assert messages(result) == ([] if wanted is None else [wanted])


@pytest.mark.parametrize("kind", ["quality", "security", "compliance"])
def test_an_unknown_check_is_a_finding_in_every_kind_of_pack(kind: str) -> None:
    pack = pack_with({"check": {"type": "new"}}, kind=kind, disclaimer="no promise")
    (finding,) = lint([pack], [A]).findings
    assert finding.severity == "error"


def test_a_rule_that_needs_a_newer_engine_is_a_finding() -> None:
    rule = {"check": {"type": "event_count", "min": 1}, "engine_min_version": "1.5"}
    (found,) = messages(lint([pack_with(rule)], [A]))
    assert found == "Rule needs pack engine 1.5, and this is 1.4: it was not checked"
    assert messages(lint([pack_with({**rule, "engine_min_version": "1.4"})], [A])) == []


def test_a_manifest_field_that_is_not_required_is_a_warning() -> None:
    rule = {"check": {"type": "manifest_field", "path": "/nothing"}}
    (finding,) = lint([pack_with(rule)], [A]).findings
    assert finding.severity == "warning"


def test_a_finding_points_at_the_first_event_that_lacks_something() -> None:
    result = lint([pack_with({"check": CONDITIONAL}, {"check": PAIRS})], [A, allow(), START])
    places = [finding.location for finding in result.findings]
    assert [place and (place.seq, place.line, place.event_type) for place in places] == [
        (1, 2, "d"),
        (2, 3, "job.started"),
    ]


def test_more_open_pairs_than_are_followed_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("affidavit.packs.checks.MAX_OPEN_PAIRS", 2)
    result = lint([pack_with({"check": PAIRS})], [START, START, START, FINISH, FINISH, FINISH])
    assert messages(result) == ["More than 2 events matching '*.started' are open at once"]


def test_two_fields_of_the_envelope_are_looked_up_in_one_event() -> None:
    check = {"type": "event_field_present", "paths_any_of": ["/traceparent", "/time"]}
    traced = event("a", {"traceparent": 1})
    assert messages(lint([pack_with({"check": check})], [traced])) == []


def test_a_fixed_result_needs_no_event() -> None:
    settled = FixedEvaluator(None)
    assert not settled.accepts("a")
    assert settled.feed(Event(1, b"{}", decode_head(line_of(A))))
    assert settled.finish() is None


def test_a_manifest_is_not_changed_by_being_looked_at() -> None:
    before = dict(MANIFEST)
    lint([pack_with({"check": {"type": "manifest_field", "path": "/"}})], [A])
    assert before == MANIFEST
