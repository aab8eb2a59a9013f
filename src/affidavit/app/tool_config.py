"""Builds the tools that a config file declares: the tables `[tools.NAME]` of TOML, or YAML.

Every error in a declaration is found here, before any source is queried: an unknown field, a slot
without its argument, a host that is not allowed. Other tables of the file are ignored.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from affidavit.app.tool_queries import ToolSet, ToolSource, ToolWithSources
from affidavit.base.canonical import sorted_compact
from affidavit.base.config import YAML_SUFFIXES, ConfigDocument, ConfigFaults, read_config
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import receipts as faults
from affidavit.base.files import FilePath
from affidavit.base.http_address import origin_of
from affidavit.base.validation import join_field
from affidavit.checks.facts import Tolerance, Tool
from affidavit.checks.values import find_path_problem
from affidavit.tools import settings as kinds
from affidavit.tools.allow_list import AllowList, allow_list_from
from affidavit.tools.feed import SourceFailedError
from affidavit.tools.feed_factory import FeedContext, build_feed
from affidavit.tools.file_feed import FILE_FORMATS
from affidavit.tools.http_feed import fetchable_address
from affidavit.tools.settings import (
    Identifier,
    ToolSettings,
    find_placeholder_problem,
    placeholders_in,
)


def validate_source(
    source: kinds.SourceSettings, required: tuple[str, ...], allowed: AllowList
) -> None:
    """Raise the first error in a well-formed source, with the field within the source."""
    path = source.observed_at_path
    if path is not None and (problem := find_path_problem(path)):
        raise field_error("observed_at_path", problem)
    if rule := _RULES.get(type(source)):
        rule(source, required, allowed)


def field_error(field: str, problem: str) -> AffidavitError:
    """Return the error of an invalid field."""
    return AffidavitError(faults.TOOLS_FIELD, Where(field=field), problem=problem)


def _file(source: kinds.FileSource, required: tuple[str, ...], _: AllowList) -> None:
    if source.format is None and Path(source.path).suffix.lower() not in FILE_FORMATS:
        problem = f"the name {source.path!r} does not tell the format: json, csv or yaml"
        raise field_error("format", problem)
    _require_slots("path", source.path, required)
    _require_slots("select", list(source.select), required)
    _require_slots("where", source.where, required)


def _sql(source: kinds.SqlSource, required: tuple[str, ...], _: AllowList) -> None:
    _require_database(source)
    _require_slots("params", [f"{{{name}}}" for name in source.params], required)


def _queries(source: kinds.QueriesSource, required: tuple[str, ...], _: AllowList) -> None:
    _require_database(source)


def _http(source: kinds.HttpSource, required: tuple[str, ...], allowed: AllowList) -> None:
    _require_url(source.url, required, allowed)
    texts = [text for text in source.query.values() if isinstance(text, str)]
    _require_slots("query", texts, required)


def _index(source: kinds.IndexSource, required: tuple[str, ...], allowed: AllowList) -> None:
    _require_url(source.url, required, allowed)


def _any_url(source: kinds.AnyUrlSource, required: tuple[str, ...], allowed: AllowList) -> None:
    if not allowed.entries:
        raise field_error("kind", "without allow_hosts no address could be asked")


def _mcp(source: kinds.McpSource, required: tuple[str, ...], allowed: AllowList) -> None:
    if (source.command is None) is (source.url is None) or source.command == ():
        raise field_error("command", "an MCP server needs either a command or a url")
    if source.url is not None:
        _require_url(source.url, (), allowed)
    _require_slots("arguments", source.arguments, required)


def _require_database(source: kinds.SqlSource | kinds.QueriesSource) -> None:
    if (source.sqlite is None) is (source.postgres is None):
        raise field_error("sqlite", "a query needs either sqlite or postgres")


def _require_url(url: str, required: tuple[str, ...], allowed: AllowList) -> None:
    if "{" in urlsplit(url).netloc:
        raise field_error("url", "a slot may stand in the path and the query only")
    try:
        allowed.require_host(origin_of(fetchable_address(url)))
    except SourceFailedError as error:
        raise field_error("url", str(error).partition(": ")[2]) from None
    _require_slots("url", url, required)


def _require_slots(field: str, setting: Any, required: tuple[str, ...]) -> None:
    if problem := find_placeholder_problem(setting, required):
        raise field_error(field, problem)


_RULES: Final[Mapping[type, Callable[[Any, tuple[str, ...], AllowList], None]]] = {
    kinds.FileSource: _file,
    kinds.SqlSource: _sql,
    kinds.QueriesSource: _queries,
    kinds.HttpSource: _http,
    kinds.IndexSource: _index,
    kinds.AnyUrlSource: _any_url,
    kinds.McpSource: _mcp,
}


_ARGUMENTS: Final[Mapping[type, Callable[[Any], Iterable[str] | None]]] = {
    kinds.FileSource: lambda own: placeholders_in([own.path, *own.select, own.where]),
    kinds.FolderSource: lambda own: ("file", "key"),
    kinds.SqlSource: lambda own: own.params,
    kinds.QueriesSource: lambda own: (
        "query",
        *(n for q in own.queries.values() for n in q.params),
    ),
    kinds.HttpSource: lambda own: placeholders_in([own.url, *own.query.values()]),
    kinds.AnyUrlSource: lambda own: ("url",),
    kinds.McpSource: lambda own: own.arguments and placeholders_in(own.arguments),
    kinds.PythonSource: lambda own: None,
    kinds.InstalledSource: lambda own: ("product",),
    kinds.LockSource: lambda own: ("product",),
    kinds.IndexSource: lambda own: placeholders_in(own.url),
}
"""The arguments that each kind of source reads, or None if it is given all of them."""

_DAY_S: Final = 86_400.0

BUILT_IN: Final[Mapping[str, ToolSettings]] = {
    "software_version": ToolSettings(
        description="The version of a software product: installed, pinned or the latest",
        required_args=("product",),
        value_path="results.0.version",
        max_age_s=_DAY_S,
        sources=(kinds.InstalledSource(),),
    ),
    "file_fact": ToolSettings(
        description="What a JSON, CSV or YAML file of a folder says",
        required_args=("file",),
    ),
    "sql_fact": ToolSettings(
        description="What a query that is named in the settings finds",
        required_args=("query",),
    ),
    "http_json": ToolSettings(
        description="The JSON at an address on an allowed host",
        required_args=("url",),
        sources=(kinds.AnyUrlSource(),),
    ),
}
"""The built-in tools, whose settings are the defaults of `use`."""

BUILT_IN_ONLY: Final[Mapping[str, ToolSettings]] = {
    "software_version": ToolSettings(use="software_version"),
}
"""The tools without a config file."""


def tool_feeds(
    name: str, settings: ToolSettings, folder: Path, environment: Mapping[str, str]
) -> ToolWithSources:
    """Return the tool with its feeds, or raise the first error with the field within the tool."""
    complete = _with_defaults(settings)
    if not complete.sources:
        raise AffidavitError(
            faults.TOOL_SOURCES, Where(field="sources"), tool=name, problem="has no source"
        )
    tool = _tool(name, complete)
    allowed = _allowed(complete)
    context = FeedContext(folder, allowed, environment)
    names = _source_names(complete)
    sources = []
    for number, source in enumerate(complete.sources):
        try:
            validate_source(source, tool.required_args, allowed)
        except AffidavitError as error:
            place = f"sources[{number}].{error.where.field}"
            raise AffidavitError(error.fault, Where(field=place), **error.values) from None
        feed = build_feed(source, names[number], context)
        sources.append(ToolSource(feed, source.timeout_ms))
    return ToolWithSources(tool, tuple(sources))


def _with_defaults(settings: ToolSettings) -> ToolSettings:
    if settings.use is None:
        return settings
    default = BUILT_IN[settings.use]
    return msgspec.structs.replace(
        settings,
        description=settings.description or default.description,
        required_args=settings.required_args or default.required_args,
        value_path=settings.value_path or default.value_path,
        max_age_s=settings.max_age_s or default.max_age_s,
        sources=settings.sources or default.sources,
    )


def _tool(name: str, settings: ToolSettings) -> Tool:
    if settings.value_path is not None and (problem := find_path_problem(settings.value_path)):
        raise field_error("value_path", problem)
    required = settings.required_args or ()
    optional = _optional_args(settings, required)
    age, tolerance = settings.max_age_s, settings.tolerance
    if tolerance is not None:
        # Receipts have it as a float, however it is written in the config file.
        tolerance = (
            Tolerance(abs=float(tolerance.abs))
            if tolerance.abs is not None
            else Tolerance(pct=float(tolerance.pct or 0))
        )
    return Tool(
        name=name,
        required_args=required,
        optional_args=tuple(sorted(optional)),
        value_path=settings.value_path,
        unit=settings.unit,
        licence=settings.licence,
        max_age_s=int(age) if age is not None and age.is_integer() else age,
        tolerance=tolerance,
        description=settings.description or "",
    )


def _optional_args(settings: ToolSettings, required: tuple[str, ...]) -> set[str]:
    """Return the optional arguments: the declared ones, and those that a kind of source has.

    An argument that no source reads is refused: a receipt would say that it was asked.
    """
    used = [_ARGUMENTS[type(source)](source) for source in settings.sources]
    read = {name for names in used if names is not None for name in names}
    if all(names is not None for names in used):
        for field, names in (
            ("required_args", required),
            ("optional_args", settings.optional_args),
        ):
            for name in names:
                if name not in read:
                    raise field_error(field, f"no source reads the argument {name!r}")
    return (read | set(settings.optional_args)) - set(required)


def _allowed(settings: ToolSettings) -> AllowList:
    try:
        return allow_list_from(settings.allow_hosts)
    except ValueError as error:
        problem = f"{str(error)!r} is no host, address or network (without scheme and path)"
        raise field_error("allow_hosts", problem) from None


def _source_names(settings: ToolSettings) -> list[str]:
    kinds_seen: dict[str, int] = {}
    names = []
    for source in settings.sources:
        kind = str(source.__struct_config__.tag)
        kinds_seen[kind] = kinds_seen.get(kind, 0) + 1
        again = f"-{kinds_seen[kind]}" if kinds_seen[kind] > 1 else ""
        names.append(source.name or f"{kind}{again}")
    if len(set(names)) != len(names):
        raise field_error("sources", "two sources have the same name")
    return names


CONFIG_NAME: Final = "affidavit.toml"
_FAULTS: Final = ConfigFaults(faults.TOOLS_SYNTAX, faults.TOOLS_FIELD)


def load_tool_config(path: FilePath) -> ConfigDocument:
    """Read a config file, whose name has to end in .toml, .yaml or .yml."""
    if not str(path).lower().endswith((".toml", *YAML_SUFFIXES)):
        raise AffidavitError(faults.TOOLS_FORM, Where(file=str(path)))
    return read_config(path, _FAULTS)


def find_config(folder: Path) -> ConfigDocument | None:
    """Return the config file of a folder, if it exists and declares tools."""
    path = folder / CONFIG_NAME
    if not path.is_file():
        return None
    document = read_config(path, _FAULTS)
    return document if "tools" in document.value else None


def load_toolbox(config: ConfigDocument | None, environment: Mapping[str, str]) -> ToolSet:
    """Return the tools of a config file; without one there is only `software_version`."""
    if config is None:
        return toolbox_from(BUILT_IN_ONLY, Path(), environment)
    tools = _tools_of(config)
    try:
        return toolbox_from(tools, Path(config.file or "").parent, environment)
    except AffidavitError as error:
        raise config.locate(error) from None


def toolbox_from(
    tools: Mapping[str, ToolSettings], folder: Path, environment: Mapping[str, str]
) -> ToolSet:
    """Return the tools of decoded settings. Their paths are relative to `folder`."""
    built = {}
    for name, settings in tools.items():
        try:
            built[name] = tool_feeds(name, settings, folder, environment)
        except AffidavitError as error:
            place = join_field("tools", name, error.where.field or "")
            raise AffidavitError(error.fault, Where(field=place), **error.values) from None
    return ToolSet(built)


def _tools_of(config: ConfigDocument) -> dict[str, ToolSettings]:
    table = config.value.get("tools") if isinstance(config.value, dict) else None
    if not table:
        raise AffidavitError(faults.TOOLS_NONE, Where(file=config.file))
    if not isinstance(table, dict):
        raise config.error("tools are tables with a name each, [tools.NAME]", "tools")
    return {name: _tool_of(name, settings, config) for name, settings in table.items()}


def _tool_of(name: str, settings: Any, config: ConfigDocument) -> ToolSettings:
    place = f"tools.{name}"
    config.decode(Identifier, name, place)
    try:
        # TOML's dates and NaN have no JSON form, and settings are copied into requests and facts.
        sorted_compact(settings)
    except AffidavitError as error:
        raise config.error(error.message, join_field(place, error.where.field or "")) from None
    return config.decode(ToolSettings, settings, place)
