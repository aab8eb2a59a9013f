"""Feeds that query the server of tests/faulty_server.py."""

import time

from tests.faulty_server import Faulty

from affidavit.checks.facts import EvidenceSource
from affidavit.tools.allow_list import allow_list_from
from affidavit.tools.feed import SourceRequest
from affidavit.tools.http_feed import HttpFeed, HttpSourceClient
from affidavit.tools.observation_time import ObservationTime

ASKED_AT = "2026-01-31T14:30:00Z"
SOURCE = EvidenceSource("s", "o", "http")


def request(seconds: float = 5.0) -> SourceRequest:
    return SourceRequest(ASKED_AT, time.monotonic() + seconds)


def feed_to(url: str, allow: tuple[str, ...], max_bytes: int = 1_000_000) -> HttpFeed:
    return HttpFeed(
        SOURCE, url, {}, HttpSourceClient(allow_list_from(allow), max_bytes), ObservationTime()
    )


def feed_of(server: Faulty, **changes: int) -> HttpFeed:
    return feed_to(server.url(), (f"127.0.0.1:{server.port}",), **changes)
