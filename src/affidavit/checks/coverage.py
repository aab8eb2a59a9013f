"""The coverage manifest: what can be asked, from the tools and the routes alone.

The shape is that of published refusals (answer-coverage/v1). The T rules of docs/checks.md.
"""

from collections.abc import Mapping
from typing import Any, Final

from affidavit.checks.check import MAX_CHECKS, MAX_EXPECTATIONS
from affidavit.checks.operators import OPERATORS
from affidavit.checks.routes import RouteTable
from affidavit.checks.tool import Tool
from affidavit.checks.values import MAX_PATH_DEPTH

COVERAGE_SCHEMA: Final = "answer-coverage/v1"
_REFUSAL_CONTRACT: Final = (
    "A question that no route matches is refused with a signed outside_evidence_coverage receipt: "
    "nothing is guessed, paraphrased or looked up elsewhere."
)


def coverage_manifest(tools: Mapping[str, Tool], table: RouteTable) -> dict[str, Any]:
    """Return the manifest. A route whose tool is not declared covers nothing, and is said to."""
    idle = [
        f"route {route.row.id}: its tool {route.row.tool} is not declared"
        for route in table.routes
        if route.row.tool not in tools
    ]
    return {
        "schema": COVERAGE_SCHEMA,
        "router_version": "route/1",
        "router_sha256": table.sha256,
        "families": [
            {
                "route_id": route.row.id,
                "ask": list(route.row.ask),
                "say": list(route.row.say),
                "tool": route.row.tool,
            }
            for route in table.routes
            if route.row.tool in tools
        ],
        "not_covered": [*table.not_covered, *idle],
        "refusal_contract": _REFUSAL_CONTRACT,
        "checks_mode": {
            "rule": "answer-eval/1",
            "tools": [_tool_entry(tools[name]) for name in sorted(tools)],
            "operators": list(OPERATORS),
            "max_checks": MAX_CHECKS,
            "max_expectations": MAX_EXPECTATIONS,
            "max_path_depth": MAX_PATH_DEPTH,
        },
    }


def _tool_entry(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "required_args": list(tool.required_args),
        "description": tool.description,
        "unit": tool.unit,
    }
