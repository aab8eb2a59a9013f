"""What agents can ask for over MCP: the use cases of the command line, with JSON in and out.

The operator names the documents; an agent passes texts only, so it reaches no other file.
"""

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from time import monotonic
from typing import Any, Final

import msgspec

from affidavit.app import api
from affidavit.app.project import Project, cite
from affidavit.app.service import AnswerService, RequestLimits, ServiceConfig
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import evidence as faults
from affidavit.base.json_values import JsonLimits
from affidavit.ledger.record import Ledger

MAX_TEXT_CHARACTERS: Final = 1_000_000
_LIMITS: Final = JsonLimits(max_bytes=16 * 1024 * 1024)
_CALLER: Final = "mcp"
TOP_K: Final = 8


class AgentTools:
    """The tools of one project. Several threads may call them."""

    def __init__(
        self, project: Path, sources: Sequence[Path] = (), tools: Path | None = None
    ) -> None:
        self._project = project
        self._sources = tuple(sources)
        self._tools = tools

    def check_answer(
        self,
        answer: str,
        contexts: Sequence[str] = (),
        query: str | None = None,
        gates: Sequence[str] = (),
        judge: str | None = None,
    ) -> dict[str, Any]:
        """Adjudicate every claim of an answer: the ledger with its decision."""
        _require_short("answer", answer, *contexts)
        if not contexts and not self._sources:
            raise AffidavitError(faults.SOURCES_NONE)
        ledger = api.check(
            answer,
            () if contexts else self._sources,
            contexts=tuple(contexts),
            query=query,
            title=query or "An answer",
            judge=judge,
            rules=None,
            gates=tuple(gates),
            top_k=TOP_K,
            risk=None,
            at=None,
            project=None if contexts else self._project,
        )
        return _brief(ledger)

    def judge_claim(
        self, claim: str, evidence: Sequence[str], judge: str | None = None
    ) -> dict[str, Any]:
        """Judge one claim against some texts."""
        _require_short("claim", claim, *evidence)
        found: dict[str, Any] = _json(api.judge(claim, tuple(evidence), judge=judge, rules=None))
        return found

    def resolve_citation(self, citation: str) -> dict[str, Any]:
        """Return the passage that a citation such as `[cite:00f66349]` names."""
        resolved = cite(citation[:200], Project(self._project), self._sources)
        found: dict[str, Any] = _json(resolved)
        return found

    def answer_checks(
        self,
        checks: Sequence[dict[str, Any]] = (),
        question: str | None = None,
        deadline_ms: int | None = None,
    ) -> dict[str, Any]:
        """Ask the tools of the project, and return a signed receipt."""
        request: dict[str, Any] = {"question": question} if question else {"checks": list(checks)}
        if deadline_ms is not None:
            request["deadline_ms"] = deadline_ms
        raw = json.dumps(request).encode("utf-8", "surrogatepass")
        receipt = self._service.answer(raw, RequestLimits(_LIMITS), _CALLER, monotonic())
        found: dict[str, Any] = msgspec.json.decode(receipt.text)
        return found

    def verify(self, receipt: dict[str, Any] | str) -> dict[str, Any]:
        """Verify a receipt, or linked ones, with the keys of the project."""
        text = receipt if isinstance(receipt, str) else json.dumps(receipt)
        raw = text.encode("utf-8", "surrogatepass")
        found: dict[str, Any] = _json(self._service.verify(raw, _LIMITS, "receipt"))
        return found

    @cached_property
    def _service(self) -> AnswerService:
        return AnswerService(ServiceConfig(project=self._project, tools=self._tools))


def _require_short(field: str, *texts: str) -> None:
    if sum(map(len, texts)) > MAX_TEXT_CHARACTERS:
        from affidavit.base.faults.store import ANSWER_TOO_LONG

        where = Where(field=field)
        raise AffidavitError(ANSWER_TOO_LONG, where, what="request", limit=MAX_TEXT_CHARACTERS)


def _brief(ledger: Ledger) -> dict[str, Any]:
    """Return what an agent acts on. The rest (readings, rules) is in the stored ledger."""
    claims = [
        {
            "claim": entry.claim_text,
            "verdict": entry.verdict.value,
            "confidence": entry.confidence_score,
            "type": entry.claim_type.value,
            "importance": entry.importance.value,
            "evidence": entry.evidence.snippet,
            "source": _json(entry.evidence.source),
            "cite": [f"[cite:{reading.chunk_hash}]" for reading in entry.readings[:1]],
            "notes": entry.notes,
        }
        for entry in ledger.entries
    ]
    return {
        "ledger_id": ledger.ledger_id,
        "session_id": ledger.session_id,
        "decision": ledger.gates.decision.value,
        "gates": _json(ledger.gates),
        "summary": _json(ledger.summary),
        "claims": claims,
        "risk_flags": _json(ledger.risk_flags),
        "follow_up_questions": list(ledger.follow_up_questions),
        "recommended_actions": list(ledger.recommended_actions),
        "judge": str(ledger.judge),
    }


def _json(value: object) -> Any:
    return msgspec.to_builtins(value, str_keys=True)
