"""ASSAY-W004: a refusal that was observed needs the decision that it rests on.

Origin: Assay's lint. A response that says that the proxy refused a call is an attribution: an
enforcement point acted. It needs an `assay.enforcement_decision.v0` of the same tool and the same
target digest that says `deny`; one that says `allow` contradicts it. Their order does not matter.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from affidavit.packs.events import Event
from affidavit.packs.model import Severity
from affidavit.packs.pointers import pointer_from
from affidavit.packs.report import EventLocation, LintFinding, finding_fingerprint, location_of
from affidavit.packs.sensitive import SENSITIVE_RULES, SensitiveRule

UNBACKED_REFUSAL: Final = SensitiveRule(
    "ASSAY-W004",
    Severity.WARNING,
    "A refusal that was observed is backed by the decision to refuse",
    "The event shows a response of the proxy that refuses a call, and no decision of the same"
    " tool and target digest refuses it. Record `assay.enforcement_decision.v0` where the call is"
    " refused, with the target digest that the observation has.",
)
ALWAYS_ON_RULES: Final = (*SENSITIVE_RULES, UNBACKED_REFUSAL)

_DECISION_SCHEMA: Final = "assay.enforcement_decision.v0"
# Every event that matters here contains one of these.
MARKS: Final = (b'"observed_response"', _DECISION_SCHEMA.encode(), b"\\u")
MAX_REMEMBERED: Final = 10_000
_REFUSED_CODE: Final = -31999  # Of the proxy, in the newer form of its refusals.
_DECIDED: Final = tuple(map(pointer_from, ("/tool/name", "/action/target_digest")))
_CALLED: Final = tuple(map(pointer_from, ("/call/tool_name", "/call/target_digest")))
_REFUSAL: Final = tuple(
    map(pointer_from, ("/error/data/assay_proxy", "/error/data/origin", "/error/code"))
)


class RefusalCheck:
    """Remembers decisions and observed refusals, and compares them at the end."""

    def __init__(self) -> None:
        self._decisions: dict[tuple[str, ...], set[str]] = {}
        self._refusals: list[tuple[tuple[str, ...], EventLocation]] = []
        self._overflowed = False

    def feed(self, event: Event) -> None:
        """Read an event that contains one of the marks."""
        data = event.data
        if not isinstance(data, dict):
            return
        decision: Any = data.get("decision")
        decided, called = _texts(_DECIDED, data), _texts(_CALLED, data)
        is_decision = data.get("schema") == _DECISION_SCHEMA and decision in ("allow", "deny")
        if decided and is_decision and self._has_room(len(self._decisions)):
            self._decisions.setdefault(decided, set()).add(decision)
        is_refusal = _is_refusal(data.get("observed_response"))
        if called and is_refusal and self._has_room(len(self._refusals)):
            self._refusals.append((called, location_of(event)))

    def _has_room(self, remembered: int) -> bool:
        self._overflowed |= remembered >= MAX_REMEMBERED
        return not self._overflowed

    def finish(self) -> Iterator[LintFinding]:
        """Yield a finding for each refusal without its decision."""
        if self._overflowed:
            yield _finding(f"More than {MAX_REMEMBERED} refusals or decisions: not checked", None)
            return
        for key, place in self._refusals:
            decisions = self._decisions.get(key, set())
            if "deny" not in decisions:
                reason = "is contradicted by an allowing" if decisions else "has no"
                message = f"An observed refusal {reason} decision of the same tool and target"
                yield _finding(message, place)


def _texts(pointers: tuple[Any, ...], data: dict[str, Any]) -> tuple[str, ...] | None:
    found = tuple(pointer.find(data) for pointer in pointers)
    return found if all(isinstance(each, str) and each for each in found) else None


def _is_refusal(response: object) -> bool:
    """Return whether the text of a response says that the proxy refused a call, in either form."""
    if not isinstance(response, str):
        return False
    try:
        answer = msgspec.json.decode(response)
    except msgspec.DecodeError:
        return False
    older, origin, code = (pointer.find(answer) for pointer in _REFUSAL)
    return bool(older == "deny" or (origin == "assay-proxy" and code == _REFUSED_CODE))


def _finding(message: str, place: EventLocation | None) -> LintFinding:
    rule = UNBACKED_REFUSAL
    return LintFinding(
        rule_id=rule.id,
        severity=rule.severity,
        message=message,
        location=place,
        fingerprint=finding_fingerprint(rule.id, place),
        pack=None,
    )
