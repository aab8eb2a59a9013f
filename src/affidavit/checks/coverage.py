"""The coverage manifest: what can be asked, derived from the tools and the routes alone.

The format is that of published refusals (answer-coverage/v1). The T rules of docs/checks.md.
"""

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from affidavit.checks.check import MAX_CHECKS, MAX_EXPECTATIONS
from affidavit.checks.facts import Tool
from affidavit.checks.operators import OPERATORS
from affidavit.checks.routes import RouteTable
from affidavit.checks.values import MAX_PATH_DEPTH

_REFUSAL_CONTRACT: Final = (
    "A question that no route matches is refused with a signed outside_evidence_coverage receipt: "
    "nothing is guessed, paraphrased or looked up elsewhere."
)


class QuestionFamilyV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Questions of one kind that a route compiles."""

    route_id: str
    ask: list[str]
    say: list[str]
    tool: str


class CoveredToolV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tool that a check may name."""

    name: str
    required_args: list[str]
    description: str
    unit: str | None


class ChecksModeV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What checks may contain."""

    rule: str
    tools: list[CoveredToolV1]
    operators: list[str]
    max_checks: int
    max_expectations: int
    max_path_depth: int


class CoverageV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The coverage manifest: what can be asked here."""

    schema: Literal["answer-coverage/v1"]
    router_version: str
    router_sha256: str
    families: list[QuestionFamilyV1]
    not_covered: list[str]
    refusal_contract: str
    checks_mode: ChecksModeV1


def coverage_manifest(tools: Mapping[str, Tool], table: RouteTable) -> CoverageV1:
    """Return the manifest. A route whose tool is not declared is listed as not covered."""
    rows = [route.row for route in table.routes]
    undeclared = (
        f"route {row.id}: its tool {row.tool} is not declared"
        for row in rows
        if row.tool not in tools
    )
    return CoverageV1(
        schema="answer-coverage/v1",
        router_version="route/1",
        router_sha256=table.sha256,
        families=[
            QuestionFamilyV1(row.id, row.ask, row.say, row.tool)
            for row in rows
            if row.tool in tools
        ],
        not_covered=[*table.not_covered, *undeclared],
        refusal_contract=_REFUSAL_CONTRACT,
        checks_mode=ChecksModeV1(
            rule="answer-eval/1",
            tools=[
                CoveredToolV1(tool.name, list(tool.required_args), tool.description, tool.unit)
                for _, tool in sorted(tools.items())
            ],
            operators=list(OPERATORS),
            max_checks=MAX_CHECKS,
            max_expectations=MAX_EXPECTATIONS,
            max_path_depth=MAX_PATH_DEPTH,
        ),
    )
