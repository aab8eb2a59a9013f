"""A tool as the checks know it: what it must be given, and how its result is read.

How a tool is asked (files, SQL, HTTP, MCP) is the business of `sources`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from affidavit.base.json_values import JsonValue


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far two sources may be apart and still agree: in units, or in per cent of the first."""

    size: float
    is_percentage: bool = False


class Tool(msgspec.Struct, frozen=True):
    """A declared tool. `value_path` leads to the primary value; None is the whole result.

    A Struct, like all that is made again for each receipt: frozen dataclasses cost far more.
    """

    name: str
    required_args: tuple[str, ...] = ()
    value_path: str | None = None
    unit: str | None = None
    licence: str | None = None
    max_age_s: int | float | None = None
    """How old evidence may be and still be fresh; None: nothing is fresh, since none was named."""
    tolerance: Tolerance | None = None
    description: str = ""


def missing_args(required: tuple[str, ...], args: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """Return the required arguments that are absent, null or blank.

    Origin: answer-eval.md, section 1: silent defaults are banned. A feed that was handed nothing
    would fill in its own default, and so does one that was handed a blank.
    """
    return tuple(name for name in required if _is_blank(args.get(name)))


def _is_blank(value: JsonValue) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())
