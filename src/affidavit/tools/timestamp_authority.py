"""One POST to a time stamp authority (RFC 3161, section 3.4).

The request only contains a digest and the token is signed, so plain http is acceptable.
"""

from typing import Final
from urllib.parse import SplitResult

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import receipts as faults
from affidavit.base.http_address import UrlProblem, parse_url
from affidavit.base.http_client import Deadline, FailureKind, HttpFailure, post
from affidavit.base.text import excerpt

TIMEOUT_SECONDS: Final = 10.0
MAX_RESPONSE_BYTES: Final = 1024 * 1024
REQUEST_TYPE: Final = "application/timestamp-query"


def require_authority_url(url: str) -> None:
    """Raise unless the URL is valid."""
    _address_of(url)


def request_token(url: str, request: bytes, timeout_seconds: float = TIMEOUT_SECONDS) -> bytes:
    """Return the response of the authority, or raise why there is none."""
    answer = post(
        _address_of(url),
        {"Content-Type": REQUEST_TYPE},
        request,
        Deadline(timeout_seconds),
        max_bytes=MAX_RESPONSE_BYTES,
        read=(200,),
    )
    if isinstance(answer, HttpFailure):
        raise _problem(url, _failure_text(answer, timeout_seconds))
    if answer.status != 200:
        raise _problem(url, f"HTTP {answer.status}")
    return answer.body


def _failure_text(failure: HttpFailure, timeout_seconds: float) -> str:
    match failure.kind:
        case FailureKind.LATE:
            return f"no answer within {timeout_seconds:g} s"
        case FailureKind.CERTIFICATE:
            return f"its certificate does not hold: {failure.detail}"
        case FailureKind.TOO_LONG:
            return f"its answer has more than {MAX_RESPONSE_BYTES} bytes"
        case FailureKind.CUT:
            return "its answer broke off"
        case FailureKind.NOT_HTTP:
            return "it does not speak HTTP as it should"
        case _:
            return failure.detail.lower()


def _address_of(url: str) -> SplitResult:
    address = parse_url(url)
    if isinstance(address, SplitResult):
        return address
    problems = {
        UrlProblem.UNREADABLE: "it cannot be read",
        UrlProblem.UNUSABLE: f"{excerpt(url)!r} is not http:// or https:// with a host",
        UrlProblem.HAS_USER: "it must not hold a user or a password",
    }
    raise AffidavitError(faults.STAMP_ADDRESS, problem=problems[address])


def _problem(url: str, problem: str) -> AffidavitError:
    return AffidavitError(faults.STAMP_UNAVAILABLE, url=excerpt(url), problem=problem)
