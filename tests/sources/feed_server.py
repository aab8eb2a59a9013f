"""Feeds that ask the server of tests/faulty_server.py."""

import time

from tests.faulty_server import Faulty

from affidavit.checks.facts import Source
from affidavit.sources.feeds.addresses import allow_list_from
from affidavit.sources.feeds.feed import Errand
from affidavit.sources.feeds.http_feed import Caller, HttpFeed
from affidavit.sources.feeds.observed import Timing

ASKED_AT = "2026-01-31T14:30:00Z"
SOURCE = Source("s", "o", "http")


def errand(seconds: float = 5.0) -> Errand:
    return Errand(ASKED_AT, time.monotonic() + seconds)


def feed_to(url: str, allow: tuple[str, ...], max_bytes: int = 1_000_000) -> HttpFeed:
    return HttpFeed(SOURCE, url, {}, Caller(allow_list_from(allow), max_bytes), Timing())


def feed_of(server: Faulty, **changes: int) -> HttpFeed:
    return feed_to(server.url(), (f"127.0.0.1:{server.port}",), **changes)
