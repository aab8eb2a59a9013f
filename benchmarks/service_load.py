"""Sends requests to a service, as fast as it answers or at a steady rate, and measures latency.

    python -m benchmarks.service_load PORT PATH BODY_FILE SECONDS CONNECTIONS RATE

It is a process of its own, with persistent connections. At a rate of 0, each connection sends the
next request as soon as it has an answer. Otherwise requests are due at fixed times, and latency
counts from the time at which a request was due, so that waiting for a connection counts, too.
"""

import asyncio
import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

WARM_UP_SECONDS = 1.0


class Sample(NamedTuple):
    """One answer: its status, when the request was due, and when the answer was complete."""

    status: int
    due: float
    done: float


class Connection:
    """A persistent connection."""

    def __init__(self, port: int, request: bytes) -> None:
        self._port = port
        self._request = request

    async def open(self) -> None:
        """Connect."""
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)

    async def send(self) -> int:
        """Send the request, read the whole answer, return its status."""
        self._writer.write(self._request)
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
        await self._reader.readexactly(int(length))
        return int(head[9:12])


async def send_at_once(connection: Connection, until: float) -> list[Sample]:
    """Send the next request after each answer."""
    samples = []
    while (due := time.perf_counter()) < until:
        samples.append(Sample(await connection.send(), due, time.perf_counter()))
    return samples


async def send_at_rate(
    connections: list[Connection], rate: float, start: float, until: float
) -> list[Sample]:
    """Send requests at fixed times, on any free connection."""
    free: asyncio.Queue[Connection] = asyncio.Queue()
    for connection in connections:
        free.put_nowait(connection)
    samples: list[Sample] = []

    async def one(due: float) -> None:
        connection = await free.get()
        samples.append(Sample(await connection.send(), due, time.perf_counter()))
        free.put_nowait(connection)

    async with asyncio.TaskGroup() as group:
        for number in range(int((until - start) * rate)):
            due = start + number / rate
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            group.create_task(one(due))
    return samples


async def load(
    port: int, request: bytes, seconds: float, count: int, rate: float
) -> dict[str, object]:
    """Return the figures of one run. Answers during the warm-up do not count."""
    connections = [Connection(port, request) for _ in range(count)]
    for connection in connections:
        await connection.open()
    start = time.perf_counter()
    until = start + WARM_UP_SECONDS + seconds
    if rate:
        samples = await send_at_rate(connections, rate, start, until)
    else:
        runs = (send_at_once(connection, until) for connection in connections)
        samples = [one for run in await asyncio.gather(*runs) for one in run]
    counted = [one for one in samples if one.due >= start + WARM_UP_SECONDS]
    if not counted:
        raise SystemExit("no request after the warm-up was answered")
    waits = sorted(one.done - one.due for one in counted)
    return {
        "all": len(samples),
        "statuses": Counter(one.status for one in samples),
        "per_second": len(counted) / seconds,
        "p50_ms": waits[len(waits) // 2] * 1000,
        "p99_ms": waits[int(len(waits) * 0.99)] * 1000,
    }


def main(arguments: list[str]) -> None:
    """Run, and print the figures as JSON."""
    port, path, body_file, seconds, count, rate = arguments
    body = Path(body_file).read_bytes()
    head = (
        f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\n\r\n"
    )
    request = head.encode() + body
    print(
        json.dumps(asyncio.run(load(int(port), request, float(seconds), int(count), float(rate))))
    )


if __name__ == "__main__":
    main(sys.argv[1:])
