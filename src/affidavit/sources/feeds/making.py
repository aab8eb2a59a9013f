"""Makes the feed of a source from its settings. A new kind has its line in `_MAKERS`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Final
from urllib.parse import urlsplit

from affidavit.checks.facts import Source
from affidavit.checks.values import shown
from affidavit.sources.feeds import settings as kinds
from affidavit.sources.feeds.addresses import AllowList
from affidavit.sources.feeds.feed import Args, Feed, Silence, SilentError
from affidavit.sources.feeds.file_feed import FileFeed, FolderFeed
from affidavit.sources.feeds.file_reading import FORMATS, WatchedFile, decoder_of
from affidavit.sources.feeds.http_feed import AnyUrlFeed, Caller, HttpFeed
from affidavit.sources.feeds.lock_files import pins_of
from affidavit.sources.feeds.mcp_feed import McpFeed
from affidavit.sources.feeds.postgres_feed import PostgresFeed
from affidavit.sources.feeds.python_feed import PythonFeed
from affidavit.sources.feeds.slots import single_argument
from affidavit.sources.feeds.software_version import IndexFeed, InstalledFeed, LockFeed
from affidavit.sources.feeds.sql_values import Queries, Query
from affidavit.sources.feeds.sqlite_feed import SqliteFeed


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a feed needs besides its settings: where its files are, and what it may reach."""

    folder: Path
    allowed: AllowList
    environment: Mapping[str, str] = field(repr=False)


def feed_from(settings: kinds.SourceSettings, name: str, around: Surroundings) -> Feed:
    """Return the feed of a source, under the name by which a fact will know it."""
    origin, url = _provenance(settings)
    kind = str(settings.__struct_config__.tag)
    source = Source(name, settings.origin or origin, kind, url, settings.licence)
    return _MAKERS[type(settings)](settings, source, around)


def _provenance(settings: kinds.SourceSettings) -> tuple[str, str | None]:
    """Return what tells a source from others, and its address, if it is one that may be shown.

    Two sources of one host, file or database are one origin: they do not confirm one another.
    """
    match settings:
        case kinds.FileV1(path=path) | kinds.LockV1(path=path) | kinds.FolderV1(root=path):
            return _file_origin(path), path
        case kinds.SqlV1() | kinds.QueriesV1():
            if settings.sqlite is not None:
                return _file_origin(settings.sqlite), settings.sqlite
            return f"postgres:{settings.postgres.env if settings.postgres else ''}", None
        case kinds.HttpV1(url=url) | kinds.IndexV1(url=url):
            return urlsplit(url).hostname or url, url
        case kinds.McpV1(url=str(url)):
            return urlsplit(url).hostname or url, url
        case kinds.McpV1(command=command):
            return f"mcp:{' '.join(command or ())}", None
        case kinds.PythonV1(call=call):
            return f"python:{call.partition(':')[0]}", None
        case _:
            return str(settings.__struct_config__.tag), None


def _file_origin(path: str) -> str:
    return f"file:{PurePosixPath(path)}"


def _file(settings: kinds.FileV1, source: Source, around: Surroundings) -> Feed:
    form = settings.format or FORMATS[Path(settings.path).suffix.lower()]
    decoded = decoder_of(form, settings.max_bytes)
    watched = WatchedFile(around.folder / settings.path, settings.path, settings.max_bytes, decoded)
    has_rows = bool(settings.where) or form == "csv"
    where = settings.where if has_rows else None
    return FileFeed(source, watched, settings, settings.select, where)


def _folder(settings: kinds.FolderV1, source: Source, around: Surroundings) -> Feed:
    return FolderFeed(source, around.folder / settings.root, settings, settings.max_bytes)


def _sql(settings: kinds.SqlV1, source: Source, around: Surroundings) -> Feed:
    query = Query(settings.query, settings.params, settings.max_rows, settings.max_bytes)
    return _database(settings, source, around, lambda args: query)


def _queries(settings: kinds.QueriesV1, source: Source, around: Surroundings) -> Feed:
    by_name = {
        name: Query(row.query, tuple(row.params), settings.max_rows, settings.max_bytes)
        for name, row in settings.queries.items()
    }

    def chosen(args: Args) -> Query:
        name = single_argument("query", args)
        if name not in by_name:
            problem = f"no query is named {shown(name)}; there are {', '.join(sorted(by_name))}"
            raise SilentError(Silence.ARGUMENT, problem)
        return by_name[name]

    return _database(settings, source, around, chosen)


def _database(
    settings: kinds.SqlV1 | kinds.QueriesV1, source: Source, around: Surroundings, chosen: Queries
) -> Feed:
    if settings.postgres is not None:
        return PostgresFeed(source, settings.postgres, chosen, settings, around.environment)
    return SqliteFeed(source, around.folder / (settings.sqlite or ""), chosen, settings)


def _caller(
    settings: kinds.HttpV1 | kinds.AnyUrlV1 | kinds.IndexV1, around: Surroundings
) -> Caller:
    return Caller(around.allowed, settings.max_bytes, settings.headers, around.environment)


def _http(settings: kinds.HttpV1, source: Source, around: Surroundings) -> Feed:
    return HttpFeed(source, settings.url, settings.query, _caller(settings, around), settings)


def _any_url(settings: kinds.AnyUrlV1, source: Source, around: Surroundings) -> Feed:
    return AnyUrlFeed(source, _caller(settings, around), settings)


def _mcp(settings: kinds.McpV1, source: Source, around: Surroundings) -> Feed:
    return McpFeed(source, settings, around.folder, around.allowed, around.environment)


def _python(settings: kinds.PythonV1, source: Source, around: Surroundings) -> Feed:
    return PythonFeed(source, settings.call, settings, settings.max_bytes)


def _installed(settings: kinds.InstalledV1, source: Source, around: Surroundings) -> Feed:
    return InstalledFeed(source, settings)


def _lock(settings: kinds.LockV1, source: Source, around: Surroundings) -> Feed:
    path = around.folder / settings.path
    watched = WatchedFile(path, settings.path, settings.max_bytes, pins_of(settings.path))
    return LockFeed(source, watched, settings)


def _index(settings: kinds.IndexV1, source: Source, around: Surroundings) -> Feed:
    return IndexFeed(source, settings.url, _caller(settings, around), settings)


_MAKERS: Final[Mapping[type, Callable[[Any, Source, Surroundings], Feed]]] = {
    kinds.FileV1: _file,
    kinds.FolderV1: _folder,
    kinds.SqlV1: _sql,
    kinds.QueriesV1: _queries,
    kinds.HttpV1: _http,
    kinds.AnyUrlV1: _any_url,
    kinds.McpV1: _mcp,
    kinds.PythonV1: _python,
    kinds.InstalledV1: _installed,
    kinds.LockV1: _lock,
    kinds.IndexV1: _index,
}
