"""Spans to send and to import, and the events of the bundles that they become."""

import json
from pathlib import Path
from typing import Any

from tests.seal.bundle_making import members_of, verified

from affidavit.base.exits import Exit
from affidavit.telemetry.spans import OtlpJson, TraceResource, TraceSpan

CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m-1"}
TRACE = "ab" * 16


def span(number: int, parent: int | None = None, trace: str = TRACE, **more: Any) -> TraceSpan:
    """Return a span with a number as its id."""
    return TraceSpan(
        trace_id=trace,
        span_id=f"{number:016x}",
        parent_id=None if parent is None else f"{parent:016x}",
        name=f"span {number}",
        start_ns=10**18 + number,
        end_ns=10**18 + number + 5,
        attributes=more or dict(CHAT),
    )


def body(*spans: TraceSpan, service: str = "shop") -> bytes:
    """Return spans as a request in JSON."""
    return OtlpJson(TraceResource({"service.name": service}), "1", "").traces(spans)


def events_of(bundle: Path) -> list[dict[str, Any]]:
    """Return the events of a bundle, which must verify."""
    raw = bundle.read_bytes()
    assert verified(raw).exit is Exit.YES
    return [json.loads(line) for line in members_of(raw)[1].splitlines()]


def spans_in(bundle: Path) -> set[str]:
    """Return the ids of the spans that a bundle holds."""
    return {one["data"]["span"]["span_id"] for one in events_of(bundle) if "span" in one["data"]}
