"""A declared tool becomes one that can be asked: its defaults, its sources, and what is refused."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from affidavit.app.asking import AskedSource, ToolFeeds
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import feeds as faults
from affidavit.checks.paths import find_path_problem
from affidavit.checks.tools import Tolerance, Tool
from affidavit.sources.feeds import settings as kinds
from affidavit.sources.feeds.addresses import AllowList, allow_list_from
from affidavit.sources.feeds.making import Surroundings, feed_from
from affidavit.sources.feeds.settings import ToleranceV1, ToolV1
from affidavit.wiring.source_rules import require_sense, wrong_field

_DAY_S: Final = 86_400.0

BUILT_IN: Final[Mapping[str, ToolV1]] = {
    "software_version": ToolV1(
        description="The version of a software product: installed, pinned or the latest",
        required_args=("product",),
        value_path="results.0.version",
        max_age_s=_DAY_S,
        sources=(kinds.InstalledV1(),),
    ),
    "file_fact": ToolV1(
        description="What a JSON, CSV or YAML file of a folder says",
        required_args=("file",),
    ),
    "sql_fact": ToolV1(
        description="What a query that is named in the settings finds",
        required_args=("query",),
    ),
    "http_json": ToolV1(
        description="The JSON at an address on an allowed host",
        required_args=("url",),
        sources=(kinds.AnyUrlV1(),),
    ),
}
"""The built-in tools: defaults that `use` takes up."""

BUILT_IN_ONLY: Final[Mapping[str, ToolV1]] = {
    "software_version": ToolV1(use="software_version"),
}
"""What there is without a config file."""


def tool_feeds(
    name: str, settings: ToolV1, folder: Path, environment: Mapping[str, str]
) -> ToolFeeds:
    """Return the tool with its feeds, or raise what is wrong, with the field within the tool."""
    whole = _with_defaults(settings)
    if not whole.sources:
        raise AffidavitError(
            faults.TOOL_SOURCES, Where(field="sources"), tool=name, problem="has no source"
        )
    tool = _tool(name, whole)
    allowed = _allowed(whole)
    around = Surroundings(folder, allowed, environment)
    names = _source_names(whole)
    sources = []
    for number, source in enumerate(whole.sources):
        try:
            require_sense(source, tool.required_args, allowed)
        except AffidavitError as error:
            place = f"sources[{number}].{error.where.field}"
            raise AffidavitError(error.fault, Where(field=place), **error.values) from None
        feed = feed_from(source, names[number], around)
        sources.append(AskedSource(feed, source.timeout_ms))
    return ToolFeeds(tool, tuple(sources))


def _with_defaults(settings: ToolV1) -> ToolV1:
    if settings.use is None:
        return settings
    default = BUILT_IN[settings.use]
    return ToolV1(
        use=settings.use,
        description=settings.description or default.description,
        required_args=settings.required_args or default.required_args,
        value_path=settings.value_path or default.value_path,
        unit=settings.unit,
        licence=settings.licence,
        max_age_s=settings.max_age_s or default.max_age_s,
        tolerance=settings.tolerance,
        allow_hosts=settings.allow_hosts,
        sources=settings.sources or default.sources,
    )


def _tool(name: str, settings: ToolV1) -> Tool:
    if settings.value_path is not None and (problem := find_path_problem(settings.value_path)):
        raise wrong_field("value_path", problem)
    age = settings.max_age_s
    return Tool(
        name,
        settings.required_args or (),
        settings.value_path,
        settings.unit,
        settings.licence,
        int(age) if age is not None and age.is_integer() else age,
        _tolerance(settings.tolerance),
        settings.description or "",
    )


def _tolerance(settings: ToleranceV1 | None) -> Tolerance | None:
    if settings is None:
        return None
    if (settings.abs is None) is (settings.pct is None):
        raise wrong_field("tolerance", "a tolerance has either abs or pct")
    if settings.pct is not None:
        return Tolerance(settings.pct, is_percentage=True)
    return Tolerance(settings.abs or 0.0)


def _allowed(settings: ToolV1) -> AllowList:
    try:
        return allow_list_from(settings.allow_hosts)
    except ValueError as error:
        problem = f"{str(error)!r} is no host, address or network (without scheme and path)"
        raise wrong_field("allow_hosts", problem) from None


def _source_names(settings: ToolV1) -> list[str]:
    kinds_seen: dict[str, int] = {}
    names = []
    for source in settings.sources:
        kind = str(source.__struct_config__.tag)
        kinds_seen[kind] = kinds_seen.get(kind, 0) + 1
        again = f"-{kinds_seen[kind]}" if kinds_seen[kind] > 1 else ""
        names.append(source.name or f"{kind}{again}")
    if len(set(names)) != len(names):
        raise wrong_field("sources", "two sources have the same name")
    return names
