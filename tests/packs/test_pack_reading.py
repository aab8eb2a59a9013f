"""How a pack is read: every mistake has its code, line, column and the nearest right name."""

from typing import Any

import pytest
from tests.packs.making import pack_with, read_pack

from affidavit.base.errors import AffidavitError
from affidavit.packs.model import PackKind, Severity
from affidavit.packs.reader import pack_from_yaml, refuse_collisions

WHOLE = """\
name: mine
version: "1.0"
kind: quality
description: d
author: a
license: l
requires:
  assay_min_version: ">=2.0.0"
rules:
  - id: ONE
    severity: error
    description: one
    check:
      type: event_count
      min: 1
"""


def refused(text: str) -> AffidavitError:
    with pytest.raises(AffidavitError) as caught:
        pack_from_yaml(text.encode(), "mine.yaml", "mine.yaml")
    return caught.value


# What is replaced in a whole pack, by what; the code, the line, and words of the whole message.
WRONG: dict[str, tuple[str, str, str, int | None, tuple[str, ...]]] = {
    "a key of a pack": (
        "author: a",
        "auther: a",
        "AF651",
        5,
        ("unknown key 'auther'", "column 1", "did you mean author?"),
    ),
    "a key of a rule": (
        "    severity: error",
        "    severety: error",
        "AF651",
        11,
        ("unknown key 'severety'", "column 5", "did you mean severity?"),
    ),
    "a key of a check": (
        "      min: 1",
        "      minn: 1",
        "AF651",
        15,
        ("field rules[0].check.minn", "column 7", "did you mean min?"),
    ),
    "a key of the requirements": (
        "  assay_min_version:",
        "  assay_max_version:",
        "AF651",
        8,
        ("requires", "did you mean assay_min_version?"),
    ),
    "a key that is like no other": (
        "author: a",
        "author: a\nzzzzzzzz: 1",
        "AF651",
        6,
        ("the known ones are author, description",),
    ),
    "a key of x-assay": (
        "license: l",
        "license: l\nx-assay: {require_signals: []}",
        "AF651",
        7,
        ("x-assay", "did you mean requires_signals?"),
    ),
    "a signal that the registry does not know": (
        "license: l",
        "license: l\nx-assay: {requires_signals: [tool_call]}",
        "AF652",
        7,
        ("unknown signal 'tool_call'", "did you mean tool_calls?"),
    ),
    "a kind that is none": ("kind: quality", "kind: qality", "AF650", 3, ("no kind of pack",)),
    "a severity that is none": (
        "    severity: error",
        "    severity: fatal",
        "AF650",
        11,
        ("'fatal' is no severity",),
    ),
    "a name with capitals": ("name: mine", "name: Mine", "AF650", 1, ("field name",)),
    "a version that is a number": ('version: "1.0"', "version: 1.0", "AF650", 2, ("`str`",)),
    "no rules": (WHOLE[WHOLE.index("rules:") :], "rules: []", "AF650", 9, ("length",)),
    "a rule that is a text": (WHOLE[WHOLE.index("  - id") :], "  - one", "AF650", 10, ("object",)),
    "a rule without an id": (
        "  - id: ONE\n    sev",
        "  - sev",
        "AF650",
        10,
        ("rules[0].id: the field is missing",),
    ),
    "a minimum of 0": ("min: 1", "min: 0", "AF650", 15, (">= 1",)),
    "a check without a type": ("      type: event_count\n", "", "AF650", 13, ("has a type",)),
    "a check that is a list": (
        "    check:\n      type: event_count\n      min: 1",
        "    check: [1]",
        "AF650",
        13,
        ("`object`",),
    ),
    "an engine that is no version": (
        "    description: one",
        "    description: one\n    engine_min_version: new",
        "AF650",
        13,
        ("no version such as 1.2",),
    ),
    "no event types": (
        "    description: one",
        "    description: one\n    event_types: []",
        "AF650",
        13,
        ("length",),
    ),
    "a compliance pack without a disclaimer": (
        "kind: quality",
        "kind: compliance",
        "AF653",
        None,
        ("disclaimer",),
    ),
    "a disclaimer of spaces": (
        "kind: quality",
        "kind: compliance\ndisclaimer: '  '",
        "AF653",
        None,
        ("disclaimer",),
    ),
    "the same id twice": (
        "rules:\n",
        "rules:\n  - {id: ONE, severity: info, description: d, check: {type: x}}\n",
        "AF654",
        11,
        ("duplicate rule id 'ONE'",),
    ),
    "a newer tool": ('">=2.0.0"', '">=9.0.0"', "AF656", 8, ("needs Assay >=9.0.0",)),
    "a version that cannot be read": ('">=2.0.0"', '"new"', "AF656", 8, ("needs Assay new",)),
    "another schema of bundles": (
        '  assay_min_version: ">=2.0.0"',
        '  assay_min_version: ">=2.0.0"\n  evidence_schema_version: "2.0"',
        "AF656",
        9,
        ("bundles of schema 2.0",),
    ),
    "not YAML": ("kind: quality", "kind: [", "AF350", 5, ("YAML",)),
    "a text": (WHOLE, "just words", "AF650", 1, ("a pack is an object",)),
    "nothing": (WHOLE, "", "AF650", None, ("a pack is an object",)),
}


@pytest.mark.parametrize(("old", "new", "code", "line", "words"), WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_with_a_pack(
    old: str, new: str, code: str, line: int | None, words: tuple[str, ...]
) -> None:
    assert old in WHOLE
    error = refused(WHOLE.replace(old, new, 1))
    assert (error.fault.code, error.where.file, error.where.line) == (code, "mine.yaml", line)
    assert [word for word in words if word not in str(error)] == []


CHECKS_WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "neither spelling of fields": (
        {"type": "event_field_present"},
        "either paths_any_of or any_of",
    ),
    "both spellings of fields": (
        {"type": "event_field_present", "paths_any_of": ["/a"], "any_of": ["a"]},
        "either paths_any_of or any_of",
    ),
    "a value for two paths": (
        {"type": "json_path_exists", "paths": ["/a", "/b"], "value_equals": 1},
        "exactly one path",
    ),
    "a pattern that is not closed": (
        {"type": "event_type_exists", "pattern": "{a"},
        "'{a' is no pattern: a { is not closed",
    ),
    "the pattern of a pair": (
        {"type": "event_pairs", "start_pattern": "a", "finish_pattern": "[a"},
        "a [ is not closed",
    ),
    "a condition with a key that is not known": (
        {
            "type": "conditional",
            "condition": {"all": [{"path": "/a", "equals": 1, "not": 2}]},
            "then": {"type": "json_path_exists", "paths": ["/b"]},
        },
        "unknown key 'not'",
    ),
    "a condition that has no clause": (
        {
            "type": "conditional",
            "condition": {"all": []},
            "then": {"type": "json_path_exists", "paths": ["/b"]},
        },
        "length",
    ),
    "a condition that is no object": (
        {"type": "conditional", "condition": 1, "then": {"type": "json_path_exists"}},
        "expected `object`",
    ),
    "a clause that is no object": (
        {
            "type": "conditional",
            "condition": {"all": [1]},
            "then": {"type": "json_path_exists", "paths": ["/b"]},
        },
        "expected `object`",
    ),
    "two paths behind a condition": (
        {
            "type": "conditional",
            "condition": {"all": [{"path": "/a", "equals": 1}]},
            "then": {"type": "json_path_exists", "paths": ["/b", "/c"]},
        },
        "length",
    ),
    "another check behind a condition": (
        {
            "type": "conditional",
            "condition": {"all": [{"path": "/a", "equals": 1}]},
            "then": {"type": "event_count", "paths": ["/b"]},
        },
        "invalid value",
    ),
}


@pytest.mark.parametrize(("check", "words"), CHECKS_WRONG.values(), ids=CHECKS_WRONG.keys())
def test_what_is_wrong_with_a_check(check: dict[str, Any], words: str) -> None:
    with pytest.raises(AffidavitError) as caught:
        pack_with({"check": check})
    assert caught.value.fault.code in ("AF650", "AF651")
    assert caught.value.where.line is not None
    assert words in str(caught.value)


SEVERITIES = {
    "error": Severity.ERROR,
    "Error": Severity.ERROR,
    "warning": Severity.WARNING,
    "warn": Severity.WARNING,
    "Warn": Severity.WARNING,
    "info": Severity.INFO,
    "Info": Severity.INFO,
}


@pytest.mark.parametrize(("text", "wanted"), SEVERITIES.items())
def test_the_spellings_of_a_severity(text: str, wanted: Severity) -> None:
    pack = pack_with({"severity": text, "check": {"type": "event_count", "min": 1}})
    assert pack.rules[0].severity is wanted


def test_signals_are_read_in_rules_and_at_the_top() -> None:
    rule = {"check": {"type": "x"}, "x-assay": {"requires_signals": ["verdicts", "tool_calls"]}}
    pack = pack_with(rule, **{"x-assay": {"requires_signals": ["run_inputs"]}})
    assert pack.requires_signals == ("run_inputs",)
    assert pack.rules[0].requires_signals == ("verdicts", "tool_calls")
    assert pack.signals == ("run_inputs", "tool_calls", "verdicts")


def test_what_is_odd_is_remarked_and_no_error() -> None:
    pack = pack_with(
        {"check": {"type": "new"}},
        {"check": {"type": "event_count", "min": 1}, "engine_min_version": "9.0"},
        {"check": {"type": "event_field_present", "paths_any_of": ["/run_id", "/data/x", ""]}},
        {
            "check": {
                "type": "conditional",
                "condition": {"all": [{"path": "/foo", "equals": 1}]},
                "then": {"type": "json_path_exists", "paths": ["/data/x"]},
            }
        },
        requires=...,
    )
    assert [remark.split(":")[0] for remark in pack.remarks] == [
        "it does not say which version it needs (requires.assay_min_version)",
        "R-1",
        "R-2",
        "R-3",
        "R-4",
    ]


def test_a_pack_knows_what_it_says() -> None:
    pack = pack_from_yaml(WHOLE.encode(), "mine.yaml", "here")
    assert (pack.name, pack.version, pack.kind) == ("mine", "1.0", PackKind.QUALITY)
    assert (pack.source, pack.remarks, pack.disclaimer) == ("here", (), None)
    assert pack.canonical_id(pack.rules[0]) == "mine@1.0:ONE"


# What is changed, and whether lint's digest and the registry's change with it.
DIGESTS: dict[str, tuple[dict[str, Any], bool, bool]] = {
    "the description": ({"description": "other"}, True, True),
    "the other spelling of a severity": ({"severity": "warn"}, False, True),
    "signals, which are not part of what lint runs": (
        {"x-assay": {"requires_signals": ["verdicts"]}},
        False,
        True,
    ),
    "a default that is written out": (
        {"check": {"type": "event_field_present", "paths_any_of": ["/a"], "in_data": False}},
        False,
        True,
    ),
}


@pytest.mark.parametrize(("change", "lint", "registry"), DIGESTS.values(), ids=DIGESTS.keys())
def test_what_a_digest_covers(change: dict[str, Any], lint: bool, registry: bool) -> None:
    rule = {
        "severity": "warning",
        "check": {"type": "event_field_present", "paths_any_of": ["/a"]},
    }
    before, after = pack_with(rule), pack_with({**rule, **change})
    assert (before.digest != after.digest) is lint
    assert (before.registry_digest != after.registry_digest) is registry


def test_unknown_checks_have_one_digest() -> None:
    first, second = pack_with({"check": {"type": "x"}}), pack_with({"check": {"type": "y", "z": 1}})
    assert first.digest == second.digest
    valued = {"type": "json_path_exists", "paths": ["/a"], "value_equals": 1}
    assert pack_with({"check": valued}).digest != first.digest


def test_a_collision_names_both_packs() -> None:
    first = pack_with({"check": {"type": "x"}})
    raw = WHOLE.replace("mine", "p").replace('"1.0"', '"1"').replace("ONE", "R-1").encode()
    second = pack_from_yaml(raw, "other.yaml", "other.yaml")
    with pytest.raises(AffidavitError) as caught:
        refuse_collisions([first, second])
    assert caught.value.fault.code == "AF655"
    assert "p@1:R-1 is in two packs: p.yaml and other.yaml" in str(caught.value)


def test_the_same_pack_twice_is_run_once() -> None:
    pack, same = pack_with({"check": {"type": "x"}}), pack_with({"check": {"type": "x"}})
    other = read_pack({"name": "q", "rules": [{**RULE, "id": "R-1"}]})
    assert refuse_collisions([pack, same, other]) == (pack, other)


RULE = {"severity": "error", "description": "d", "check": {"type": "event_count", "min": 1}}
