"""Valid and invalid requests in a seeded order, sent to a real server: none may end in a defect.

python -m tests.web.mixed_requests http://127.0.0.1:8320 10000
"""

import http.client
import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from tests.web.service_client import CHECKS, JSON

TIMEOUT_SECONDS: Final = 30
PATHS: Final = (
    "/v1/answer",
    "/v1/verify",
    "/.well-known/keys",
    "/.well-known/signing-key-registry.json",
    "/schema",
    "/healthz",
    "/readyz",
    "/problems/AF024",
    "/problems/..%2f..%2fetc",
    "/nothing",
    "//v1/answer",
    "/v1/answer/",
    "/v1/%00",
    "/v1/answer?x=1&x=2",
)
METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW")
ODD: Final[tuple[object, ...]] = (
    None,
    True,
    0,
    -1,
    1e308,
    0.1,
    "",
    "a" * 5000,
    "\u0000",
    "\U0001f600",
    [],
    {},
    [[[]]],
    {"": {}},
)


@dataclass(frozen=True, slots=True)
class Sent:
    """A request as it is sent."""

    method: str
    path: str
    body: bytes
    headers: dict[str, str]


def requests(seed: int, count: int, receipt: bytes) -> Iterator[Sent]:
    """Yield `count` requests, the same ones for the same seed."""
    chance = random.Random(seed)
    kinds: tuple[Callable[[random.Random, bytes], Sent], ...] = (
        _good_answer,
        _changed_answer,
        _good_receipt,
        _cut_receipt,
        _changed_receipt,
        _noise,
        _wandering,
        _headers,
    )
    for _ in range(count):
        yield chance.choice(kinds)(chance, receipt)


def send_all(url: str, sent: Iterator[Sent]) -> Counter[int]:
    """Send them one after the other, and count each status; -1 is no response."""
    place = urlsplit(url).netloc
    statuses: Counter[int] = Counter()
    connection = http.client.HTTPConnection(place, timeout=TIMEOUT_SECONDS)
    for each in sent:
        try:
            connection.request(each.method, each.path, each.body, each.headers)
            reply = connection.getresponse()
            content = reply.read()
            statuses[reply.status] += 1
            if reply.status >= 400 and each.method != "HEAD" and content[:1] == b"{":
                assert json.loads(content)["status"] == reply.status
        except (TimeoutError, http.client.HTTPException, ConnectionError):
            # A server may close the connection if it answers before it has read the whole request.
            statuses[-1] += 1
            connection.close()
    connection.close()
    return statuses


def _good_answer(chance: random.Random, _: bytes) -> Sent:
    checks = chance.sample(CHECKS["checks"], chance.randint(1, len(CHECKS["checks"])))
    asked: object = chance.choice(
        (checks, {"checks": checks, "deadline_ms": 2000}, {"question": "is it so?"})
    )
    return Sent("POST", "/v1/answer", json.dumps(asked).encode(), JSON)


def _changed_answer(chance: random.Random, _: bytes) -> Sent:
    asked = json.loads(json.dumps(CHECKS))
    for _change_number in range(chance.randint(1, 3)):
        _change(chance, asked)
    return Sent("POST", "/v1/answer", json.dumps(asked).encode(), JSON)


def _good_receipt(_: random.Random, receipt: bytes) -> Sent:
    return Sent("POST", "/v1/verify", receipt, JSON)


def _cut_receipt(chance: random.Random, receipt: bytes) -> Sent:
    raw = bytearray(receipt)
    for _ in range(chance.randint(1, 4)):
        raw[chance.randrange(len(raw))] = chance.randrange(256)
    if chance.random() < 0.3:
        del raw[chance.randrange(len(raw)) :]
    return Sent("POST", "/v1/verify", bytes(raw), JSON)


def _changed_receipt(chance: random.Random, receipt: bytes) -> Sent:
    value = json.loads(receipt)
    for _ in range(chance.randint(1, 3)):
        _change(chance, value)
    return Sent("POST", "/v1/verify", json.dumps(value).encode(), JSON)


def _noise(chance: random.Random, _: bytes) -> Sent:
    raw = chance.choice(
        (
            chance.randbytes(chance.randrange(200)),
            b"[" * chance.randrange(1, 500),
            b'{"a":' * chance.randrange(1, 300),
            b'{"checks":[],"checks":[]}',
            b"[NaN]",
            b"[1e999]",
            b'"\\ud800"',
            "[1]".encode("utf-16"),
        )
    )
    return Sent("POST", chance.choice(PATHS[:2]), raw, JSON)


def _wandering(chance: random.Random, _: bytes) -> Sent:
    return Sent(chance.choice(METHODS), chance.choice(PATHS), b"", {})


def _headers(chance: random.Random, _: bytes) -> Sent:
    names = (
        ("content-type", "text/plain"),
        ("content-type", "application/json; charset=utf-16"),
        ("content-encoding", "gzip"),
        ("authorization", "Bearer afk_000000000000_" + "0" * 64),
        ("authorization", "Bearer"),
        ("x-request-id", "a" * 500),
        ("accept", "image/png"),
        ("host", "evil.example"),
        ("x-forwarded-for", "192.0.2.1"),
        ("cookie", "a=b; c"),
    )
    chosen = dict(chance.sample(names, 3))
    return Sent("POST", "/v1/answer", b'{"question":"a b"}', {**JSON, **chosen})


def _change(chance: random.Random, value: Any) -> None:
    """Replace a value of a document with an unusual one, or remove it."""
    while isinstance(value, dict | list) and value:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = chance.choice(keys)
        if chance.random() < 0.4 or not isinstance(value[key], dict | list) or not value[key]:
            if chance.random() < 0.3:
                del value[key]
            else:
                value[key] = deepcopy(chance.choice(ODD))
            return
        value = value[key]


def receipt_from(url: str) -> bytes:
    """Return a receipt that the server signs."""
    place = urlsplit(url).netloc
    with closing(http.client.HTTPConnection(place, timeout=TIMEOUT_SECONDS)) as connection:
        connection.request("POST", "/v1/answer", json.dumps(CHECKS).encode(), JSON)
        return connection.getresponse().read()


def main(url: str, count: int) -> int:
    """Send the requests, print the results, and fail if one was a defect."""
    statuses = send_all(url, requests(1, count, receipt_from(url)))
    shown = ", ".join(f"{status}: {number}" for status, number in sorted(statuses.items()))
    sys.stdout.write(f"{count} requests; {shown}\n")
    return int(any(status >= 500 for status in statuses) or statuses[-1] > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
