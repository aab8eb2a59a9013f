"""Many clients of a service with a store: nine reads for each check, over persistent connections.

At a rate of 0, each client sends the next request as soon as it has an answer. Otherwise requests
are due at fixed times, and latency counts from the time at which a request was due.
"""

import asyncio
import json
import random
import time
from collections import Counter

from msgspec import Struct

CHECK_SHARE = 0.1
READS = ("/api/v1/sessions", "/api/v1/documents", "{session}", "{session}/ledger")


class Load(Struct, frozen=True):
    """What came of a load."""

    per_second: float
    statuses: dict[int, int]
    read_p50_ms: float
    read_p99_ms: float


class Client:
    """A client with a key and a connection of its own."""

    def __init__(self, port: int, session: str, key: str, seed: int) -> None:
        self._port = port
        self._session = f"/api/v1/sessions/{session}"
        self._key = key
        self._dice = random.Random(seed)
        self.statuses: Counter[int] = Counter()
        self.reads: list[float] = []

    async def open(self) -> None:
        """Connect."""
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)

    async def one(self, due: float) -> None:
        """Send the next request and read the answer."""
        is_check = self._dice.random() < CHECK_SHARE
        if is_check:
            days = self._dice.randrange(5, 40)
            answer = f"Employees get {days} days of annual leave."
            body = json.dumps({"answer": answer, "judge": "lexical"}).encode()
            target, method = "/api/v1/sessions", "POST"
        else:
            body, method = b"", "GET"
            target = self._dice.choice(READS).format(session=self._session)
        head = (
            f"{method} {target} HTTP/1.1\r\nhost: 127.0.0.1:{self._port}\r\n"
            f"authorization: Bearer {self._key}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\n\r\n"
        )
        self._writer.write(head.encode() + body)
        status = await self._answered()
        self.statuses[status] += 1
        if not is_check:
            self.reads.append(time.perf_counter() - due)

    async def _answered(self) -> int:
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
        await self._reader.readexactly(int(length))
        return int(head[9:12])


async def load(
    port: int, session: str, keys: list[str], count: int, seconds: float, rate: float
) -> Load:
    """Put a load on a service and return what came of it."""
    clients = [Client(port, session, keys[at % len(keys)], at) for at in range(count)]
    for client in clients:
        await client.open()
    start = time.perf_counter()
    until = start + seconds

    async def drive(client: Client, offset: int) -> None:
        # Each client sends its share; one that is late sends at once, and its lateness counts.
        step = count / rate if rate else 0.0
        due = start + offset * step / count
        while (due if rate else time.perf_counter()) < until:
            await asyncio.sleep(max(0.0, due - time.perf_counter()) if rate else 0.0)
            await client.one(due if rate else time.perf_counter())
            due += step

    await asyncio.gather(*(drive(client, at) for at, client in enumerate(clients)))
    took = time.perf_counter() - start
    statuses: Counter[int] = Counter()
    for client in clients:
        statuses.update(client.statuses)
    reads = sorted(wait for client in clients for wait in client.reads)
    return Load(
        per_second=statuses.total() / took,
        statuses=dict(statuses),
        read_p50_ms=reads[len(reads) // 2] * 1000,
        read_p99_ms=reads[int(len(reads) * 0.99)] * 1000,
    )
