"""Whole requests for the OpenAPI document, by operation; all of them are answered with 200.

They ask the one tool that every service has, `software_version`.
"""

from collections.abc import Mapping
from typing import Any, Final

from affidavit.web import operations

_CHECK: Final = {
    "id": "click-version",
    "tool": "software_version",
    "args": {"product": "click"},
    "expect": {"op": "semver_gte", "value": "8.0"},
}
_FOREIGN_RECEIPT: Final = {
    "schema": "answer/v1",
    "receipt_id": "ans_0000000000000000",
    "generated_at": "2026-01-31T14:30:00Z",
    "signature": {
        "alg": "Ed25519",
        "key_id": "af-ed25519-000000000000",
        "canonicalization": "json-sorted-compact",
        "sig": "AAAA",
    },
}

BODIES: Final[Mapping[str, Mapping[str, Any]]] = {
    operations.ANSWER.id: {
        "checks": {"checks": [_CHECK], "deadline_ms": 2000},
        "a question": {"question": "Which version of click is installed?"},
        "a bare list of checks": [{**_CHECK, "observe": True}],
    },
    operations.VERIFY.id: {"a receipt that does not hold": _FOREIGN_RECEIPT},
}
CODE: Final = "AF302"
