"""Rules that JSON Schema cannot express: schemathesis generates no bodies that break them.

Integers beyond 2^53 - 1 are refused anywhere in strict JSON; a whole number of milliseconds is
written without a point; two checks have two ids; a time exists in the calendar; an answer has
words; a gate names a metric; and a decision changes something.
"""

from datetime import datetime
from typing import Any

import schemathesis

LARGEST = 2**53 - 1


def is_sayable(value: Any) -> bool:
    """Say whether strict JSON accepts every number in a value."""
    if isinstance(value, dict):
        return all(map(is_sayable, value.values()))
    if isinstance(value, list):
        return all(map(is_sayable, value))
    return isinstance(value, bool) or not isinstance(value, int) or abs(value) <= LARGEST


def has_twins(body: Any) -> bool:
    """Say whether two checks of a request have the same id."""
    checks = body.get("checks") if isinstance(body, dict) else body
    if not isinstance(checks, list):
        return False
    ids = [repr(check.get("id")) for check in checks if isinstance(check, dict)]
    return len(ids) != len(set(ids))


def is_dated(body: Any) -> bool:
    """Say whether the time of a receipt, if it is a valid timestamp, exists."""
    text = body.get("generated_at") if isinstance(body, dict) else None
    try:
        datetime.fromisoformat(text[:19] if isinstance(text, str) else "2026-01-01")
    except ValueError:
        return False
    return True


def is_checkable(body: Any) -> bool:
    """Say whether a body of the ledger routes has text, known gates, a real day and a change."""
    if not isinstance(body, dict):
        return True
    texts = (body.get(name, "x") for name in ("answer", "reason"))
    fields = ("verdict", "claim_type", "importance")
    changes = any(body.get(name) is not None for name in fields)
    return (
        all(not isinstance(text, str) or (text.strip() and "\0" not in text) for text in texts)
        and not body.get("gates")
        and body.get("answer_date") is None
        and body.get("decision") != "open"
        and ("reason" not in body or "decision" in body or changes)
        and (body.get("expected") is None or "decision" in body or bool(body.get("verdict")))
    )


def is_expressible(body: Any) -> bool:
    """Say whether a body breaks only rules that a schema can express."""
    deadline = body.get("deadline_ms") if isinstance(body, dict) else None
    return (
        is_sayable(body)
        and not isinstance(deadline, float)
        and not has_twins(body)
        and is_dated(body)
        and is_checkable(body)
    )


@schemathesis.hook
def filter_body(context: Any, body: Any) -> bool:
    """Discard all other generated bodies."""
    return is_expressible(body)


@schemathesis.hook
def filter_case(context: Any, case: Any) -> bool:
    """Also discard the listed bodies at the bounds of the schema."""
    return is_expressible(case.body)
