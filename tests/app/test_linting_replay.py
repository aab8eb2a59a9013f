"""Replay of what a bundle records: equal, different, or not possible."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.app.test_linting import drafts_of
from tests.checks.builders import body
from tests.cli.gate_files import lines, report_of
from tests.cli.running import run
from tests.cli.test_gate_agreement_command import pairs
from tests.cli.test_gate_result_files import BY_TEXT, RIGHT, WRONG, asked
from tests.gates.making import DROP, counts, gold, trace
from tests.ledger.small_ledgers import ledger
from tests.packs.making import event, line_of
from tests.packs.test_builtin_packs import GOOD
from tests.packs.test_signals import COMMITMENT
from tests.seal.bundle_making import sealed
from tests.seal.samples import KEY

import affidavit
from affidavit.app.bundle_replay import replay_event
from affidavit.app.recording import receipt_data
from affidavit.base.canonical import jcs, sorted_compact
from affidavit.base.digest import content_id
from affidavit.base.exits import Exit
from affidavit.decision.evaluation import Correction
from affidavit.gates.rag_report import RagPolicy, rag_report
from affidavit.ledger.record import ledger_to_json
from affidavit.packs.events import decode_head
from affidavit.reports.bundle_text import BundleReplay, ReplayOutcome
from affidavit.seal.receipts import seal_receipt

RECEIPT, LEDGER, GATE = "affidavit.answer.receipt", "affidavit.ledger", "affidavit.gate.report"


def receipt(**changes: Any) -> dict[str, Any]:
    made: dict[str, Any] = {**body(), **changes}
    return seal_receipt(made, KEY)


def exact(value: dict[str, Any]) -> dict[str, Any]:
    return {"receipt": value, "exact": sorted_compact(value).decode()}


def report(*gates: str, correction: Correction | None = None, **changes: Any) -> dict[str, Any]:
    items = [gold(qid=f"g{at}", constraints=DROP) for at in range(20)]
    runs = [trace(qid=f"g{at}") for at in range(20)]
    made = rag_report(
        counts(items, runs), RagPolicy(gates, correction=correction), {}
    ).to_builtins()
    value: dict[str, Any] = json.loads(jcs(made))
    return {**value, **changes}


def with_gate(found: dict[str, Any], **changes: Any) -> dict[str, Any]:
    first, *rest = found["gates"]
    return {**found, "gates": [{**first, **changes}, *rest]}


def stored_ledger() -> dict[str, Any]:
    value: dict[str, Any] = json.loads(ledger_to_json(ledger("material: A full 0.9, B full 0.9")))
    return value


def reworded(value: dict[str, Any], *, is_named: bool) -> dict[str, Any]:
    """Return a ledger with other words, and with the id of its content if `is_named`."""
    first, *rest = value["entries"]
    flags = [{**each, "description": "A", "mitigation": "B"} for each in value["risk_flags"]]
    other = {
        **value,
        "entries": [{**first, "notes": "In other words."}, *rest],
        "risk_flags": flags,
        "follow_up_questions": ["Why?"],
        "recommended_actions": [],
    }
    content = {key: each for key, each in other.items() if key not in ("ledger_id", "generated_at")}
    return {**other, "ledger_id": content_id("led", jcs(content))} if is_named else other


def with_verdict(value: dict[str, Any], verdict: str) -> dict[str, Any]:
    first, *rest = value["entries"]
    return {**value, "entries": [{**first, "verdict": verdict}, *rest]}


def replayed(kind: str, data: Any) -> BundleReplay:
    done = BundleReplay()
    replay_event(done, 1, decode_head(line_of(event(kind, data))))
    return done


CHR_OFF = ("chr=off", "under_refusal=off")
SHIP = report(*CHR_OFF)
OPEN_BY_HOLM = report("precision>=0.86@90", "over_refusal<=0.1@90", *CHR_OFF, correction="holm")
CORRECTED = report("precision>=0.6@90", "over_refusal<=0.9@90", *CHR_OFF, correction="holm")
LATENCY: dict[str, Any] = {
    "schema_version": "affidavit-gate/1",
    "kind": "latency",
    "decision": "ship",
    "reasons": [],
    "gates": [
        {
            "metric": "p95_ms",
            "op": "<=",
            "threshold": 2000,
            "confidence": None,
            "value": 2000,
            "status": "pass",
            "reason": "",
        }
    ],
    "metrics": {
        "p95_ms": {"value": 2000, "numerator": None, "denominator": None, "not_measured": 0}
    },
}

GATES: list[dict[str, Any]] = LATENCY["gates"]

# The recorded item, the outcome, and words of the detail.
SPEC: dict[str, tuple[str, Any, ReplayOutcome, str]] = {
    "a receipt": (RECEIPT, exact(receipt()), ReplayOutcome.SAME, ""),
    "a receipt with another verdict": (
        RECEIPT,
        exact(receipt(verdict="contradicted")),
        ReplayOutcome.DIFFERS,
        "verdict",
    ),
    "a receipt and another text": (
        RECEIPT,
        {**exact(receipt()), "receipt": receipt(verdict="contradicted")},
        ReplayOutcome.DIFFERS,
        "different things",
    ),
    "a changed receipt without its exact text": (
        RECEIPT,
        {"receipt": receipt(verdict="contradicted")},
        ReplayOutcome.NOT_RUN,
        "exact text",
    ),
    "a receipt of an engine that is not known": (
        RECEIPT,
        exact(receipt(reproduce={"evaluator": {"engine_version": "9.9.9", "rules": []}})),
        ReplayOutcome.NOT_RUN,
        "cannot be replayed: answer-eval/9.9.9",
    ),
    "a receipt with evidence that has no digest": (
        RECEIPT,
        exact(receipt(evidence_index={**body()["evidence_index"], "note": {}})),
        ReplayOutcome.NOT_RUN,
        "cannot be replayed: evidence_index",
    ),
    "not a receipt": (RECEIPT, {"receipt": {"x": 1}}, ReplayOutcome.NOT_RUN, "no receipt"),
    "no receipt at all": (RECEIPT, {}, ReplayOutcome.NOT_RUN, "has no receipt"),
    "data that is not an object": (RECEIPT, "x", ReplayOutcome.NOT_RUN, "has no receipt"),
    "a redacted receipt": (
        RECEIPT,
        {"receipt": {**receipt(), "note": COMMITMENT}},
        ReplayOutcome.NOT_RUN,
        "redacted",
    ),
    "a ledger": (LEDGER, {"ledger": stored_ledger()}, ReplayOutcome.SAME, ""),
    "a ledger with another verdict": (
        LEDGER,
        {"ledger": with_verdict(stored_ledger(), "contradicted")},
        ReplayOutcome.DIFFERS,
        "do not follow",
    ),
    "a ledger in the words of another version": (
        LEDGER,
        {"ledger": reworded(stored_ledger(), is_named=True)},
        ReplayOutcome.SAME,
        "",
    ),
    "a ledger whose words were changed": (
        LEDGER,
        {"ledger": reworded(stored_ledger(), is_named=False)},
        ReplayOutcome.DIFFERS,
        "its words or its id were changed",
    ),
    "not a ledger": (LEDGER, {"ledger": {}}, ReplayOutcome.NOT_RUN, "no ledger"),
    "a gate report": (GATE, {"report": SHIP}, ReplayOutcome.SAME, ""),
    "a gate report with confidence": (
        GATE,
        {"report": report("precision>=0.80@95", *CHR_OFF)},
        ReplayOutcome.SAME,
        "",
    ),
    "a gate report with a correction for the number of gates": (
        GATE,
        {"report": CORRECTED},
        ReplayOutcome.SAME,
        "",
    ),
    "a gate that only passes without the correction": (
        GATE,
        {"report": OPEN_BY_HOLM},
        ReplayOutcome.SAME,
        "",
    ),
    "a corrected gate with another result": (
        GATE,
        {"report": with_gate(CORRECTED, status="fail")},
        ReplayOutcome.DIFFERS,
        "recorded as fail, and follows as",
    ),
    "a gate that failed": (
        GATE,
        {"report": report("over_refusal=0", *CHR_OFF)},
        ReplayOutcome.SAME,
        "",
    ),
    "a gate on a count": (
        GATE,
        {
            "report": {
                **LATENCY,
                "kind": "rag",
                "gates": [{**GATES[0], "metric": "scu_violations", "threshold": 0, "value": 0}],
                "metrics": {
                    "scu_violations": {
                        "value": 0,
                        "numerator": 0,
                        "denominator": 9,
                        "not_measured": 0,
                    }
                },
            }
        },
        ReplayOutcome.SAME,
        "",
    ),
    "a gate without a figure": (GATE, {"report": report()}, ReplayOutcome.SAME, ""),
    "another decision": (
        GATE,
        {"report": {**SHIP, "decision": "no_ship"}},
        ReplayOutcome.DIFFERS,
        "the decision is recorded as no_ship, and follows as ship",
    ),
    "a decision that something else spoke against": (
        GATE,
        {"report": {**SHIP, "decision": "inconclusive", "reasons": ["a gap"]}},
        ReplayOutcome.SAME,
        "",
    ),
    "a gate that is recorded as failed": (
        GATE,
        {"report": with_gate({**SHIP, "decision": "no_ship"}, status="fail")},
        ReplayOutcome.DIFFERS,
        "recorded as fail, and follows as pass",
    ),
    "a gate on another figure": (
        GATE,
        {"report": with_gate(SHIP, value=0.5)},
        ReplayOutcome.DIFFERS,
        "was decided on 0.5",
    ),
    "a gate on nothing": (
        GATE,
        {"report": with_gate(SHIP, metric="recall_at_k", value=None, status="not_measured")},
        ReplayOutcome.DIFFERS,
        "decided on None",
    ),
    "a gate on a figure that is not listed": (
        GATE,
        {"report": {**with_gate(SHIP, value=None), "metrics": {}}},
        ReplayOutcome.DIFFERS,
        "follows as not_measured",
    ),
    "missing items were allowed": (
        GATE,
        {"report": {**SHIP, "settings": {"allow_missing": True}}},
        ReplayOutcome.SAME,
        "",
    ),
    "a figure beside its threshold": (GATE, {"report": LATENCY}, ReplayOutcome.SAME, ""),
    "an unknown gate": (
        GATE,
        {"report": with_gate(SHIP, metric="beauty")},
        ReplayOutcome.NOT_RUN,
        "beauty",
    ),
    "a report of another kind": (
        GATE,
        {"report": {**SHIP, "kind": "other"}},
        ReplayOutcome.NOT_RUN,
        "not replayed",
    ),
    "not a report": (GATE, {"report": {"x": 1}}, ReplayOutcome.NOT_RUN, "no gate report"),
}


@pytest.mark.parametrize(("kind", "data", "outcome", "words"), SPEC.values(), ids=SPEC.keys())
def test_replay_of_recorded_items(kind: str, data: Any, outcome: ReplayOutcome, words: str) -> None:
    done = replayed(kind, data)
    assert done.rows
    assert {row.outcome for row in done.rows} == {outcome}
    assert any(words in row.detail for row in done.rows)


def exit_of(replay: BundleReplay) -> Exit:
    """Read the exit again: a type checker assumes that an attribute does not change."""
    return replay.exit


def test_the_exit_code_of_a_replay() -> None:
    done = replayed(LEDGER, {"ledger": stored_ledger()})
    assert exit_of(done) is Exit.YES
    replay_event(done, 2, decode_head(line_of(event("affidavit.model.call"))))
    assert (exit_of(done), done.not_run) == (Exit.YES, {"affidavit.model.call": 1})
    replay_event(done, 3, decode_head(line_of(event(LEDGER, {}))))
    assert exit_of(done) is Exit.UNKNOWN
    replay_event(
        done, 4, decode_head(line_of(event(GATE, {"report": {**SHIP, "decision": "no_ship"}})))
    )
    assert exit_of(done) is Exit.TAMPERED
    assert replayed("other", {}).exit is Exit.UNKNOWN


def test_many_rows_are_counted_and_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("affidavit.reports.bundle_text.MAX_REPLAYED_ROWS", 2)
    done = BundleReplay()
    for line in range(5):
        replay_event(done, line, decode_head(line_of(event(GATE, {"report": SHIP}))))
    bad = event(GATE, {"report": {**SHIP, "decision": "no_ship"}})
    for line in range(5):
        replay_event(done, line, decode_head(line_of(bad)))
    assert [row.outcome for row in done.rows] == [ReplayOutcome.SAME] * 2 + [
        ReplayOutcome.DIFFERS
    ] * 2
    assert done.counts == {ReplayOutcome.SAME: 5, ReplayOutcome.DIFFERS: 5}


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    path = tmp_path / "run.tar.gz"
    kept = [each for each in GOOD if each["type"] != LEDGER]
    events = [*kept, event(LEDGER, {"ledger": stored_ledger()})]
    path.write_bytes(sealed(drafts_of(events)))
    return path


def replay(*arguments: object) -> Any:
    return run("evidence", "replay", *map(str, arguments))


def test_a_bundle_replays(bundle: Path) -> None:
    result = replay(bundle)
    assert result.exit_code == Exit.YES
    assert "Not run again: 1 of affidavit.model.call" in result.stdout
    assert "Replays: " in result.stdout
    wire = json.loads(replay(bundle, "--json").stdout)
    assert wire["counts"] == {"same": 1}
    assert wire["closure_report"]["schema_version"] == "closure-v1"


def test_a_lint_report_is_compared_with_the_bundle(bundle: Path, tmp_path: Path) -> None:
    stored = tmp_path / "lint.json"
    packs = ("--pack", "cicd-starter,rag-quality")
    assert run("evidence", "lint", str(bundle), "--report", str(stored), *packs).exit_code == 0
    assert replay(bundle, "--report", stored).exit_code == Exit.YES
    value = json.loads(stored.read_bytes())
    value["bundles"][0]["closure_report"]["closure"]["score"] = 1.0
    stored.write_text(json.dumps(value))
    changed = replay(bundle, "--report", stored)
    assert (changed.exit_code, "it differs in closure_report" in changed.stdout) == (4, True)
    value["bundles"] = []
    value["max_results"] = "x"
    stored.write_text(json.dumps(value))
    other = replay(bundle, "--report", stored)
    assert (other.exit_code, "not about this bundle" in other.stdout) == (3, True)


PACK = """name: ours
version: "1"
kind: quality
description: One rule.
author: us
license: none
requires: {{assay_min_version: ">=1.0.0"}}
rules:
  - {{id: R-1, severity: error, description: "{words}",
     check: {{type: event_type_exists, pattern: "*.started"}}}}
"""

OTHER_MAKERS: dict[str, tuple[dict[str, Any], str]] = {
    "an earlier engine": ({"engine": "1.2"}, "engine 1.2, and this is 1.4"),
    "a later engine": ({"engine": "2.0"}, "engine 2.0, and this is 1.4"),
    "an engine that is not named": ({"engine": None}, "engine None"),
    "another registry of signals": ({"signals": "signals/v9"}, "signals signals/v9"),
    "other packs": ({"packs": [{"name": "x", "version": "1"}]}, "pack x@1 (None), which is not"),
    "no list of packs": ({"packs": None}, "without pack cicd-starter@"),
}


def lint_to(stored: Path, bundle: Path, packs: str) -> dict[str, Any]:
    """Lint with a report, and return the report with a result that its makers did not find."""
    run("evidence", "lint", str(bundle), "--report", str(stored), "--pack", packs)
    value: dict[str, Any] = json.loads(stored.read_bytes())
    value["bundles"][0]["closure_report"]["closure"]["score"] = 1.0
    return value


@pytest.mark.parametrize(("changes", "words"), OTHER_MAKERS.values(), ids=OTHER_MAKERS.keys())
def test_a_lint_report_that_something_else_made_is_not_replayed(
    changes: dict[str, Any], words: str, bundle: Path, tmp_path: Path
) -> None:
    stored = tmp_path / "lint.json"
    value = lint_to(stored, bundle, "cicd-starter")
    stored.write_text(json.dumps(value))
    assert replay(bundle, "--report", stored, "--pack", "cicd-starter").exit_code == Exit.TAMPERED
    stored.write_text(json.dumps({**value, **changes}))
    result = replay(bundle, "--report", stored, "--pack", "cicd-starter", "--json")
    (row,) = json.loads(result.stdout)["replayed"][1:]
    assert (result.exit_code, row["outcome"]) == (Exit.UNKNOWN, "not_run_again")
    assert words in row["detail"]


def test_a_lint_report_of_other_packs_is_not_replayed(bundle: Path, tmp_path: Path) -> None:
    stored, pack = tmp_path / "lint.json", tmp_path / "ours.yaml"
    pack.write_text(PACK.format(words="A run starts."))
    run("evidence", "lint", str(bundle), "--report", str(stored), "--pack", f"cicd-starter,{pack}")
    assert replay(bundle, "--report", stored).exit_code == Exit.YES
    turned = replay(bundle, "--report", stored, "--pack", f"{pack},cicd-starter", "--json")
    assert (turned.exit_code, "in another order" in turned.stdout) == (Exit.UNKNOWN, True)
    fewer = replay(bundle, "--report", stored, "--pack", "cicd-starter", "--json")
    assert (fewer.exit_code, "pack ours@1 (sha256:" in fewer.stdout) == (Exit.UNKNOWN, True)
    # Its name and version stay, and so does Assay's digest; the digest of the whole pack does not.
    pack.write_text(PACK.format(words="A run has a start."))
    edited = replay(bundle, "--report", stored, "--json")
    assert (edited.exit_code, "which is not run now" in edited.stdout) == (Exit.UNKNOWN, True)


def test_a_lint_report_with_later_members_is_not_replayed(bundle: Path, tmp_path: Path) -> None:
    stored = tmp_path / "lint.json"
    value = lint_to(stored, bundle, "cicd-starter")
    value["bundles"][0]["owner"] = "us"
    stored.write_text(json.dumps(value))
    later = replay(bundle, "--report", stored, "--json")
    assert (later.exit_code, "does not know owner" in later.stdout) == (Exit.UNKNOWN, True)


def test_every_entry_of_a_bundle_in_a_lint_report_is_compared(bundle: Path, tmp_path: Path) -> None:
    stored = tmp_path / "lint.json"
    run("evidence", "lint", str(bundle), "--report", str(stored))
    value = json.loads(stored.read_bytes())
    first = value["bundles"][0]
    value["bundles"] = [first, {**first, "event_count": 99}]
    stored.write_text(json.dumps(value))
    assert replay(bundle, "--report", stored).exit_code == Exit.TAMPERED


# What the user gates, the options, and the exit of a replay of the report.
INTERVALS: dict[str, tuple[list[str], Exit]] = {
    "an interval that follows from the counts": (["pa>=0.9@95"], Exit.YES),
    "an interval that follows from the pairs": (["kappa>=0.99@95"], Exit.UNKNOWN),
}


@pytest.mark.parametrize(("gates", "exit"), INTERVALS.values(), ids=INTERVALS.keys())
def test_a_gate_report_whose_interval_it_does_not_have_is_not_accused(
    gates: list[str], exit: Exit, tmp_path: Path
) -> None:
    rows = pairs("VV " * 12 + "NN " * 8 + "VN")
    asked = ("--pairs", lines(tmp_path / "p.jsonl", rows), "--gates", *gates)
    _, made = report_of("agreement", *asked)
    assert replay_recorded(tmp_path, made) == exit
    assert replay_recorded(tmp_path, {**made, "decision": "ship"}) == Exit.TAMPERED


def test_a_gate_report_of_repeated_questions_is_not_accused(tmp_path: Path) -> None:
    rows = [asked(f"{n % 10}?", RIGHT if n % 10 < 9 else WRONG) for n in range(100)]
    gates = (*BY_TEXT[:-1], "containment=0.80@95")
    code, made = report_of("rag", lines(tmp_path / "alike.jsonl", rows), *gates)
    assert code == Exit.UNKNOWN
    assert replay_recorded(tmp_path, made) == Exit.UNKNOWN


def replay_recorded(folder: Path, report: dict[str, Any]) -> int:
    """Record a gate report, seal it and replay the bundle."""
    log, sealed_to = folder / "run.jsonl", folder / "gates.tar.gz"
    log.unlink(missing_ok=True)
    sealed_to.unlink(missing_ok=True)
    with affidavit.record(log) as recorded:
        recorded.gate(report)
    run("evidence", "seal", str(log), "-o", str(sealed_to))
    return int(replay(sealed_to).exit_code)


NO_REPORTS = {"words": ("{", "AF0"), "another document": ("{}", "AF665")}


@pytest.mark.parametrize(("text", "code"), NO_REPORTS.values(), ids=NO_REPORTS.keys())
def test_invalid_lint_reports_are_refused(
    text: str, code: str, bundle: Path, tmp_path: Path
) -> None:
    stored = tmp_path / "lint.json"
    stored.write_text(text)
    result = replay(bundle, "--report", stored)
    assert (result.exit_code, result.stderr.startswith(code)) == (Exit.INPUT, True)
    assert len(result.stderr.splitlines()) == 1


def test_a_receipt_is_recorded_so_that_it_replays(tmp_path: Path) -> None:
    # Nothing was observed, so the confidence is 0.0, which canonical JSON writes as 0.
    expect = {"path": "x", "op": "eq", "value": 1.0}
    lost = seal_receipt(body({"id": "a", "tool": "plain", "expect": expect}), KEY)
    assert replayed(RECEIPT, {"receipt": json.loads(jcs(lost))}).exit is Exit.UNKNOWN
    assert receipt_data(receipt()) == {"receipt": receipt()}
    with affidavit.record(tmp_path / "run.jsonl") as recorded:
        recorded.receipt(lost)
    (tmp_path / "lost.json").write_bytes(sorted_compact(lost))
    sealed_to, imported_to = tmp_path / "a.tar.gz", tmp_path / "b.tar.gz"
    assert not run("evidence", "seal", str(tmp_path / "run.jsonl"), "-o", str(sealed_to)).exit_code
    assert not run(
        "evidence", "import", str(tmp_path / "lost.json"), "-o", str(imported_to)
    ).exit_code
    for bundle in (sealed_to, imported_to):
        assert replay(bundle).exit_code == Exit.YES
