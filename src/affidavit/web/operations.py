"""The closed table of what the service does; routes, guards and OpenAPI are made from it."""

from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, Literal

from affidavit.base.errors import Fault
from affidavit.base.faults import service
from affidavit.seal.keys import RegistryV1
from affidavit.store.api_keys import ApiKeyScope
from affidavit.web import schemas
from affidavit.web.problems import STATUSES

JSON: Final = "application/json"

_UNREADABLE_STATUSES: Final = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)
_BODY_FAULTS: Final = (
    *(fault for fault, status in STATUSES.items() if status in _UNREADABLE_STATUSES),
    service.BODY_TOO_LARGE,
    service.BODY_LATE,
    service.NOT_JSON,
    service.BUSY,
)


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that can be asked for, and all that can come of it.

    `takes` and `gives` are the types that a body may have.
    """

    id: str
    method: Literal["GET", "POST"]
    path: str
    summary: str
    gives: tuple[object, ...]
    scope: ApiKeyScope | None = None
    takes: tuple[object, ...] = ()
    max_age_seconds: int = 0
    faults: tuple[Fault, ...] = (service.NOT_READY,)
    limited: bool = True

    def all_faults(self, *, anonymous: bool) -> Iterator[Fault]:
        """Yield every fault that a caller may meet, those of the door first."""
        if self.limited:
            yield service.TOO_OFTEN
        if self.scope is not None:
            yield service.KEY_NEEDED
            yield service.SCOPE_NEEDED
            if anonymous:
                yield service.WRONG_HOST
        if self.takes:
            yield from _BODY_FAULTS
        yield from self.faults


ANSWER: Final = Operation(
    "answer",
    "POST",
    "/v1/answer",
    "Evaluate checks, or a question, and sign a receipt.",
    (schemas.AnswerReceiptV1, schemas.RefusalReceiptV1),
    ApiKeyScope.ANSWER,
    (schemas.ChecksRequestV1, schemas.QuestionRequestV1, schemas.Checks),
)
COVERAGE: Final = Operation(
    "coverage",
    "GET",
    "/v1/answer",
    "Tell what can be asked: tools, operators, routes.",
    (schemas.CoverageV1,),
    ApiKeyScope.READ,
)
VERIFY: Final = Operation(
    "verify",
    "POST",
    "/v1/verify",
    "Verify a receipt in five numbered steps, with the keys that this service trusts.",
    (schemas.VerificationReportV1,),
    ApiKeyScope.VERIFY,
    (schemas.ReceiptV1,),
)
KEYS: Final = Operation(
    "keys",
    "GET",
    "/.well-known/keys",
    "Tell the public keys by id, for those who verify.",
    (dict[str, str],),
    max_age_seconds=300,
)
REGISTRY: Final = Operation(
    "registry",
    "GET",
    "/.well-known/signing-key-registry.json",
    "Tell the lives of the keys: active, retired, compromised, and since when.",
    (RegistryV1,),
    max_age_seconds=300,
)
SCHEMA: Final = Operation(
    "schema",
    "GET",
    "/schema",
    "Tell all of this as an OpenAPI document.",
    (dict[str, Any],),
    faults=(),
)
PROBLEM: Final = Operation(
    "problem",
    "GET",
    "/problems/{code}",
    "Tell what the code of a problem stands for.",
    (schemas.FaultV1,),
    faults=(service.NO_SUCH_ADDRESS,),
)
HEALTH: Final = Operation(
    "health",
    "GET",
    "/healthz",
    "Tell that the process is alive.",
    (schemas.StatusV1,),
    faults=(),
    limited=False,
)
READINESS: Final = Operation(
    "readiness",
    "GET",
    "/readyz",
    "Tell whether receipts can be signed and verified now.",
    (schemas.StatusV1,),
    limited=False,
)

OPERATIONS: Final = (
    ANSWER,
    COVERAGE,
    VERIFY,
    KEYS,
    REGISTRY,
    SCHEMA,
    PROBLEM,
    HEALTH,
    READINESS,
)
UNLIMITED_PATHS: Final = frozenset(each.path for each in OPERATIONS if not each.limited)


def methods_at(path: str) -> tuple[str, ...]:
    """Return the methods that an address takes; where there is GET there is HEAD."""
    found = [each.method for each in OPERATIONS if _is_at(each.path, path.rstrip("/"))]
    return tuple(sorted({*found, "HEAD"} if "GET" in found else found))


def _is_at(pattern: str, path: str) -> bool:
    fixed, slot, _ = pattern.partition("{")
    rest = path.removeprefix(fixed)
    return (path.startswith(fixed) and rest != "" and "/" not in rest) if slot else path == pattern
