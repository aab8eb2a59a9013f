"""What a source must make sense of, beyond having the right fields: slots, addresses, databases."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import feeds as faults
from affidavit.checks.paths import find_path_problem
from affidavit.http.address import origin_of
from affidavit.sources.feeds import settings as kinds
from affidavit.sources.feeds.addresses import AllowList
from affidavit.sources.feeds.feed import SilentError
from affidavit.sources.feeds.file_reading import FORMATS
from affidavit.sources.feeds.http_exchange import address_of
from affidavit.sources.feeds.slots import find_slot_problem


def require_sense(
    source: kinds.SourceSettings, required: tuple[str, ...], allowed: AllowList
) -> None:
    """Raise what is wrong with a source that has the right shape, with the field within it."""
    path = source.observed_at_path
    if path is not None and (problem := find_path_problem(path)):
        raise wrong_field("observed_at_path", problem)
    if rule := _RULES.get(type(source)):
        rule(source, required, allowed)


def wrong_field(field: str, problem: str) -> AffidavitError:
    """Return the error that a field does not make sense."""
    return AffidavitError(faults.TOOLS_FIELD, Where(field=field), problem=problem)


def _file(source: kinds.FileV1, required: tuple[str, ...], _: AllowList) -> None:
    if source.format is None and Path(source.path).suffix.lower() not in FORMATS:
        problem = f"the name {source.path!r} does not tell the format: json, csv or yaml"
        raise wrong_field("format", problem)
    _require_slots("select", list(source.select), required)
    _require_slots("where", source.where, required)


def _sql(source: kinds.SqlV1, required: tuple[str, ...], _: AllowList) -> None:
    _require_database(source)
    _require_slots("params", [f"{{{name}}}" for name in source.params], required)


def _queries(source: kinds.QueriesV1, required: tuple[str, ...], _: AllowList) -> None:
    _require_database(source)


def _http(source: kinds.HttpV1, required: tuple[str, ...], allowed: AllowList) -> None:
    _require_url(source.url, required, allowed)
    said = [text for text in source.query.values() if isinstance(text, str)]
    _require_slots("query", list(said), required)


def _index(source: kinds.IndexV1, required: tuple[str, ...], allowed: AllowList) -> None:
    _require_url(source.url, required, allowed)


def _any_url(source: kinds.AnyUrlV1, required: tuple[str, ...], allowed: AllowList) -> None:
    if not allowed.entries:
        raise wrong_field("kind", "without allow_hosts no address could be asked")


def _mcp(source: kinds.McpV1, required: tuple[str, ...], allowed: AllowList) -> None:
    if (source.command is None) is (source.url is None) or source.command == ():
        raise wrong_field("command", "an MCP server needs either a command or a url")
    if source.url is not None:
        _require_url(source.url, (), allowed)
    _require_slots("arguments", source.arguments, required)


def _require_database(source: kinds.SqlV1 | kinds.QueriesV1) -> None:
    if (source.sqlite is None) is (source.postgres is None):
        raise wrong_field("sqlite", "a query needs either sqlite or postgres")


def _require_url(url: str, required: tuple[str, ...], allowed: AllowList) -> None:
    if "{" in urlsplit(url).netloc:
        raise wrong_field("url", "a slot may stand in the path and the query only")
    try:
        allowed.require_host(origin_of(address_of(url)))
    except SilentError as error:
        raise wrong_field("url", str(error).partition(": ")[2]) from None
    _require_slots("url", url, required)


def _require_slots(field: str, setting: Any, required: tuple[str, ...]) -> None:
    if problem := find_slot_problem(setting, required):
        raise wrong_field(field, problem)


_RULES: Final[Mapping[type, Callable[[Any, tuple[str, ...], AllowList], None]]] = {
    kinds.FileV1: _file,
    kinds.SqlV1: _sql,
    kinds.QueriesV1: _queries,
    kinds.HttpV1: _http,
    kinds.IndexV1: _index,
    kinds.AnyUrlV1: _any_url,
    kinds.McpV1: _mcp,
}
