"""The convention table: GenAI and MCP attributes, spans and events, and names of other dialects.

Origin: OpenTelemetry's semantic-conventions-genai, of which there is no release. The table is one
data file, `data/genai_conventions.json`, with the schema address and the day of the snapshot that
it was made from. An update changes that file only.
"""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final, Literal

import msgspec
from msgspec import Struct

Level = Literal["required", "conditional", "recommended", "opt_in"]
AttributeType = Literal["string", "int", "double", "boolean", "string[]", "any"]


class AttributeConvention(Struct, frozen=True, forbid_unknown_fields=True):
    """An attribute: its type, and its values if they are a closed list that users may extend."""

    type: AttributeType
    members: tuple[str, ...] = ()


class SpanConvention(Struct, frozen=True, forbid_unknown_fields=True):
    """A type of span: its kind, the attributes that its name is made of, and all its attributes."""

    kind: Literal["client", "server", "internal"]
    name: tuple[str, ...]
    attributes: Mapping[str, Level]


class LogConvention(Struct, frozen=True, forbid_unknown_fields=True):
    """A type of event, which is sent as a log record."""

    attributes: Mapping[str, Level]


class Dialect(Struct, frozen=True, forbid_unknown_fields=True):
    """The names that another convention has for attributes of this one.

    `marker` is the attribute by which its spans are known, and `kinds` maps its values to
    operations. `parameters` and `usage` name attributes that hold a JSON object.
    """

    renamed: Mapping[str, str]
    marker: str | None = None
    kinds: Mapping[str, str] = {}
    parameters: str | None = None
    usage: str | None = None


class Conventions(Struct, frozen=True, forbid_unknown_fields=True):
    """The whole table. `content` are the attributes that hold what was asked and answered."""

    conventions: str
    schema_url: str
    registry: str
    snapshot: str
    stability: str
    attributes: Mapping[str, AttributeConvention]
    spans: Mapping[str, SpanConvention]
    events: Mapping[str, LogConvention]
    content: tuple[str, ...]
    dialects: Mapping[str, Dialect]
    providers: Mapping[str, str]
    parameters: Mapping[str, str]
    usage: Mapping[str, str]

    def target(self) -> dict[str, str]:
        """Return what identifies the version, for reports."""
        return {
            "conventions": self.conventions,
            "schema_url": self.schema_url,
            "registry": self.registry,
            "snapshot": self.snapshot,
            "stability": self.stability,
        }


@cache
def conventions() -> Conventions:
    """Return the table."""
    raw = (files(__package__) / "data" / "genai_conventions.json").read_bytes()
    return msgspec.json.decode(raw, type=Conventions)


@cache
def required_of(span_type: str) -> tuple[str, ...]:
    """Return the attributes that every span of a type must have."""
    levels = conventions().spans[span_type].attributes
    return tuple(name for name, level in levels.items() if level == "required")


OPERATION: Final = "gen_ai.operation.name"
INFERENCE: Final = "gen_ai.inference.client"
EMBEDDINGS: Final = "gen_ai.embeddings.client"
RETRIEVAL: Final = "gen_ai.retrieval.client"
EXECUTE_TOOL: Final = "gen_ai.execute_tool.internal"
INVOKE_AGENT: Final = "gen_ai.invoke_agent.internal"
INVOKE_WORKFLOW: Final = "gen_ai.invoke_workflow.internal"
MCP_CLIENT: Final = "mcp.client"
EVALUATION: Final = "gen_ai.evaluation.result"

_BY_OPERATION: Final = {
    "embeddings": EMBEDDINGS,
    "retrieval": RETRIEVAL,
    "execute_tool": EXECUTE_TOOL,
    "invoke_agent": INVOKE_AGENT,
    "invoke_workflow": INVOKE_WORKFLOW,
    "create_agent": "gen_ai.create_agent.client",
    "plan": "gen_ai.plan.internal",
}
MODEL_OPERATIONS: Final = ("chat", "generate_content", "text_completion", "embeddings")


def span_type_of(attributes: Mapping[str, object]) -> str | None:
    """Return the type of a span by its operation; None if it is not of these conventions."""
    operation = attributes.get(OPERATION)
    if isinstance(operation, str):
        return _BY_OPERATION.get(operation, INFERENCE if operation in MODEL_OPERATIONS else None)
    return MCP_CLIENT if "mcp.method.name" in attributes else None
