"""Reads the tools that a config file declares: the tables `[tools.NAME]` of TOML, or YAML.

Everything that can be wrong with a declaration is found here, before anything is asked: a field
that is not known, a slot without its argument, a host that is not allowed. Other tables of the
file belong to others and are left alone.
"""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from affidavit.app.asking import Toolbox
from affidavit.base.canonical import sorted_compact
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import feeds as faults
from affidavit.base.files import read_bounded
from affidavit.base.strict_yaml import yaml_document
from affidavit.checks.wire_places import joined_field, placed_problem
from affidavit.sources.feeds.settings import ToolV1, Word
from affidavit.wiring.source_rules import wrong_field
from affidavit.wiring.tools import BUILT_IN_ONLY, tool_feeds

CONFIG_NAME: Final = "affidavit.toml"
MAX_CONFIG_BYTES: Final = 1024 * 1024
_YAML: Final = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class _Declared:
    """A decoded config file, and where each of its fields stands."""

    value: Any
    line_of: Callable[[str], int | None]


def load_toolbox(path: str | None, environment: Mapping[str, str]) -> Toolbox:
    """Return the tools of a config file; without one there is only `software_version`."""
    if path is None:
        return toolbox_from(BUILT_IN_ONLY, Path(), environment)
    if not path.lower().endswith((".toml", *_YAML)):
        raise AffidavitError(faults.TOOLS_FORM, Where(file=path))
    raw = read_bounded(path, MAX_CONFIG_BYTES)
    try:
        declared = _yaml(raw) if path.lower().endswith(_YAML) else _toml(raw)
    except AffidavitError as error:
        raise error.at(file=path) from None
    try:
        return toolbox_from(_tools_of(declared.value), Path(path).parent, environment)
    except AffidavitError as error:
        field = error.where.field
        line = declared.line_of(field) if field else None
        raise error.at(file=path, line=line) from None


def find_config(folder: Path) -> str | None:
    """Return the config file of a folder, if it is there and declares tools."""
    path = folder / CONFIG_NAME
    if not path.is_file():
        return None
    value = _toml(read_bounded(path, MAX_CONFIG_BYTES)).value
    return str(path) if "tools" in value else None


def toolbox_from(
    tools: Mapping[str, ToolV1], folder: Path, environment: Mapping[str, str]
) -> Toolbox:
    """Return the tools of decoded settings; `folder` is where their files are."""
    made = {}
    for name, settings in tools.items():
        try:
            made[name] = tool_feeds(name, settings, folder, environment)
        except AffidavitError as error:
            place = joined_field("tools", name, error.where.field or "")
            raise AffidavitError(error.fault, Where(field=place), **error.values) from None
    return Toolbox(made)


def _tools_of(value: Any) -> dict[str, ToolV1]:
    table = value.get("tools") if isinstance(value, dict) else None
    if not table:
        raise AffidavitError(faults.TOOLS_NONE)
    if not isinstance(table, dict):
        raise wrong_field("tools", "tools are tables with a name each, [tools.NAME]")
    return {name: _tool_of(name, settings) for name, settings in table.items()}


def _tool_of(name: str, settings: Any) -> ToolV1:
    place = f"tools.{name}"
    try:
        msgspec.convert(name, Word)
        # Dates and NaN of TOML have no form in JSON, and settings go into requests and facts.
        sorted_compact(settings)
        return msgspec.convert(settings, ToolV1)
    except msgspec.ValidationError as error:
        problem, field = placed_problem(error)
        # msgspec does not say which key of a dict it means.
        raise wrong_field(joined_field(place, field.replace("[...]", "")), problem) from None
    except AffidavitError as error:
        raise wrong_field(joined_field(place, error.where.field or ""), error.message) from None


def _toml(raw: bytes) -> _Declared:
    try:
        value = tomllib.loads(raw.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        unread = isinstance(error, UnicodeDecodeError)
        problem = "the text is not UTF-8" if unread else str(error).rstrip(".")
        line = getattr(error, "lineno", None)
        raise AffidavitError(
            faults.TOOLS_SYNTAX, Where(line=line), kind="TOML", problem=problem
        ) from None
    return _Declared(value, lambda field: None)


def _yaml(raw: bytes) -> _Declared:
    document = yaml_document(raw)
    return _Declared(document.value, document.line_of)
