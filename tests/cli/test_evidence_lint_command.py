"""`affidavit evidence lint` and `affidavit packs`, through the real command line."""

import json
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from click.testing import Result
from jsonschema import Draft202012Validator
from tests.app.test_linting import PACK, drafts_of
from tests.cli.running import run
from tests.packs import test_attribution as attribution
from tests.packs.making import event
from tests.packs.test_builtin_packs import FINISHED, GOOD, STARTED
from tests.packs.test_sensitive import DRAWN
from tests.seal.bundle_making import sealed

import affidavit
from affidavit.base.exits import Exit
from affidavit.packs.signals import REGISTRY


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return written(tmp_path / "good.tar.gz", GOOD)


@pytest.fixture
def leaky(tmp_path: Path) -> Path:
    leak = event("note", {"a": {"b": "sk-" + DRAWN}})
    return written(tmp_path / "leaky.tar.gz", [STARTED, leak, FINISHED])


def written(path: Path, events: list[dict[str, Any]]) -> Path:
    path.write_bytes(sealed(drafts_of(events)))
    return path


def linted(*arguments: object) -> Result:
    return run("evidence", "lint", *map(str, arguments))


def test_a_clean_bundle(good: Path) -> None:
    result = linted(good)
    assert (result.exit_code, "0 errors, 0 warnings, 0 infos" in result.stdout) == (0, True)
    assert "closure 1.0" in result.stdout or "closure 0.9" in result.stdout
    assert "cicd-starter@3.0.0" in result.stderr


def test_a_secret_is_found_and_not_shown(leaky: Path) -> None:
    result = linted(leaky)
    assert result.exit_code == Exit.NO
    assert "AFFIDAVIT-S001" in result.stdout
    assert "/data/a/b" in result.stdout
    assert DRAWN[:6] not in result.output


def test_a_refusal_without_its_decision_is_found(tmp_path: Path) -> None:
    refused = [STARTED, attribution.observed(), FINISHED]
    result = linted(written(tmp_path / "refused.tar.gz", refused))
    (line,) = (each for each in result.stdout.splitlines() if "ASSAY-W004" in each)
    assert line.split(maxsplit=3)[1:] == ["ASSAY-W004", "2", attribution.UNBACKED]
    decided = [STARTED, attribution.decided("deny"), attribution.observed(), FINISHED]
    assert "ASSAY-W004" not in linted(written(tmp_path / "decided.tar.gz", decided)).stdout


def test_signals_do_not_depend_on_the_bundles_before(tmp_path: Path) -> None:
    """What events with the same fields show is remembered, and events are counted by type."""
    calls = [
        event("affidavit.tool.call", {"tool": "t", "input": {"a": 1}, "output": "x"}),
        event("affidavit.model.call", {"model": "m", "prompt": "p", "output": "y"}),
    ]
    mixed = written(tmp_path / "mixed.tar.gz", [STARTED, *calls * 3, calls[0], FINISHED])
    once, twice = (
        json.loads(linted(*[mixed] * count, "--pack", "owasp-agentic", "--json").stdout)["bundles"]
        for count in (1, 2)
    )
    assert [once[0], once[0]] == twice
    found = once[0]["closure_report"]["completeness"]["by_signal"]
    paths = found["tool_calls"]["evidence_paths"]
    assert [each.partition("/")[0] for each in paths] == [
        f"events.ndjson:{line}" for line in (2, 4, 6)
    ]


def test_a_small_bundle_full_of_secrets_is_linted_in_time(tmp_path: Path) -> None:
    """A megabyte of secrets in 9 KB took three minutes: each was compared with all others."""

    def seconds(count: int) -> float:
        text = ("password=" + "Tr0ub4dor3x1 ") * count
        bundle = written(tmp_path / "b.tar.gz", [event("note", {"a": text})])
        started = process_time()
        assert linted(bundle).exit_code == Exit.NO
        return process_time() - started

    small, large = seconds(10_000), seconds(40_000)
    assert large < 8 * small  # 16 times would be the square.


def test_a_run_that_fails_an_audit_fails_lint(tmp_path: Path) -> None:
    """A refused transfer was executed, and the run ended with two verdicts: 26 rules passed it."""
    log, bundle = tmp_path / "run.jsonl", tmp_path / "run.tar.gz"
    with affidavit.record(log, input="q") as recorded:
        recorded.policy_decision("p", "deny", tool="transfer", principal="agent")
        recorded.tool_call("transfer", input={"to": "x"}, output="done")
        recorded.tool_call("delete_all", input={}, output="done")
        recorded.approval("agent", "approve", what="transfer")
        recorded.verdict("ship")
        recorded.verdict("no-ship")
    assert run("evidence", "seal", str(log), "-o", str(bundle)).exit_code == 0
    packs = "cicd-starter,eu-ai-act-baseline,owasp-agentic,soc2-baseline"
    result = linted(bundle, "--pack", packs, "--json")
    assert result.exit_code == Exit.NO
    (wire,) = json.loads(result.stdout)["bundles"]
    outcomes = {each["rule_id"].partition(":")[2]: each["outcome"] for each in wire["rules"]}
    failed = {"CICD-006", "EU14-001", "EU14-004", "SOC2-CC6.1-REFUSED", "ASI02-DESTRUCTIVE"}
    assert {outcomes[rule] for rule in failed} == {"fail"}
    assert outcomes["EU73-002"] == "not_exercised"


def test_what_was_not_exercised_is_said_and_can_be_gated(tmp_path: Path) -> None:
    bundle = written(tmp_path / "b.tar.gz", [STARTED, event("note"), FINISHED])
    result = linted(bundle)
    assert result.exit_code == Exit.YES
    assert ", 1 not exercised" in result.stdout
    assert "no event met their condition: CICD-006" in result.stderr
    assert linted(bundle, "--gate", "not_exercised=0").exit_code == Exit.NO
    shown = linted(bundle, "--explain", "CICD-006").stdout
    assert "It was not exercised" in shown


def test_a_misspelt_type_is_found_by_validate(tmp_path: Path) -> None:
    relation = "{type: relation, never: affidavit.tool.cal}"
    path = tmp_path / "mine.yaml"
    path.write_text(PACK.replace("{type: event_count, min: 1}", relation))
    result = run("packs", "validate", str(path))
    assert result.exit_code == Exit.INPUT
    assert "AF666" in result.stderr
    assert f"{path}, line 8, column" in result.stderr
    assert "did you mean affidavit.tool.call?" in result.stderr


def test_the_report_for_machines(good: Path, leaky: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    result = linted(good, leaky, "--report", report, "--json", "--pack", "soc2-baseline")
    assert result.exit_code == Exit.NO
    wire = json.loads(result.stdout)
    assert json.loads(report.read_bytes()) == wire
    assert wire["schema_version"] == "affidavit-lint/1"
    assert [pack["name"] for pack in wire["packs"]] == ["soc2-baseline"]
    assert wire["packs"][0]["digest"].startswith("sha256:")
    assert "auditor" in wire["disclaimer"]
    finding = next(f for f in wire["bundles"][1]["findings"] if f["rule_id"] == "AFFIDAVIT-S001")
    assert finding["location"] == {
        "seq": 1,
        "line": 2,
        "event_type": "note",
        "pointer": "/data/a/b",
    }


def test_several_packs_and_their_disclaimers(good: Path) -> None:
    result = linted(good, "--pack", "eu-ai-act-baseline, soc2-baseline", "--pack", "cicd-starter")
    assert "eu-ai-act-baseline@3.0.0" in result.stderr
    assert "counsel" in result.stdout
    assert "auditor's opinion" in result.stdout


def test_a_folder_of_bundles(good: Path, leaky: Path) -> None:
    result = linted(good.parent)
    assert result.exit_code == Exit.NO
    assert "good.tar.gz" in result.stdout
    assert "leaky.tar.gz" in result.stdout


def test_no_bundle_is_never_exit_0(tmp_path: Path) -> None:
    for arguments in ((), (tmp_path,)):
        result = linted(*arguments)
        assert (result.exit_code, result.stderr[:5]) == (Exit.UNKNOWN, "AF664")


def test_a_tampered_bundle_among_others(good: Path, tmp_path: Path) -> None:
    raw = bytearray(good.read_bytes())
    raw[len(raw) // 2] ^= 1
    bad = tmp_path / "bad.tar.gz"
    bad.write_bytes(raw)
    alone = linted(bad)
    assert alone.exit_code in (Exit.INPUT, Exit.TAMPERED)
    assert len(alone.stderr.splitlines()) == 1
    both = linted(good, bad)
    assert both.exit_code == alone.exit_code
    assert "not linted" in both.stdout
    sarif = json.loads(linted(bad, "--format", "sarif").stdout)
    assert sarif["runs"][0]["invocations"][0]["executionSuccessful"] is False
    wire = json.loads(linted(good, bad, "--format", "json").stdout)
    assert [each["verified"] for each in wire["bundles"]] == [True, False]


TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}}


def closed(required: list[str], **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "required": required,
        "properties": properties,
        "additionalProperties": False,
    }


# The part of the SARIF 2.1.0 schema that is used here, with its names, kinds and required members.
LEVEL = {"enum": ["none", "note", "warning", "error"]}
BAG = {
    "type": "object",
    "properties": {
        "tags": {"type": "array", "uniqueItems": True, "items": {"type": "string"}},
    },
}
RULE = closed(
    ["id"],
    id={"type": "string"},
    shortDescription=TEXT,
    defaultConfiguration=closed([], level=LEVEL),
    help=closed(["text"], text={"type": "string"}, markdown={"type": "string"}),
    properties=BAG,
)
NOTIFICATION = closed(
    ["message"], level=LEVEL, message=TEXT, descriptor=closed([], id={"type": "string"})
)
LOCATION = closed(
    [],
    physicalLocation=closed(
        [],
        artifactLocation=closed([], uri={"type": "string", "pattern": "^[^ ]+$"}),
        region=closed([], startLine={"type": "integer", "minimum": 1}),
    ),
    logicalLocations={"type": "array", "items": closed([], fullyQualifiedName={"type": "string"})},
)
RESULT = closed(
    ["message"],
    ruleId={"type": "string"},
    ruleIndex={"type": "integer", "minimum": 0},
    level=LEVEL,
    message=TEXT,
    locations={"type": "array", "items": LOCATION},
    partialFingerprints={"type": "object", "additionalProperties": {"type": "string"}},
)
RUN = closed(
    ["tool"],
    tool=closed(
        ["driver"],
        driver=closed(
            ["name"],
            name={"type": "string"},
            semanticVersion={"type": "string"},
            rules={"type": "array", "uniqueItems": True, "items": RULE},
            properties=BAG,
        ),
    ),
    automationDetails=closed([], id={"type": "string"}),
    invocations={
        "type": "array",
        "items": closed(
            ["executionSuccessful"],
            executionSuccessful={"type": "boolean"},
            toolExecutionNotifications={"type": "array", "items": NOTIFICATION},
        ),
    },
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    results={"type": "array", "items": RESULT},
    properties=BAG,
)
SARIF = closed(
    ["version", "runs"],
    **{"$schema": {"type": "string", "format": "uri"}},
    version={"const": "2.1.0"},
    runs={"type": "array", "items": RUN},
)


def test_sarif_has_the_shape_of_its_schema(good: Path, leaky: Path) -> None:
    result = linted(
        good, leaky, "--format", "sarif", "--max-results", "1", "--pack", "eu-ai-act-baseline"
    )
    log = json.loads(result.stdout)
    Draft202012Validator(SARIF).validate(log)
    first, second = log["runs"]
    assert len(first["tool"]["driver"]["rules"]) == 23 + 5
    (found,) = second["results"]
    rules = second["tool"]["driver"]["rules"]
    assert rules[found["ruleIndex"]]["id"] == found["ruleId"]
    assert second["properties"]["truncatedCount"] > 0
    notes = second["invocations"][0]["toolExecutionNotifications"]
    assert [note["descriptor"]["id"] for note in notes] == ["AFFIDAVIT-LINT-TRUNCATED"]
    assert "counsel" in second["properties"]["disclaimer"]


EXPLAINED = {
    "the score": ("closure.score", "Sum: "),
    "completeness": ("completeness", "required signals"),
    "a rule": ("cicd-starter:CICD-002", "It passes."),
    "a rule that is always on": ("AFFIDAVIT-S001", "It did not fire."),
}


@pytest.mark.parametrize(("name", "words"), EXPLAINED.values(), ids=EXPLAINED.keys())
def test_explanations(name: str, words: str, good: Path) -> None:
    result = linted(good, "--explain", name)
    assert (result.exit_code, words in result.stdout) == (0, True)
    assert linted("--explain", name).exit_code == 0
    assert json.loads(linted(good, "--explain", name, "--json").stdout)["title"]


WRONG: dict[str, tuple[tuple[str, ...], str, Exit]] = {
    "a pack that is not there": (("--pack", "cicd"), "did you mean cicd-starter", Exit.INPUT),
    "a pack without a name": (("--pack", ""), "AF657", Exit.INPUT),
    "a name that no file can have": (("--pack", "x" * 5000), "AF657", Exit.INPUT),
    "nothing to explain": (("--explain", "zzz"), "AF661", Exit.INPUT),
    "an unknown limit": (("--limits", '{"max_event": 1}'), "max_event", Exit.INPUT),
    "limits that are no JSON": (("--limits", "{"), "AF0", Exit.INPUT),
    "limits in a file that is not there": (("--limits", "@no.json"), "AF010", Exit.INPUT),
    "a severity that is none": (("--fail-on", "fatal"), "AF001", Exit.INPUT),
    "no results": (("--max-results", "0"), "AF001", Exit.INPUT),
}


@pytest.mark.parametrize(("options", "words", "exit"), WRONG.values(), ids=WRONG.keys())
def test_errors_are_one_line(options: tuple[str, ...], words: str, exit: Exit, good: Path) -> None:
    result = linted(good, *options)
    assert (result.exit_code, len(result.stderr.splitlines())) == (exit, 1)
    assert words in result.stderr


BAD_FILES: dict[str, bytes | None] = {
    "an empty file": b"",
    "words": b"hello",
    "broken gzip": b"\x1f\x8b\x08\x00rest",
    "a missing file": None,
}


@pytest.mark.parametrize("raw", BAD_FILES.values(), ids=BAD_FILES.keys())
def test_a_file_that_is_not_a_bundle_is_one_line(raw: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "x.tar.gz"
    if raw is not None:
        path.write_bytes(raw)
    result = linted(path)
    assert result.exit_code in (Exit.INPUT, Exit.TAMPERED)
    assert len(result.stderr.splitlines()) == 1
    assert "x.tar.gz" in result.stderr


def test_one_bundle_is_explained_at_a_time(good: Path, leaky: Path) -> None:
    result = linted(good, leaky, "--explain", "closure.score")
    assert (result.exit_code, result.stderr[:5]) == (Exit.INPUT, "AF663")


def test_a_report_does_not_replace_a_bundle(good: Path) -> None:
    before = good.read_bytes()
    result = linted(good, "--report", good)
    assert result.exit_code == Exit.INPUT
    assert good.read_bytes() == before


def test_too_many_findings_are_reported(leaky: Path) -> None:
    result = linted(leaky, "--max-results", "1", "--fail-on", "none")
    assert (result.exit_code, "more findings are not listed" in result.stdout) == (0, True)


def test_packs_are_listed_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    folder = tmp_path / "affidavit" / "packs"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text(PACK)
    listed = run("packs", "list")
    assert listed.exit_code == 0
    assert "answer-integrity" in listed.stdout
    assert "mine" in listed.stdout
    names = [pack["name"] for pack in json.loads(run("packs", "list", "--json").stdout)["packs"]]
    assert names[-1] == "mine"
    shown = run("packs", "show", "eu-ai-act-baseline")
    assert "EU12-001" in shown.stdout
    assert "Disclaimer: " in shown.stdout
    assert "Remark: it does not say" in run("packs", "show", "mine").stdout
    wire = json.loads(run("packs", "show", "mine", "--json").stdout)
    assert wire["rules"][0]["checks"] == "there are at least 1 events"


def test_packs_are_validated_together(tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(PACK)
    first, second = str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml")
    assert "mine@1: valid, 1 rules" in run("packs", "validate", first).stdout
    assert json.loads(run("packs", "validate", first, "--json").stdout)["valid"] is True
    collision = run("packs", "validate", first, second)
    assert (collision.exit_code, collision.stderr[:5]) == (Exit.INPUT, "AF655")
    (tmp_path / "a.yaml").write_text(PACK.replace("author", "auther"))
    result = run("packs", "validate", first)
    assert "line 5" in result.stderr
    assert "did you mean author?" in result.stderr


def test_a_pack_is_created(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("packs", "new", "ours").exit_code == 0
    assert run("packs", "validate", "ours.yaml").exit_code == 0
    assert run("packs", "new", "ours").exit_code == Exit.INPUT
    other = run("packs", "new", "ours", "-o", "other.yaml", "--json")
    assert json.loads(other.stdout)["path"] == "other.yaml"


NOTHING: dict[str, list[dict[str, Any]]] = {
    "every text empty, everything else null": [
        event("affidavit.run.started", {"input": None}),
        event("affidavit.prompt", {"text": ""}),
        event("affidavit.rng.seed", {"seed": None}),
        event("affidavit.retrieval", {"query": "", "results": []}),
        event("affidavit.code.version", {"version": ""}),
        event("affidavit.environment", {"values": {}}),
        event(
            "affidavit.model.call", {"model": "", "input": "", "output": None, "parameters": None}
        ),
        event("affidavit.tool.call", {"tool": "", "input": None, "output": None}),
        event("affidavit.run.finished", {"status": ""}),
    ],
    "start and finish, with a list of what was absent": [
        event("affidavit.run.started"),
        event("affidavit.run.finished", {"status": "ok", "absent_signals": sorted(REGISTRY)}),
    ],
    "start and finish, with a reason for everything": [
        event("affidavit.run.started"),
        event(
            "affidavit.run.finished",
            {"status": "ok", "absent_signals": dict.fromkeys(REGISTRY, "there was none")},
        ),
    ],
}


@pytest.mark.parametrize("events", NOTHING.values(), ids=NOTHING.keys())
def test_a_record_that_holds_nothing_has_no_closure(
    tmp_path: Path, events: list[dict[str, Any]]
) -> None:
    path = written(tmp_path / "empty.tar.gz", events)
    found = json.loads(linted(path, "--json").stdout)["bundles"][0]["closure_report"]
    assert (found["closure"]["score"], found["closure"]["captured"]) == (0.0, [])
    assert found["completeness"]["captured"] == []
    assert linted(path, "--min-closure", "0.05").exit_code == Exit.NO
    assert linted(path, "--require-complete").exit_code == Exit.NO


def test_closure_and_completeness_are_gates(good: Path, tmp_path: Path) -> None:
    assert linted(good, "--min-closure", "0.5", "--require-complete").exit_code == Exit.YES
    failed = linted(good, "--min-closure", "1")
    assert (failed.exit_code, "Gate: fail: closure" in failed.stdout) == (Exit.NO, True)
    # The pack requires no signal, so there is nothing to measure.
    (tmp_path / "mine.yaml").write_text(PACK)
    unmeasured = linted(good, "--require-complete", "--pack", tmp_path / "mine.yaml")
    assert unmeasured.exit_code == Exit.UNKNOWN
    for words in (
        ("--min-closure", "0.5", "--gates", "closure>=0.4"),
        ("--min-closure", "2"),
        ("--require-complete", "--explain", "completeness"),
    ):
        assert linted(good, *words).exit_code == Exit.INPUT


def test_the_explanation_says_what_a_replay_really_runs(good: Path) -> None:
    told = linted(good, "--explain", "closure.score").stdout
    assert "Replay runs again: 0 of the recorded results" in told
    assert "Replay cannot run again: 1 of them" in told
    assert "Replay never runs, and only lists: " in told
    assert "1 affidavit.model.call" in told
