"""One POST to a time stamp authority (RFC 3161, section 3.4), which the user has named.

Bounded in time and size; no redirect is followed, no proxy of the environment used. The request
holds a digest and nothing else, so it may go over http: a token is signed by itself.
"""

import ssl
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Final
from urllib.parse import SplitResult, urlsplit

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import answers as faults
from affidavit.base.places import excerpt

TIMEOUT_SECONDS: Final = 10.0
MAX_RESPONSE_BYTES: Final = 1024 * 1024
REQUEST_TYPE: Final = "application/timestamp-query"


def require_authority(url: str) -> None:
    """Raise unless the address is one that can be asked."""
    _parts(url)


def ask_authority(url: str, request: bytes, timeout_seconds: float = TIMEOUT_SECONDS) -> bytes:
    """Return what the authority answers, or raise why it does not.

    The work is done by a thread that is left behind when its time is over: a name server that
    does not answer cannot be interrupted.
    """
    parts = _parts(url)
    done: SimpleQueue[bytes | str] = SimpleQueue()
    work = partial(_run, parts, request, timeout_seconds, done)
    Thread(target=work, name="affidavit-stamp", daemon=True).start()
    try:
        answer = done.get(timeout=timeout_seconds)
    except Empty:
        raise _problem(url, f"no answer within {timeout_seconds:g} s") from None
    if isinstance(answer, str):
        raise _problem(url, answer)
    return answer


def _run(
    parts: SplitResult, request: bytes, timeout: float, done: "SimpleQueue[bytes | str]"
) -> None:
    try:
        done.put(_posted(parts, request, timeout))
    except TimeoutError:
        done.put("it did not answer in time")
    except ssl.SSLCertVerificationError as error:
        done.put(f"its certificate does not hold: {error.verify_message}")
    except OSError as error:
        done.put((error.strerror or type(error).__name__).lower())
    except (HTTPException, ValueError):
        done.put("it does not speak HTTP as it should")


def _posted(parts: SplitResult, request: bytes, timeout: float) -> bytes | str:
    host = str(parts.hostname)
    connection: HTTPConnection
    if parts.scheme == "https":
        context = ssl.create_default_context()
        connection = HTTPSConnection(host, parts.port, timeout=timeout, context=context)
    else:
        connection = HTTPConnection(host, parts.port, timeout=timeout)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        connection.request("POST", target, request, {"Content-Type": REQUEST_TYPE})
        response = connection.getresponse()
        if response.status != 200:
            return f"HTTP {response.status}"
        body = response.read(MAX_RESPONSE_BYTES + 1)
    finally:
        connection.close()
    if len(body) > MAX_RESPONSE_BYTES:
        return f"its answer has more than {MAX_RESPONSE_BYTES} bytes"
    return body


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        is_clean = url.isascii() and url.isprintable() and " " not in url and parts.port != 0
    except ValueError:
        raise _no_address("it cannot be read") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or not is_clean:
        raise _no_address(f"{excerpt(url)!r} is not http:// or https:// with a host")
    if parts.username is not None or parts.password is not None:
        raise _no_address("it must not hold a user or a password")
    return parts


def _no_address(problem: str) -> AffidavitError:
    return AffidavitError(faults.STAMP_ADDRESS, problem=problem)


def _problem(url: str, problem: str) -> AffidavitError:
    return AffidavitError(faults.STAMP_UNAVAILABLE, url=excerpt(url), problem=problem)
