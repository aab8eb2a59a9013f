"""One POST to a time stamp authority (RFC 3161, section 3.4), which the user has named.

The request holds a digest and nothing else, so it may go over http: a token is signed by itself.
"""

from typing import Final
from urllib.parse import SplitResult

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import answers as faults
from affidavit.base.places import excerpt
from affidavit.http.address import Flaw, address_from
from affidavit.http.exchange import posted
from affidavit.http.outcome import NoAnswer, Trouble
from affidavit.http.patience import Deadline

TIMEOUT_SECONDS: Final = 10.0
MAX_RESPONSE_BYTES: Final = 1024 * 1024
REQUEST_TYPE: Final = "application/timestamp-query"


def require_authority(url: str) -> None:
    """Raise unless the address is one that can be asked."""
    _address_of(url)


def ask_authority(url: str, request: bytes, timeout_seconds: float = TIMEOUT_SECONDS) -> bytes:
    """Return what the authority answers, or raise why it does not."""
    answer = posted(
        _address_of(url),
        {"Content-Type": REQUEST_TYPE},
        request,
        Deadline(timeout_seconds),
        max_bytes=MAX_RESPONSE_BYTES,
        read=(200,),
    )
    if isinstance(answer, NoAnswer):
        raise _problem(url, _words_for(answer, timeout_seconds))
    if answer.status != 200:
        raise _problem(url, f"HTTP {answer.status}")
    return answer.body


def _words_for(failure: NoAnswer, timeout_seconds: float) -> str:
    match failure.trouble:
        case Trouble.LATE:
            return f"no answer within {timeout_seconds:g} s"
        case Trouble.CERTIFICATE:
            return f"its certificate does not hold: {failure.detail}"
        case Trouble.TOO_LONG:
            return f"its answer has more than {MAX_RESPONSE_BYTES} bytes"
        case Trouble.CUT:
            return "its answer broke off"
        case Trouble.NOT_HTTP:
            return "it does not speak HTTP as it should"
        case _:
            return failure.detail.lower()


def _address_of(url: str) -> SplitResult:
    address = address_from(url)
    if isinstance(address, SplitResult):
        return address
    problems = {
        Flaw.UNREADABLE: "it cannot be read",
        Flaw.UNUSABLE: f"{excerpt(url)!r} is not http:// or https:// with a host",
        Flaw.HAS_USER: "it must not hold a user or a password",
    }
    raise AffidavitError(faults.STAMP_ADDRESS, problem=problems[address])


def _problem(url: str, problem: str) -> AffidavitError:
    return AffidavitError(faults.STAMP_UNAVAILABLE, url=excerpt(url), problem=problem)
