"""The language of relations: what each form passes, what it finds, and what is no relation."""

from typing import Any

import pytest
from tests.packs.making import event, line_of, lint, messages, pack_with
from tests.packs.test_signals import COMMITMENT

from affidavit.base.errors import AffidavitError
from affidavit.packs.events import Event, decode_head
from affidavit.packs.explanations import explain
from affidavit.packs.globs import glob_from
from affidavit.packs.lint import LintPass, LintResult
from affidavit.packs.model import Pack
from affidavit.packs.relation_evaluation import TimeOrderEvaluator
from affidavit.packs.relations import TimeOrder

Events = list[dict[str, Any]]


def call(tool: str = "t", **data: Any) -> dict[str, Any]:
    return event("call", {"tool": tool, **data})


def said(decision: Any, tool: Any = "t", **data: Any) -> dict[str, Any]:
    named = {} if tool is None else {"tool": tool}
    return event("decision", {"decision": decision, **named, **data})


def later(seconds: int, one: dict[str, Any]) -> dict[str, Any]:
    return {**one, "time": f"2026-01-31T14:{30 + seconds // 60:02}:{seconds % 60:02}Z"}


X = event("x")
ALLOWED = [{"path": "/data/decision", "equals": "allow"}]
DECIDED = {"for_each": "call", "preceded_by": {"type": "decision", "same": ["/data/tool"]}}
LAST = {
    "for_each": "call",
    "preceded_by": {"type": "decision", "same": ["/data/tool"], "last": ALLOWED},
}
BY_OTHERS = {
    "for_each": "call",
    "preceded_by": {"type": "decision", "differ": {"this": "/data/by", "that": "/data/by"}},
}
NOT_REFUSED = {
    "for_each": "call",
    "not_preceded_by": {
        "type": "decision",
        "same": ["/data/tool"],
        "last": [{"path": "/data/decision", "matches": "{DEN*,no}"}],
    },
}
DONE = {"for_each": "call", "followed_by": {"type": "done", "same": ["/data/id"]}}
IN_TIME = {"for_each": "call", "followed_by": {"type": "done", "within_seconds": 60}}
CHECKED_BY_OTHERS = {
    "for_each": "call",
    "followed_by": {
        "type": "done",
        "same": ["/data/tool"],
        "differ": {"this": "/data/by", "that": "/data/by"},
    },
}
NOTHING_AFTER = {"for_each": "end", "not_followed_by": {"type": "*"}}


def having(**test: Any) -> dict[str, Any]:
    return {"for_each": "call", "has": [{"path": "/data/n", **test}]}


PASS, FAIL, IDLE = "pass", "fail", "not_exercised"

# The relation, the events, and the outcome.
SPEC: dict[str, tuple[dict[str, Any], Events, str]] = {
    "never, and there is none": ({"never": "call"}, [X], IDLE),
    "never, and there is one": ({"never": "call"}, [X, call()], FAIL),
    "never with a condition that none meets": (
        {"never": {"type": "call", "where": [{"path": "/data/tool", "equals": "u"}]}},
        [call()],
        PASS,
    ),
    "a redacted value escapes no prohibition": (
        {"never": {"type": "call", "where": [{"path": "/data/n", "equals": 1}]}},
        [call(n=COMMITMENT)],
        FAIL,
    ),
    "several types": ({"never": {"type": ["a", "call"]}}, [call()], FAIL),
    "it has the field": (having(exists=True), [call(n=None)], PASS),
    "it lacks the field": (having(exists=True), [call(), call(n=1)], FAIL),
    "it must not have the field": (having(exists=False), [call(n=1)], FAIL),
    "nothing of the type": (having(exists=True), [X], IDLE),
    "equal as JSON": (having(equals=1), [call(n=1.0)], PASS),
    "true is not 1": (having(equals=1), [call(n=True)], FAIL),
    "an object is not a text": (having(equals="{}"), [call(n={})], FAIL),
    "equal to another field": (having(equals={"path": "/data/m"}), [call(n=[1], m=[1.0])], PASS),
    "another field that is absent": (having(equals={"path": "/data/m"}), [call(n=1)], FAIL),
    "not equal": (having(not_equals=None), [call(n=1)], PASS),
    "an absent field is not unequal": (having(not_equals=1), [call()], FAIL),
    "one of several": (having(**{"in": [1, "a"]}), [call(n="a")], PASS),
    "none of several": (having(not_in=[1, "a"]), [call(n="a")], FAIL),
    "a pattern without case": (having(matches="Al*"), [call(n="ALLOW")], PASS),
    "a pattern of a number": (having(matches="*"), [call(n=1)], FAIL),
    "numbers: less": (having(less_than=2), [call(n=1.5)], PASS),
    "numbers: not less": (having(less_than=2), [call(n=2)], FAIL),
    "numbers: at most": (having(at_most=2), [call(n=2)], PASS),
    "numbers: at least": (having(at_least=2), [call(n=1)], FAIL),
    "numbers: more": (having(more_than={"path": "/data/m"}), [call(n=3, m=2)], PASS),
    "true is no number": (having(at_least=0), [call(n=True)], FAIL),
    "a text is no number": (having(at_least=0), [call(n="1")], FAIL),
    "times, also with another offset": (
        having(less_than="2026-01-31T14:30:00Z"),
        [call(n="2026-01-31T15:00:00+01:00")],
        PASS,
    ),
    "a time of the envelope": (
        having(more_than={"path": "/time"}),
        [call(n="2026-01-31T14:30:01Z")],
        PASS,
    ),
    "the type as a field": (
        {"for_each": "call", "has": [{"path": "/type", "equals": "call"}]},
        [call()],
        PASS,
    ),
    "another field of the envelope": (
        {"for_each": "call", "has": [{"path": "/assayrunid", "equals": "run-1"}]},
        [call()],
        PASS,
    ),
    "a redacted value is there": (having(exists=True), [call(n=COMMITMENT)], PASS),
    "a redacted value satisfies nothing else": (having(equals=1), [call(n=COMMITMENT)], FAIL),
    "any of two": (
        {
            "for_each": "call",
            "has": [
                {"any_of": [{"path": "/data/a", "exists": True}, {"path": "/data/b", "equals": 1}]}
            ],
        },
        [call(a=1), call(b=1)],
        PASS,
    ),
    "neither of two": (
        {
            "for_each": "call",
            "has": [
                {"any_of": [{"path": "/data/a", "exists": True}, {"path": "/data/b", "equals": 1}]}
            ],
        },
        [call(b=2)],
        FAIL,
    ),
    "a payload that is no object": (having(exists=True), [event("call", [1])], FAIL),
    "preceded": (DECIDED, [said("allow"), call(), call()], PASS),
    "not preceded": (DECIDED, [call(), said("allow")], FAIL),
    "preceded by one for another key": (DECIDED, [said("allow", "u"), call()], FAIL),
    "preceded by one for all keys": (DECIDED, [said("allow", None), call()], PASS),
    "a redacted key joins nothing": (DECIDED, [said("allow", COMMITMENT), call()], FAIL),
    "no subject": (DECIDED, [said("allow")], IDLE),
    "the last one allows": (LAST, [said("deny"), said("allow"), call()], PASS),
    "the last one revokes": (LAST, [said("allow"), said("deny"), call()], FAIL),
    "one for all keys revokes": (LAST, [said("allow"), said("deny", None), call()], FAIL),
    "one for the key comes after one for all": (
        LAST,
        [said("deny", None), said("allow"), call()],
        PASS,
    ),
    "a redacted decision allows nothing": (LAST, [said(COMMITMENT), call()], FAIL),
    "by somebody else": (BY_OTHERS, [said("a", by="ann"), call(by="bot")], PASS),
    "by the same": (BY_OTHERS, [said("a", by="bot"), call(by="bot")], FAIL),
    "by somebody else before the same": (
        BY_OTHERS,
        [said("a", by="ann"), said("a", by="bot"), said("a", by="bot"), call(by="bot")],
        PASS,
    ),
    "by nobody": (BY_OTHERS, [said("a"), call(by="bot")], FAIL),
    "an act of nobody": (BY_OTHERS, [said("a", by="ann"), call()], FAIL),
    "not refused": (NOT_REFUSED, [said("allow"), call()], PASS),
    "refused": (NOT_REFUSED, [said("Denied"), call()], FAIL),
    "refused, then allowed": (NOT_REFUSED, [said("no"), said("allow"), call()], PASS),
    "a refusal that names nothing forbids nothing": (NOT_REFUSED, [said("no", None), call()], PASS),
    "a redacted decision may be a refusal": (NOT_REFUSED, [said(COMMITMENT), call()], FAIL),
    "in time before": (
        {"for_each": "call", "preceded_by": {"type": "decision", "within_seconds": 60}},
        [said("a"), later(60, call())],
        PASS,
    ),
    "too long before": (
        {"for_each": "call", "preceded_by": {"type": "decision", "within_seconds": 60}},
        [said("a"), later(61, call())],
        FAIL,
    ),
    "a time that cannot be read is not near": (
        {"for_each": "call", "preceded_by": {"type": "decision", "within_seconds": 60}},
        [{**said("a"), "time": "soon"}, call()],
        FAIL,
    ),
    "an event is not its own partner before": (
        {"for_each": "call", "preceded_by": {"type": "call"}},
        [call()],
        FAIL,
    ),
    "an event is not its own partner after": (
        {"for_each": "call", "followed_by": {"type": "call"}},
        [call()],
        FAIL,
    ),
    "followed": (
        DONE,
        [call(id=1), call(id=2), event("done", {"id": 2}), event("done", {"id": 1})],
        PASS,
    ),
    "followed by one for all": (DONE, [call(id=1), call(id=2), event("done")], PASS),
    "not followed": (DONE, [event("done", {"id": 1}), call(id=1)], FAIL),
    "no call": (DONE, [event("done", {"id": 1})], IDLE),
    "followed in time": (IN_TIME, [call(), later(60, event("done"))], PASS),
    "followed too late": (IN_TIME, [call(), later(61, event("done"))], FAIL),
    "followed by another's": (
        CHECKED_BY_OTHERS,
        [
            call(by="a"),
            event("done", {"tool": "t", "by": "a"}),
            event("done", {"tool": "t", "by": "b"}),
        ],
        PASS,
    ),
    "followed by the same one's": (
        CHECKED_BY_OTHERS,
        [call(by="a"), event("done", {"tool": "t", "by": "a"}), event("done", {"tool": "t"})],
        FAIL,
    ),
    "nothing after the end": (NOTHING_AFTER, [X, event("end")], PASS),
    "something after the end": (NOTHING_AFTER, [event("end"), X], FAIL),
    "a last word that is not said": (
        {"for_each": "call", "followed_by": {"type": "decision", "last": ALLOWED}},
        [call(), said("deny")],
        FAIL,
    ),
    "enough": ({"count": "call", "min": 2}, [call(), call()], PASS),
    "too few": ({"count": "call", "min": 2}, [call()], FAIL),
    "none at all": ({"count": "call", "min": 1}, [X], FAIL),
    "not too many": ({"count": "call", "max": 2}, [call(), call()], PASS),
    "too many": ({"count": "call", "max": 2}, [call(), call(), call()], FAIL),
    "nothing to count": ({"count": "call", "max": 2}, [X], IDLE),
    "not too many for each": (
        {"count": "call", "max": 1, "per": "/data/tool"},
        [call(), call("u")],
        PASS,
    ),
    "too many for one": (
        {"count": "call", "max": 1, "per": "/data/tool"},
        [call(), call("u"), call()],
        FAIL,
    ),
    "too few for one": (
        {"count": "call", "min": 2, "per": "/data/tool"},
        [call(), call("u"), call()],
        FAIL,
    ),
    "no key was seen": ({"count": "call", "min": 2, "per": "/data/tool"}, [X], IDLE),
    "two different": (
        {"count": "call", "min": 2, "distinct": "/data/by"},
        [call(by=1), call(by=2)],
        PASS,
    ),
    "twice the same": (
        {"count": "call", "min": 2, "distinct": "/data/by"},
        [call(by=1), call(by=1.0)],
        FAIL,
    ),
    "a redacted value is not another one": (
        {"count": "call", "min": 2, "distinct": "/data/by"},
        [call(by=1), call(by=COMMITMENT)],
        FAIL,
    ),
    "a redacted value may be another one": (
        {"count": "call", "max": 1, "distinct": "/data/by"},
        [call(by=1), call(by=COMMITMENT), call()],
        FAIL,
    ),
    "times in order": ({"in_time_order": "*"}, [X, later(0, X), later(9, X)], PASS),
    "times that go back": ({"in_time_order": "*"}, [later(9, X), X], FAIL),
    "one time": ({"in_time_order": "x", "span_seconds": 1}, [X, call()], IDLE),
    "times of other types": ({"in_time_order": ["x"]}, [later(9, call()), X, later(1, X)], PASS),
    "times with an offset": (
        {"in_time_order": "*"},
        [{**X, "time": "2026-01-31T14:30:00Z"}, {**X, "time": "2026-01-31T15:29:59+01:00"}],
        FAIL,
    ),
    "within the span": ({"in_time_order": "*", "span_seconds": 9}, [X, later(9, X)], PASS),
    "beyond the span": ({"in_time_order": "*", "span_seconds": 8}, [X, later(9, X)], FAIL),
}


def relation_pack(relation: dict[str, Any]) -> Pack:
    return pack_with({"check": {"type": "relation", **relation}})


def lint_together(pack: Pack, events: Events) -> LintResult:
    """Lint events in one portion, so that those of one type are judged together."""
    done = LintPass([pack], {})
    lines = [line_of({**each, "assayseq": at}) for at, each in enumerate(events)]
    done.feed_lines(1, b"".join(line + b"\n" for line in lines))
    return done.finish()


@pytest.mark.parametrize(("relation", "events", "wanted"), SPEC.values(), ids=SPEC.keys())
def test_a_relation(relation: dict[str, Any], events: Events, wanted: str) -> None:
    pack = relation_pack(relation)
    alone, together = lint([pack], events), lint_together(pack, events)
    assert [each.outcome for each in alone.rules] == [wanted]
    # What is judged together is judged alike, to the word and the place.
    assert together.findings == alone.findings
    assert together.rules == alone.rules


# The relation, the events, the message, and the line of the first event that it is about.
FOUND: dict[str, tuple[dict[str, Any], Events, str, int | None]] = {
    "forbidden": (
        {"never": {"type": "call", "where": [{"path": "/data/tool", "in": ["t", "u"]}]}},
        [X, call(), call("v"), call("u")],
        '2 events are forbidden: call with /data/tool is one of ["t","u"]',
        2,
    ),
    "a field": (
        having(exists=True),
        [call(n=1), call(), call()],
        "2 of 3 call events do not have /data/n",
        2,
    ),
    "a partner": (
        LAST,
        [call("u"), said("allow"), call()],
        "1 of 2 call events are not preceded by decision of the same /data/tool, the last of which"
        ' has /data/decision is "allow"',
        1,
    ),
    "another actor in time": (
        {
            "for_each": "call",
            "followed_by": {
                "type": "done",
                "differ": {"this": "/data/by", "that": "/data/by"},
                "within_seconds": 60,
            },
        },
        [call(by="a"), X],
        "1 of 1 call events are not followed by done with another /data/by within 60 seconds",
        1,
    ),
    "too many": (
        {"count": "call", "max": 1, "per": "/data/tool"},
        [call(), call("u"), call(), call()],
        "There are 1 to 3 call for a /data/tool, not at most 1",
        3,
    ),
    "too few different": (
        {"count": "call", "min": 2, "max": 3, "distinct": "/data/by"},
        [call(by=1)],
        "There are 1 different /data/by of call, not at least 2 and at most 3",
        None,
    ),
    "time": (
        {"in_time_order": "*"},
        [later(9, X), X, later(10, X)],
        "1 events have a time before that of an earlier event",
        2,
    ),
    "span": (
        {"in_time_order": "*", "span_seconds": 8},
        [X, later(9, X)],
        "The times are 9 seconds apart, not at most 8",
        None,
    ),
}


@pytest.mark.parametrize(("relation", "events", "words", "line"), FOUND.values(), ids=FOUND.keys())
def test_what_a_finding_says(
    relation: dict[str, Any], events: Events, words: str, line: int | None
) -> None:
    result = lint([relation_pack(relation)], events)
    assert messages(result) == [words]
    place = result.findings[0].location
    assert (place and place.line) == line


# What is wrong with a relation, and words of the error.
WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no form": ({}, "exactly one of never, for_each, count, in_time_order"),
    "two forms": ({"never": "a", "count": "a"}, "exactly one of never"),
    "a field of another form": ({"never": "a", "max": 1}, "max does not go with never"),
    "for_each alone": ({"for_each": "a"}, "for_each goes with exactly one of has, preceded_by"),
    "for_each with two": (
        {"for_each": "a", "has": [{"path": "/a", "exists": True}], "preceded_by": {"type": "b"}},
        "for_each goes with exactly one of has",
    ),
    "a count without bounds": ({"count": "a"}, "count goes with at least one of min, max"),
    "bounds that cross": ({"count": "a", "min": 3, "max": 2}, "min is 3, and max is only 2"),
    "a pattern that is none": ({"never": "{a"}, "'{a' is no pattern"),
    "a pattern of a value": (having(matches="[a"), "'[a' is no pattern"),
    "no operator": (having(), "exactly one operator of exists, equals"),
    "two operators": (having(equals=1, exists=True), "exactly one operator"),
    "a condition without a path": ({"for_each": "a", "has": [{}]}, "a path, or any_of"),
    "any_of beside a path": (
        {
            "for_each": "a",
            "has": [
                {
                    "path": "/a",
                    "any_of": [{"path": "/a", "exists": True}, {"path": "/b", "exists": True}],
                }
            ],
        },
        "any_of stands alone",
    ),
    "a key that nobody knows": ({"never": {"type": "a", "wher": []}}, "unknown key 'wher'"),
    "an operator that nobody knows": (having(is_=1), "unknown key 'is_'"),
    "a comparison with true": (having(at_most=True), "expected"),
    "an empty list": ({"never": {"type": []}}, "length"),
    "no seconds": ({"in_time_order": "*", "span_seconds": 0}, "> 0"),
    "a type of ours that is misspelt": (
        {"never": "affidavit.tool.cal"},
        "no event has the type 'affidavit.tool.cal'. Next: did you mean affidavit.tool.call?",
    ),
    "a misspelt partner among several": (
        {"for_each": "a", "preceded_by": {"type": ["b", "affidavit.polcy.decision"]}},
        "preceded_by.type[1]",
    ),
}


@pytest.mark.parametrize(("relation", "words"), WRONG.values(), ids=WRONG.keys())
def test_what_is_no_relation(relation: dict[str, Any], words: str) -> None:
    with pytest.raises(AffidavitError) as caught:
        relation_pack(relation)
    error = caught.value
    assert error.fault.code in ("AF650", "AF651", "AF666")
    assert error.where.line is not None
    assert error.where.column is not None
    assert words in str(error)


def test_a_relation_has_no_event_types() -> None:
    with pytest.raises(AffidavitError, match="event_types has no meaning"):
        pack_with({"check": {"type": "relation", "never": "a"}, "event_types": ["a"]})


def test_a_relation_is_part_of_the_digest() -> None:
    first, second = relation_pack({"never": "a"}), relation_pack({"never": "b"})
    assert first.digest != second.digest
    assert first.digest == relation_pack({"never": "a"}).digest


def test_misspelt_types_in_other_checks_are_remarks() -> None:
    conditional = {
        "type": "conditional",
        "condition": {"all": [{"path": "/type", "equals": "affidavit.tool.cal"}]},
        "then": {"type": "json_path_exists", "paths": ["/data/x"]},
    }
    pack = pack_with(
        {"check": conditional, "event_types": ["affidavit.promt"]},
        {"check": {"type": "event_type_exists", "pattern": "affidavit.gates.*"}},
        {
            "check": {
                "type": "event_pairs",
                "start_pattern": "affidavit.run.begun",
                "finish_pattern": "affidavit.run.finished",
            }
        },
        {"check": {"type": "event_type_exists", "pattern": "affidavit.{ledger,x}"}},
    )
    named = [remark.partition(" the type ")[2].partition(";")[0] for remark in pack.remarks]
    assert named == [
        "affidavit.promt",
        "affidavit.tool.cal",
        "affidavit.gates.*",
        "affidavit.run.begun",
    ]
    assert "did you mean affidavit.prompt?" in pack.remarks[0]


def test_fields_that_no_event_has_are_remarked_in_relations() -> None:
    join = {"type": "b", "same": ["/x"], "differ": {"this": "/data/a", "that": "/y"}}
    pack = pack_with(
        {"check": {"type": "relation", "for_each": "a", "preceded_by": join}},
        {"check": {"type": "relation", "count": "a", "max": 1, "per": "/z"}},
        {"check": {"type": "relation", **having(equals={"path": "/w"})}},
        {
            "check": {
                "type": "relation",
                "never": {"type": "a", "where": [{"path": "/v", "exists": True}]},
            }
        },
        {"check": {"type": "relation", "in_time_order": "*"}},
    )
    fields = [remark.partition("a field ")[2].partition(";")[0] for remark in pack.remarks]
    assert fields == ["/x", "/x", "/y", "/z", "/w", "/v"]


DESCRIBED: dict[str, tuple[dict[str, Any], str]] = {
    "never": ({"never": "a"}, "there is no a"),
    "has": (having(exists=False), "every call has no /data/n"),
    "a partner": (
        {
            "for_each": "a",
            "not_followed_by": {
                "type": ["b", "c"],
                "same": [{"this": "/data/x", "that": "/data/y"}],
                "last": [{"path": "/data/z", "matches": "q*"}],
                "differ": {"this": "/data/x", "that": "/data/w"},
                "within_seconds": 1.5,
            },
        },
        "every a is not followed by b or c whose fields are the same (/data/x is its /data/y) of"
        " which the last has /data/z matches q* and /data/x is not its /data/w within 1.5 seconds",
    ),
    "a plain partner": (
        {"for_each": "a", "preceded_by": {"type": "b"}},
        "every a is preceded by b",
    ),
    "any of two": (
        {
            "never": {
                "type": "a",
                "where": [
                    {
                        "any_of": [
                            {"path": "/data/x", "exists": True},
                            {"path": "/data/y", "at_most": {"path": "/data/x"}},
                        ]
                    }
                ],
            }
        },
        "there is no a with (/data/x or /data/y is at most /data/x)",
    ),
    "a count": (
        {"count": "a", "min": 1, "max": 2, "distinct": "/data/x", "per": "/data/y"},
        "there are at least 1 and at most 2 different /data/x in a for each /data/y",
    ),
    "time": ({"in_time_order": ["a", "b"]}, "the times of a or b do not go back"),
    "time and span": (
        {"in_time_order": "*", "span_seconds": 60},
        "the times of * do not go back, all within 60 seconds",
    ),
}


@pytest.mark.parametrize(("relation", "words"), DESCRIBED.values(), ids=DESCRIBED.keys())
def test_a_relation_in_words(relation: dict[str, Any], words: str) -> None:
    pack = relation_pack(relation)
    assert f"It checks that {words}." in explain("R-1", [pack], None).paragraphs


def test_a_rule_that_was_not_exercised_says_so() -> None:
    pack = relation_pack(DECIDED)
    shown = explain("R-1", [pack], lint([pack], [X])).paragraphs
    assert "It was not exercised: no event of the bundle met its condition." in shown
    assert "It passes." in explain("R-1", [pack], lint([pack], [said("a"), call()])).paragraphs


OVERFLOWING: dict[str, dict[str, Any]] = {
    "keys of partners": DECIDED,
    "events that wait": {"for_each": "decision", "followed_by": {"type": "done"}},
    "keys of a count": {"count": "decision", "max": 9, "per": "/data/tool"},
}


@pytest.mark.parametrize("relation", OVERFLOWING.values(), ids=OVERFLOWING.keys())
def test_more_than_can_be_remembered_is_said(
    relation: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("affidavit.packs.relation_evaluation.MAX_OPEN", 2)
    events = [said("a", name) for name in ("t", "u", "v")] + [event("done")]
    (found,) = messages(lint([relation_pack(relation)], events))
    assert found == "More than 2 keys or open events: it was not checked"


def test_times_are_read_from_heads() -> None:
    raw = line_of(X)
    evaluator = TimeOrderEvaluator(TimeOrder((glob_from("*"),)))
    assert not evaluator.accepts("x")
    assert evaluator.feed(Event(1, raw, decode_head(raw)))
    assert evaluator.feed_batch(b"{}", [1])


def test_many_events_of_one_type_are_counted_after_the_first_violation() -> None:
    pack = pack_with(
        *({"check": {"type": "relation", **each}} for each in (having(exists=True), DECIDED)),
        {"check": {"type": "relation", "count": "call", "max": 2}},
    )
    done = LintPass([pack], {})
    for portion in range(3):
        first = 100 * portion
        lines = [line_of({**call(), "assayseq": first + at}) for at in range(100)]
        done.feed_lines(first + 1, b"".join(line + b"\n" for line in lines))
    assert messages(done.finish()) == [
        "300 of 300 call events do not have /data/n",
        "300 of 300 call events are not preceded by decision of the same /data/tool",
        "There are 300 call, not at most 2",
    ]


def test_events_that_are_alike_are_judged_like_those_before_them() -> None:
    pack = pack_with(
        {
            "check": {
                "type": "relation",
                "never": {
                    "type": "call",
                    "where": [
                        {"path": "/data/tool", "equals": "v"},
                        {"path": "/data/n", "exists": False},
                    ],
                },
            }
        },
        {"check": {"type": "relation", "count": "call", "max": 99, "per": "/data/id"}},
    )
    done = LintPass([pack], {})
    calls = [call(id=1), call(id=1), call("u", id="a"), call("u", id="a"), call("v", id="a")]
    for number, one in enumerate(calls):
        done.feed_lines(number + 1, line_of({**one, "assayseq": number}) + b"\n")
    assert messages(done.finish()) == [
        '1 events are forbidden: call with /data/tool is "v" and no /data/n'
    ]


@pytest.mark.parametrize("zone", ["Z", "+00:00"])
def test_times_that_go_back_are_counted_alike_in_portions_of_any_size(zone: str) -> None:
    pack = relation_pack({"in_time_order": "*"})
    times = ["2031-01-01T00:00:00", *(f"2026-01-31T14:30:0{second}" for second in range(9))]
    lines = [
        line_of({**X, "time": f"{time}{zone}", "assayseq": at}) + b"\n"
        for at, time in enumerate(times)
    ]
    for size in (1, 3, 10):
        done = LintPass([pack], {})
        for at in range(0, len(lines), size):
            done.feed_lines(at + 1, b"".join(lines[at : at + size]))
        (finding,) = done.finish().findings
        assert finding.message == "9 events have a time before that of an earlier event"
        assert finding.location is not None
        assert finding.location.line == 2
