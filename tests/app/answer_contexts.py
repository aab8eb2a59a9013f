"""Contexts for answers in tests: tools with constant results, and a fixed clock."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.checks.builders import AT, ROUTES

from affidavit.app.answer import AnswerContext
from affidavit.app.tool_queries import ToolSet, ToolSource, ToolWithSources
from affidavit.checks.facts import EvidenceSource, SourceAnswer, Tool
from affidavit.checks.routes import routes_from_wire
from affidavit.tools.feed import (
    CheckArguments,
    FailureReason,
    SourceFailedError,
    SourceRequest,
)


@dataclass
class ConstantFeed:
    """Returns `raw`, fails if it is None, or hangs."""

    raw: Any
    origin: str = "example.org"
    hangs: bool = False
    asked: list[CheckArguments] = field(default_factory=list)

    @property
    def source(self) -> EvidenceSource:
        return EvidenceSource(self.origin, self.origin, "file")

    def ask(self, args: CheckArguments, request: SourceRequest) -> SourceAnswer:
        self.asked.append(args)
        if self.hangs:
            threading.Event().wait(5)
        if self.raw is None:
            raise SourceFailedError(FailureReason.UNREACHABLE, "nobody is there")
        return SourceAnswer(self.source, self.raw, request.asked_at)


def toolbox(feeds: Mapping[str, ConstantFeed]) -> ToolSet:
    """Tools that need a `product`, by name."""
    return ToolSet(
        {
            name: ToolWithSources(
                Tool(
                    name=name,
                    required_args=("product",),
                    value_path="results.0.latest_version",
                    max_age_s=60,
                ),
                (ToolSource(feed),),
            )
            for name, feed in feeds.items()
        }
    )


def answer_context(**feeds: ConstantFeed) -> AnswerContext:
    """Return a context with these tools and the routes of the tests of checks."""
    return AnswerContext(
        issuer="example.com",
        toolbox=toolbox(feeds),
        routes=routes_from_wire(ROUTES),
        now=lambda: AT,
    )
