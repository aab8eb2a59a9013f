"""A tool as the checks see it: the arguments that it needs, and how its result is read.

How a tool is queried (files, SQL, HTTP, MCP) is defined in the package `tools`.
"""

from collections.abc import Mapping
from typing import Annotated

import msgspec

from affidavit.base.json_values import JsonValue

NonNegativeNumber = Annotated[int, msgspec.Meta(ge=0)] | Annotated[float, msgspec.Meta(ge=0)]


class Tolerance(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """How far two sources may differ and still agree.

    Either `abs`, in units, or `pct`, in per cent of the first.
    """

    abs: NonNegativeNumber | None = None
    pct: NonNegativeNumber | None = None

    def __post_init__(self) -> None:
        """Require exactly one of the two."""
        if (self.abs is None) is (self.pct is None):
            raise ValueError("a tolerance has either abs or pct")


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """A declared tool. `value_path` leads to the primary value; None is the whole result."""

    name: str
    required_args: tuple[str, ...] = ()
    value_path: str | None = None
    unit: str | None = None
    licence: str | None = None
    max_age_s: int | float | None = None
    """The age up to which evidence is fresh. Without one, no evidence is fresh."""
    tolerance: Tolerance | None = None
    description: str = ""


def missing_args(required: tuple[str, ...], args: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """Return the required arguments that are absent, null or blank.

    Origin: answer-eval.md, section 1: silent defaults are banned. A feed that gets nothing, or a
    blank, would fill in its own default.
    """
    return tuple(name for name in required if _is_blank(args.get(name)))


def _is_blank(value: JsonValue) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())
