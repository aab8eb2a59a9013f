"""The packs that come with the product: every rule has a bundle that passes and one that fails."""

from typing import Any

import msgspec
import pytest
from tests.packs.making import MANIFEST, event, lint

from affidavit.app.bundle_packs import packs_block
from affidavit.app.pack_files import BUILT_IN, built_in_pack, built_in_packs
from affidavit.packs.lint import LintResult
from affidavit.packs.model import Pack, PackKind
from affidavit.packs.signals import REGISTRY

Events = list[dict[str, Any]]

STARTED = event("affidavit.run.started", {"input": "q", "build_id": "7", "retention_days": 200})
FINISHED = event("affidavit.run.finished", {"status": "ok"})
APPROVAL = event("affidavit.human.approval", {"approver": "a", "decision": "yes"}, assaypii=True)
DECISION = event("affidavit.policy.decision", {"decision": "allow", "principal": "p"})
VERDICT = event("affidavit.verdict", {"verdict": "ship"})
LEDGER = event("affidavit.ledger", {"ledger": {"entries": 1}})
RETRIEVAL = event("affidavit.retrieval", {"query": "q", "results": [{"id": "c-1"}]})
MODEL_CALL = event(
    "affidavit.model.call", {"model": "m", "output": "a", "parameters": {"temperature": 0}}
)
TOOL_CALL = event("affidavit.tool.call", {"tool": "t", "input": 1, "output": 2})
PROMPT = event("affidavit.prompt", {"text": "p"})
ENVIRONMENT = event("affidavit.environment", {"values": {"python": "3.11"}})
VERSION = event("affidavit.code.version", {"version": "1", "commit": "c"})

# A run that has what every rule of every pack asks for.
GOOD: Events = [
    STARTED,
    VERSION,
    ENVIRONMENT,
    PROMPT,
    RETRIEVAL,
    MODEL_CALL,
    DECISION,
    TOOL_CALL,
    APPROVAL,
    LEDGER,
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


def with_instead(old: dict[str, Any], data: dict[str, Any]) -> Events:
    return [event(each["type"], data) if each is old else each for each in GOOD]


BARE = {"schema_version": 1}
NOTHING_DECIDED = but(DECISION, VERDICT)
# For each rule: events in which it fires, and the manifest if it is about that.
FAILING: dict[str, tuple[Events, dict[str, Any]]] = {
    "cicd-starter:CICD-001": ([], {}),
    "cicd-starter:CICD-002": (but(FINISHED), {}),
    "cicd-starter:CICD-003": (with_instead(STARTED, {"input": "q"}), {}),
    "cicd-starter:CICD-004": ([VERDICT], {}),
    "cicd-starter:CICD-005": (but(LEDGER, VERDICT), {}),
    "eu-ai-act-baseline:EU12-001": ([], {}),
    "eu-ai-act-baseline:EU12-002": (NOTHING_DECIDED, {}),
    "eu-ai-act-baseline:EU12-003": ([VERDICT], {}),
    "eu-ai-act-baseline:EU12-004": (but(FINISHED), {}),
    "eu-ai-act-baseline:EU12-005": (with_instead(APPROVAL, {"decision": "yes"}), {}),
    "eu-ai-act-baseline:EU19-001": (GOOD, BARE),
    "eu-ai-act-baseline:EU19-002": (but(STARTED), {}),
    "soc2-baseline:SOC2-CC6.1": (but(DECISION, APPROVAL), {}),
    "soc2-baseline:SOC2-CC7.2": (but(FINISHED), {}),
    "soc2-baseline:SOC2-CC7.3": (NOTHING_DECIDED, {}),
    "soc2-baseline:SOC2-CC8.1": (but(STARTED, VERSION), {}),
    "soc2-baseline:SOC2-CC2.1": (GOOD, BARE),
    "owasp-agentic:ASI01": (but(PROMPT, STARTED), {}),
    "owasp-agentic:ASI02": (but(DECISION), {}),
    "owasp-agentic:ASI02-IO": (with_instead(TOOL_CALL, {"tool": "t"}), {}),
    "owasp-agentic:ASI03": (but(DECISION), {}),
    "owasp-agentic:ASI04": (with_instead(MODEL_CALL, {"output": "a"}), {}),
    "owasp-agentic:ASI05": (but(ENVIRONMENT), {}),
    "owasp-agentic:ASI06": (but(RETRIEVAL), {}),
    "owasp-agentic:ASI09": (but(APPROVAL), {}),
    "owasp-agentic:ASI10": (but(STARTED), {}),
    "rag-quality:RAG-001": (but(RETRIEVAL), {}),
    "rag-quality:RAG-002": (with_instead(RETRIEVAL, {"query": "q"}), {}),
    "rag-quality:RAG-003": (with_instead(MODEL_CALL, {"model": "m"}), {}),
    "rag-quality:RAG-004": (with_instead(MODEL_CALL, {"output": "a"}), {}),
    "rag-quality:RAG-005": (with_instead(MODEL_CALL, {"model": "m"}), {}),
    "rag-quality:RAG-006": (but(LEDGER, VERDICT), {}),
    "answer-integrity:INT-001": (but(LEDGER), {}),
    "answer-integrity:INT-002": (but(LEDGER, VERDICT), {}),
    "answer-integrity:INT-003": (but(STARTED, PROMPT), {}),
    "answer-integrity:INT-004": (GOOD, BARE),
    "answer-integrity:INT-005": (but(FINISHED), {}),
    "answer-integrity:INT-006": (but(VERSION, MODEL_CALL), {}),
}

PACKS: dict[str, Pack] = {name: built_in_pack(name) for name in built_in_packs()}
RULES = {f"{pack.name}:{rule.id}": (pack, rule) for pack in PACKS.values() for rule in pack.rules}


def fired(result: LintResult) -> set[str]:
    return {f"{each.pack.name}:{each.rule.id}" for each in result.rules if each.finding is not None}


def test_the_packs_are_these() -> None:
    assert sorted(PACKS) == [
        "answer-integrity",
        "cicd-starter",
        "eu-ai-act-baseline",
        "owasp-agentic",
        "rag-quality",
        "soc2-baseline",
    ]
    assert {pack.source for pack in PACKS.values()} == {BUILT_IN}


@pytest.mark.parametrize("name", PACKS)
def test_a_good_run_passes_every_rule(name: str) -> None:
    assert fired(lint([PACKS[name]], GOOD)) == set()


@pytest.mark.parametrize("name", RULES)
def test_every_rule_fires_where_it_should(name: str) -> None:
    pack, _ = RULES[name]
    events, manifest = FAILING[name]
    assert name in fired(lint([pack], events, manifest or MANIFEST))


def test_every_example_is_of_a_rule() -> None:
    assert set(FAILING) == set(RULES)


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
    assert [pack.name for pack in compliance] == ["eu-ai-act-baseline", "soc2-baseline"]
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
            "version": "2.0.0",
            "digest": pack.digest,
            "kind": "compliance",
            "source_url": "https://eur-lex.europa.eu/eli/reg/2024/1689/oj",
        },
    )
    assert "source_url" not in starter["packs_applied"][0]
    assert block["mappings"][0] == {
        "rule": "eu-ai-act-baseline@2.0.0:EU12-001",
        "framework": "EU AI Act",
        "ref": "12(1)",
    }
    assert starter["mappings"][0]["framework"] == "cicd-starter"
