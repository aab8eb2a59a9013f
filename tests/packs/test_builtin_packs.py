"""The packs that come with the product: every rule has a bundle that passes and one that fails."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.packs.making import event, lint
from tests.seal.bundle_making import archive_of, members_of, sealed

from affidavit.app.bundle_packs import packs_block
from affidavit.app.lint import lint_bundle
from affidavit.app.pack_files import BUILT_IN, built_in_pack, built_in_packs
from affidavit.base.canonical import jcs
from affidavit.packs.lint import LintResult
from affidavit.packs.model import Pack, PackKind
from affidavit.packs.signals import REGISTRY
from affidavit.seal.bundle.container import DEFAULT_LIMITS
from affidavit.seal.bundle.writer import EventDraft

Events = list[dict[str, Any]]

STARTED = event(
    "affidavit.run.started",
    {
        "input": "q",
        "build_id": "7",
        "retention_days": 200,
        "retain_until": "2027-01-31T00:00:00Z",
    },
)
FINISHED = event("affidavit.run.finished", {"status": "ok"})
APPROVAL = event(
    "affidavit.human.approval",
    {"approver": "ann", "decision": "yes", "what": "pay", "role": "lead", "requested_by": "cid"},
    assaypii=True,
)
SECOND = event(
    "affidavit.human.approval",
    {"approver": "ben", "decision": "approve", "what": "pay", "role": "lead"},
    assaypii=True,
)
DECISION = event("affidavit.policy.decision", {"decision": "allow", "principal": "p"})
VERDICT = event("affidavit.verdict", {"verdict": "ship"})
EXITED = event("affidavit.process.exited", {"code": 0})
LEDGER = event("affidavit.ledger", {"ledger": {"entries": 1}})
RETRIEVAL = event("affidavit.retrieval", {"query": "q", "results": [{"id": "c-1"}], "index": "i"})
MODEL_CALL = event(
    "affidavit.model.call",
    {"model": "m", "provider": "acme", "output": "a", "parameters": {"temperature": 0}},
)
TOOL_CALL = event("affidavit.tool.call", {"tool": "t", "input": 1, "output": 2})
FAILED_CALL = event("affidavit.tool.call", {"tool": "t", "input": 1, "output": 2, "error": "e"})
PAYMENT = event("affidavit.tool.call", {"tool": "pay", "input": 1, "output": 2, "actor": "agent-7"})
PROMPT = event("affidavit.prompt", {"text": "p"})
ENVIRONMENT = event("affidavit.environment", {"values": {"python": "3.11"}})
VERSION = event("affidavit.code.version", {"version": "1", "commit": "c", "author": "dan"})
MESSAGE = event("team.agent.message", {"sender": "a", "signature": "s"})


def incident(severity: str) -> dict[str, Any]:
    return event("affidavit.incident", {"incident": severity, "severity": severity})


def report(severity: str) -> dict[str, Any]:
    return event("affidavit.incident.report", {"incident": severity, "authority": "x"})


# A run that has what every rule of every pack asks for, and puts all of them but one to the test.
GOOD: Events = [
    STARTED,
    VERSION,
    ENVIRONMENT,
    PROMPT,
    RETRIEVAL,
    MODEL_CALL,
    MESSAGE,
    DECISION,
    TOOL_CALL,
    FAILED_CALL,
    APPROVAL,
    SECOND,
    PAYMENT,
    *(incident(severity) for severity in ("serious", "widespread", "death")),
    *(report(severity) for severity in ("serious", "widespread", "death")),
    LEDGER,
    EXITED,
    VERDICT,
    FINISHED,
]
# The same as far as Assay can record it.
ASSAYS: Events = [
    event("assay.profile.started", {"version": "1", "build_id": "7"}),
    event("assay.env.filtered"),
    event(
        "assay.tool.decision",
        {"tool": "t", "decision": "allow", "principal": "p", "approval_state": "approved"},
    ),
    event("assay.profile.finished"),
]


def but(*left_out: dict[str, Any]) -> Events:
    return [each for each in GOOD if each not in left_out]


def with_instead(old: dict[str, Any], *new: dict[str, Any]) -> Events:
    """Return the good run with other events in the place of one."""
    at = GOOD.index(old)
    return [*GOOD[:at], *new, *GOOD[at + 1 :]]


def changed(old: dict[str, Any], **data: Any) -> Events:
    """Return the good run with other fields in one event; `...` leaves one out."""
    fields = {**old["data"], **data}
    kept = {name: value for name, value in fields.items() if value is not ...}
    return with_instead(old, {**old, "data": kept})


def at(time: str, old: dict[str, Any]) -> Events:
    return with_instead(old, {**old, "time": time})


def decided(decision: str, tool: str) -> dict[str, Any]:
    return event(
        "affidavit.policy.decision", {"decision": decision, "tool": tool, "principal": "p"}
    )


NOTHING_DECIDED = but(DECISION, VERDICT)
BARE = [STARTED, FINISHED]
BACKWARDS = at("2026-01-31T14:29:59Z", FINISHED)
REFUSED = with_instead(TOOL_CALL, decided("deny", "t"), TOOL_CALL)
REJECTED = with_instead(
    PAYMENT,
    event("affidavit.human.approval", {"approver": "eve", "decision": "reject", "what": "pay"}),
    PAYMENT,
)
TWO_VERDICTS = with_instead(VERDICT, VERDICT, event("affidavit.verdict", {"verdict": "no-ship"}))
BY_AGENT = changed(APPROVAL, approver="agent-7")
OWN_ACT = changed(PAYMENT, actor="ann")
ONE_APPROVER = but(SECOND)
UNDECIDED = but(DECISION)
AFTERWARDS = [*but(APPROVAL, SECOND, FINISHED), APPROVAL, SECOND, FINISHED]
UNJUDGED = but(LEDGER)
NO_ROLE = changed(APPROVAL, role=...)
NO_PROVIDER = changed(MODEL_CALL, provider=...)
NO_ROOT: Events = []  # The bundle has no block of ours, as Assay writes it.
# For each rule: events of a valid bundle in which it fires.
FAILING: dict[str, Events] = {
    "exit-status:EXIT-001": changed(EXITED, code=1),
    "exit-status:EXIT-002": but(EXITED),
    "cicd-starter:CICD-001": BARE,
    "cicd-starter:CICD-002": but(FINISHED),
    "cicd-starter:CICD-003": changed(STARTED, build_id=...),
    "cicd-starter:CICD-004": [VERDICT],
    "cicd-starter:CICD-005": but(LEDGER, VERDICT),
    "cicd-starter:CICD-006": TWO_VERDICTS,
    "cicd-starter:CICD-007": BACKWARDS,
    "eu-ai-act-baseline:EU12-001": BARE,
    "eu-ai-act-baseline:EU12-002": NOTHING_DECIDED,
    "eu-ai-act-baseline:EU12-003": [VERDICT],
    "eu-ai-act-baseline:EU12-004": but(FINISHED),
    "eu-ai-act-baseline:EU12-005": changed(APPROVAL, approver=...),
    "eu-ai-act-baseline:EU12-006": at("2031-01-31T14:30:00Z", FINISHED),
    "eu-ai-act-baseline:EU12-007": TWO_VERDICTS,
    "eu-ai-act-baseline:EU12-301": but(FINISHED),
    "eu-ai-act-baseline:EU12-302": changed(RETRIEVAL, index=...),
    "eu-ai-act-baseline:EU12-303": changed(RETRIEVAL, query=...),
    "eu-ai-act-baseline:EU14-001": BY_AGENT,
    "eu-ai-act-baseline:EU14-002": AFTERWARDS,
    "eu-ai-act-baseline:EU14-003": REJECTED,
    "eu-ai-act-baseline:EU14-004": REFUSED,
    "eu-ai-act-baseline:EU14-005": ONE_APPROVER,
    "eu-ai-act-baseline:EU19-001": NO_ROOT,
    "eu-ai-act-baseline:EU19-002": but(STARTED),
    "eu-ai-act-baseline:EU26-002": NO_ROLE,
    "eu-ai-act-baseline:EU26-006": changed(STARTED, retention_days=30),
    "eu-ai-act-baseline:EU26-007": changed(STARTED, retain_until="2020-01-31T00:00:00Z"),
    "eu-ai-act-baseline:EU73-002": at("2026-02-20T14:30:00Z", report("serious")),
    "eu-ai-act-baseline:EU73-003": at("2026-02-03T14:30:00Z", report("widespread")),
    "eu-ai-act-baseline:EU73-004": but(report("death")),
    "soc2-baseline:SOC2-CC6.1": but(DECISION, APPROVAL, SECOND, PAYMENT),
    "soc2-baseline:SOC2-CC6.1-REFUSED": REFUSED,
    "soc2-baseline:SOC2-CC6.3": OWN_ACT,
    "soc2-baseline:SOC2-CC7.2": but(FINISHED),
    "soc2-baseline:SOC2-CC7.3": NOTHING_DECIDED,
    "soc2-baseline:SOC2-CC7.4": but(report("serious")),
    "soc2-baseline:SOC2-CC8.1": but(STARTED, VERSION),
    "soc2-baseline:SOC2-CC8.1-APPROVED": AFTERWARDS,
    "soc2-baseline:SOC2-CC2.1": NO_ROOT,
    "soc2-baseline:SOC2-PI1.4": TWO_VERDICTS,
    "owasp-agentic:ASI01": but(PROMPT, STARTED),
    "owasp-agentic:ASI02": UNDECIDED,
    "owasp-agentic:ASI02-DESTRUCTIVE": with_instead(PAYMENT, decided("deny", "pay"), PAYMENT),
    "owasp-agentic:ASI02-REFUSED": REFUSED,
    "owasp-agentic:ASI02-IO": changed(TOOL_CALL, input=...),
    "owasp-agentic:ASI03": changed(DECISION, principal=...),
    "owasp-agentic:ASI04": changed(MODEL_CALL, model=...),
    "owasp-agentic:ASI05": but(ENVIRONMENT),
    "owasp-agentic:ASI06": but(RETRIEVAL),
    "owasp-agentic:ASI07": changed(MESSAGE, sender=...),
    "owasp-agentic:ASI07-AUTH": changed(MESSAGE, signature=...),
    "owasp-agentic:ASI08": with_instead(FAILED_CALL, *[FAILED_CALL] * 6),
    "owasp-agentic:ASI08-HALT": changed(FINISHED, status="error"),
    "owasp-agentic:ASI09": but(APPROVAL, SECOND),
    "owasp-agentic:ASI09-SELF": BY_AGENT,
    "owasp-agentic:ASI09-BEFORE": AFTERWARDS,
    "owasp-agentic:ASI10": but(STARTED),
    "owasp-agentic:ASI10-AFTER": [*GOOD, VERDICT],
    "rag-quality:RAG-001": but(RETRIEVAL),
    "rag-quality:RAG-002": changed(RETRIEVAL, results=...),
    "rag-quality:RAG-003": changed(MODEL_CALL, output=...),
    "rag-quality:RAG-004": changed(MODEL_CALL, model=...),
    "rag-quality:RAG-005": changed(MODEL_CALL, parameters=...),
    "rag-quality:RAG-006": but(LEDGER, VERDICT),
    "rag-quality:RAG-007": [MODEL_CALL, *but(MODEL_CALL)],
    "answer-integrity:INT-001": UNJUDGED,
    "answer-integrity:INT-002": but(LEDGER, VERDICT),
    "answer-integrity:INT-003": but(STARTED, PROMPT),
    "answer-integrity:INT-004": NO_ROOT,
    "answer-integrity:INT-005": but(FINISHED),
    "answer-integrity:INT-006": but(VERSION, MODEL_CALL),
    "answer-integrity:INT-007": with_instead(
        LEDGER, event("affidavit.gate.report", {"report": {"decision": "no_ship"}})
    ),
    "answer-integrity:INT-008": TWO_VERDICTS,
    "answer-integrity:INT-009": UNJUDGED,
    "segregation-of-duties:SOD-001": OWN_ACT,
    "segregation-of-duties:SOD-002": changed(APPROVAL, requested_by="ann"),
    "segregation-of-duties:SOD-003": ONE_APPROVER,
    "segregation-of-duties:SOD-004": BY_AGENT,
    "segregation-of-duties:SOD-005": changed(VERSION, author="ann"),
    "iso-42001:ISO-A.3.2": NO_ROLE,
    "iso-42001:ISO-A.4.5": but(ENVIRONMENT),
    "iso-42001:ISO-A.6.2.4": UNJUDGED,
    "iso-42001:ISO-A.6.2.6": changed(MODEL_CALL, output=...),
    "iso-42001:ISO-A.6.2.6-REFUSED": REFUSED,
    "iso-42001:ISO-A.6.2.8": but(FINISHED),
    "iso-42001:ISO-A.6.2.8-TIME": BACKWARDS,
    "iso-42001:ISO-A.7.5": changed(RETRIEVAL, index=...),
    "iso-42001:ISO-A.8.4": but(report("death")),
    "iso-42001:ISO-A.9.2": UNDECIDED,
    "iso-42001:ISO-A.10.3": NO_PROVIDER,
    "nist-ai-rmf:NIST-GOVERN-2.1": NO_ROLE,
    "nist-ai-rmf:NIST-GOVERN-3.2": BY_AGENT,
    "nist-ai-rmf:NIST-GOVERN-6.1": NO_PROVIDER,
    "nist-ai-rmf:NIST-MAP-3.5": AFTERWARDS,
    "nist-ai-rmf:NIST-MEASURE-2.3": UNJUDGED,
    "nist-ai-rmf:NIST-MEASURE-2.8": but(FINISHED),
    "nist-ai-rmf:NIST-MEASURE-2.8-TIME": BACKWARDS,
    "nist-ai-rmf:NIST-MANAGE-2.4": REFUSED,
    "nist-ai-rmf:NIST-MANAGE-4.1": [VERDICT],
    "nist-ai-rmf:NIST-MANAGE-4.3": but(report("serious")),
}
# What passes where the good run does not put the rule to the test.
PASSING: dict[str, Events] = {
    "owasp-agentic:ASI08-HALT": [
        *but(VERDICT, FINISHED),
        event(FINISHED["type"], {"status": "error"}),
    ],
}

PACKS: dict[str, Pack] = {name: built_in_pack(name) for name in built_in_packs()}
RULES = {f"{pack.name}:{rule.id}": (pack, rule) for pack in PACKS.values() for rule in pack.rules}


def fired(result: LintResult) -> set[str]:
    return {f"{each.pack.name}:{each.rule.id}" for each in result.rules if each.finding is not None}


def linted(folder: Path, pack: Pack, events: Events) -> LintResult:
    """Seal the events in a bundle, as the product does, and lint it."""
    drafts = [
        EventDraft(each["type"], each["time"], each["data"], personal_data=each["assaypii"])
        for each in events or GOOD
    ]
    raw = sealed(drafts)
    if events is NO_ROOT:
        manifest, lines = members_of(raw)
        kept = {key: value for key, value in json.loads(manifest).items() if key != "x-affidavit"}
        raw = archive_of(jcs(kept), lines)
    path = folder / "b.tar.gz"
    path.write_bytes(raw)
    return lint_bundle(path, [pack], DEFAULT_LIMITS, 500).result


def outcome(name: str, folder: Path, events: Events) -> str:
    pack, rule = RULES[name]
    results = linted(folder, pack, events).rules
    return next(each.outcome for each in results if each.rule == rule)


def test_the_packs_are_these() -> None:
    assert sorted(PACKS) == [
        "answer-integrity",
        "cicd-starter",
        "eu-ai-act-baseline",
        "exit-status",
        "iso-42001",
        "nist-ai-rmf",
        "owasp-agentic",
        "rag-quality",
        "segregation-of-duties",
        "soc2-baseline",
    ]
    assert {pack.source for pack in PACKS.values()} == {BUILT_IN}


@pytest.mark.parametrize("name", PACKS)
def test_a_good_run_passes_every_rule(name: str) -> None:
    assert fired(lint([PACKS[name]], GOOD)) == set()


@pytest.mark.parametrize("name", RULES)
def test_every_rule_fires_in_a_valid_bundle_and_holds_in_another(name: str, tmp_path: Path) -> None:
    assert outcome(name, tmp_path, FAILING[name]) == "fail"
    assert outcome(name, tmp_path, PASSING.get(name, GOOD)) == "pass"


def test_every_example_is_of_a_rule() -> None:
    assert set(FAILING) == set(RULES)


# The run that passed 26 rules of four packs.
AUDITED: Events = [
    {**STARTED, "time": "2019-01-31T14:30:00Z"},
    decided("deny", "transfer"),
    event("affidavit.tool.call", {"tool": "transfer", "input": 1, "output": 2}),
    event("affidavit.tool.call", {"tool": "delete_all", "input": 1, "output": 2}),
    event(
        "affidavit.human.approval",
        {"approver": "agent", "decision": "approve", "what": "transfer"},
        assaypii=True,
    ),
    VERDICT,
    event("affidavit.verdict", {"verdict": "no-ship"}),
    {**FINISHED, "time": "2031-01-31T14:30:00Z"},
]
MUST_FIRE = {
    "cicd-starter": {"CICD-006", "CICD-007"},
    "eu-ai-act-baseline": {"EU12-006", "EU12-007", "EU14-001", "EU14-002", "EU14-004"},
    "soc2-baseline": {"SOC2-CC6.1-REFUSED", "SOC2-CC8.1-APPROVED", "SOC2-PI1.4"},
    "owasp-agentic": {
        "ASI02",
        "ASI02-DESTRUCTIVE",
        "ASI02-REFUSED",
        "ASI09-SELF",
        "ASI09-BEFORE",
    },
}


@pytest.mark.parametrize(("name", "wanted"), MUST_FIRE.items())
def test_a_run_that_fails_an_audit_fails_lint(name: str, wanted: set[str], tmp_path: Path) -> None:
    found = fired(linted(tmp_path, PACKS[name], AUDITED))
    assert {f"{name}:{rule}" for rule in wanted} <= found


@pytest.mark.parametrize("name", RULES)
def test_every_rule_says_what_it_needs_and_how_to_mend_it(name: str) -> None:
    _, rule = RULES[name]
    assert rule.requires_signals
    assert set(rule.requires_signals) <= set(REGISTRY)
    assert rule.article_ref
    assert rule.help_markdown
    assert "**To mend it**" in rule.help_markdown


def test_a_pack_has_no_remarks_and_compliance_has_a_disclaimer() -> None:
    assert [pack.remarks for pack in PACKS.values() if pack.remarks] == []
    compliance = [pack for pack in PACKS.values() if pack.kind is PackKind.COMPLIANCE]
    assert [pack.name for pack in compliance] == [
        "eu-ai-act-baseline",
        "iso-42001",
        "nist-ai-rmf",
        "soc2-baseline",
    ]
    assert all(pack.disclaimer for pack in compliance)


# Our packs make sense of Assay's events: only what Assay cannot record is found.
ON_ASSAYS = {
    "cicd-starter": set(),
    "eu-ai-act-baseline": {"eu-ai-act-baseline:EU19-002"},
    "soc2-baseline": set(),
    "owasp-agentic": {"owasp-agentic:ASI01", "owasp-agentic:ASI06"},
}


@pytest.mark.parametrize(("name", "wanted"), ON_ASSAYS.items())
def test_a_run_that_assay_recorded(name: str, wanted: set[str]) -> None:
    assert fired(lint([PACKS[name]], ASSAYS)) == wanted


def test_what_a_manifest_says_of_packs() -> None:
    pack = PACKS["eu-ai-act-baseline"]
    block = msgspec.to_builtins(packs_block([pack]))
    starter = msgspec.to_builtins(packs_block([PACKS["cicd-starter"]]))
    assert block["packs_applied"] == (
        {
            "name": "eu-ai-act-baseline",
            "version": "3.0.0",
            "digest": pack.digest,
            "kind": "compliance",
            "source_url": "https://eur-lex.europa.eu/eli/reg/2024/1689/oj",
        },
    )
    assert "source_url" not in starter["packs_applied"][0]
    assert block["mappings"][0] == {
        "rule": "eu-ai-act-baseline@3.0.0:EU12-001",
        "framework": "EU AI Act",
        "ref": "12(1)",
    }
    assert starter["mappings"][0]["framework"] == "cicd-starter"
