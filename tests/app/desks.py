"""A desk that answers in tests: tools that say what they are told to, and a clock that stands."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.checks.making import AT, ROUTES

from affidavit.app.answering import Desk
from affidavit.app.asking import AskedSource, Toolbox, ToolFeeds
from affidavit.checks.facts import Source
from affidavit.checks.routes import routes_from_wire
from affidavit.checks.tools import Tool
from affidavit.sources.feeds.feed import Args, Errand, Reply, Silence, SilentError


@dataclass
class TalkingFeed:
    """Says one thing; or nothing (`raw` is None); or hangs until the test is over."""

    raw: Any
    origin: str = "example.org"
    hangs: bool = False
    asked: list[Args] = field(default_factory=list)

    @property
    def source(self) -> Source:
        return Source(self.origin, self.origin, "file")

    def ask(self, args: Args, errand: Errand) -> Reply:
        self.asked.append(args)
        if self.hangs:
            threading.Event().wait(5)
        if self.raw is None:
            raise SilentError(Silence.UNREACHABLE, "nobody is there")
        return Reply(self.raw, errand.asked_at)


def toolbox(feeds: Mapping[str, TalkingFeed]) -> Toolbox:
    """Tools that need a `product`, by name."""
    return Toolbox(
        {
            name: ToolFeeds(
                Tool(name, ("product",), "results.0.latest_version", max_age_s=60),
                (AskedSource(feed),),
            )
            for name, feed in feeds.items()
        }
    )


def desk(**feeds: TalkingFeed) -> Desk:
    """A desk with these tools, and the routes of the tests of checks."""
    return Desk("example.com", toolbox(feeds), routes_from_wire(ROUTES), lambda: AT)
