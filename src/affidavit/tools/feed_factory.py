"""Builds the feed of a source from its settings. A new kind needs a line in `_FEED_BUILDERS`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Final
from urllib.parse import urlsplit

from affidavit.checks.facts import EvidenceSource
from affidavit.checks.values import display_value
from affidavit.tools import settings as kinds
from affidavit.tools.allow_list import AllowList
from affidavit.tools.feed import CheckArguments, FailureReason, Feed, SourceFailedError
from affidavit.tools.file_feed import FILE_FORMATS, CachedFile, FileFeed, FileSelector, FolderFeed
from affidavit.tools.http_feed import AnyUrlFeed, HttpFeed, HttpSourceClient
from affidavit.tools.mcp_feed import McpFeed
from affidavit.tools.python_feed import PythonFeed
from affidavit.tools.settings import single_argument
from affidavit.tools.software_version import IndexFeed, InstalledFeed, LockFeed, lock_file_reader
from affidavit.tools.sql_feed import PostgresFeed, QuerySelector, SqliteFeed, SqlQuery


@dataclass(frozen=True, slots=True)
class FeedContext:
    """The folder of a feed's files, the hosts that it may reach, and the environment."""

    folder: Path
    allowed: AllowList
    environment: Mapping[str, str] = field(repr=False)


def build_feed(settings: kinds.SourceSettings, name: str, context: FeedContext) -> Feed:
    """Return the feed of a source. Facts refer to it by `name`."""
    origin, url = _provenance(settings)
    kind = str(settings.__struct_config__.tag)
    source = EvidenceSource(
        name=name,
        origin=settings.origin or origin,
        kind=kind,
        url=url,
        licence=settings.licence,
        operator=settings.operator or settings.origin,
    )
    return _FEED_BUILDERS[type(settings)](settings, source, context)


def _provenance(settings: kinds.SourceSettings) -> tuple[str, str | None]:
    """Return the origin of a source, and its address unless that is a secret.

    Sources of one host, file or database have one origin: they do not corroborate each other.
    """
    match settings:
        case (
            kinds.FileSource(path=path)
            | kinds.LockSource(path=path)
            | kinds.FolderSource(root=path)
        ):
            return _file_origin(path), path
        case kinds.SqlSource() | kinds.QueriesSource():
            if settings.sqlite is not None:
                return _file_origin(settings.sqlite), settings.sqlite
            return f"postgres:{settings.postgres.env if settings.postgres else ''}", None
        case kinds.HttpSource(url=url) | kinds.IndexSource(url=url):
            return urlsplit(url).hostname or url, url
        case kinds.McpSource(url=str(url)):
            return urlsplit(url).hostname or url, url
        case kinds.McpSource(command=command):
            return f"mcp:{' '.join(command or ())}", None
        case kinds.PythonSource(call=call):
            return f"python:{call.partition(':')[0]}", None
        case _:
            return str(settings.__struct_config__.tag), None


def _file_origin(path: str) -> str:
    return f"file:{PurePosixPath(path)}"


def _file(settings: kinds.FileSource, source: EvidenceSource, context: FeedContext) -> Feed:
    form = settings.format or FILE_FORMATS[Path(settings.path).suffix.lower()]
    files = FileSelector(context.folder, settings.path, settings.max_bytes, form)
    has_rows = bool(settings.where) or form == "csv"
    where = settings.where if has_rows else None
    return FileFeed(source, files, settings, settings.select, where)


def _lock(settings: kinds.LockSource, source: EvidenceSource, context: FeedContext) -> Feed:
    path, reader = context.folder / settings.path, lock_file_reader(settings.path)
    file = CachedFile(path, settings.path, settings.max_bytes, reader)
    return LockFeed(source, file, settings)


def _sql(settings: kinds.SqlSource, source: EvidenceSource, context: FeedContext) -> Feed:
    query = SqlQuery(settings.query, settings.params, settings.max_rows, settings.max_bytes)
    return _database(settings, source, context, lambda args: query)


def _queries(settings: kinds.QueriesSource, source: EvidenceSource, context: FeedContext) -> Feed:
    by_name = {
        name: SqlQuery(row.query, tuple(row.params), settings.max_rows, settings.max_bytes)
        for name, row in settings.queries.items()
    }

    every = {param for query in by_name.values() for param in query.params}

    def select_query(args: CheckArguments) -> SqlQuery:
        name = single_argument("query", args)
        if name not in by_name:
            known = ", ".join(sorted(by_name))
            problem = f"no query is named {display_value(name)}; there are {known}"
            raise SourceFailedError(FailureReason.ARGUMENT, problem)
        query = by_name[name]
        if unread := sorted((every & args.keys()) - set(query.params)):
            problem = f"the query {name} does not read the argument {unread[0]}"
            raise SourceFailedError(FailureReason.ARGUMENT, problem)
        return query

    return _database(settings, source, context, select_query)


def _database(
    settings: kinds.SqlSource | kinds.QueriesSource,
    source: EvidenceSource,
    context: FeedContext,
    select_query: QuerySelector,
) -> Feed:
    if settings.postgres is not None:
        return PostgresFeed(source, settings.postgres, select_query, settings, context.environment)
    return SqliteFeed(source, context.folder / (settings.sqlite or ""), select_query, settings)


def _client(settings: Any, context: FeedContext) -> HttpSourceClient:
    return HttpSourceClient(
        context.allowed, settings.max_bytes, settings.headers, context.environment
    )


_FEED_BUILDERS: Final[Mapping[type, Callable[[Any, EvidenceSource, FeedContext], Feed]]] = {
    kinds.FileSource: _file,
    kinds.LockSource: _lock,
    kinds.SqlSource: _sql,
    kinds.QueriesSource: _queries,
    kinds.FolderSource: lambda own, source, context: FolderFeed(
        source, context.folder / own.root, own, own.max_bytes
    ),
    kinds.HttpSource: lambda own, source, context: HttpFeed(
        source, own.url, own.query, _client(own, context), own
    ),
    kinds.AnyUrlSource: lambda own, source, context: AnyUrlFeed(source, _client(own, context), own),
    kinds.IndexSource: lambda own, source, context: IndexFeed(
        source, own.url, _client(own, context), own
    ),
    kinds.McpSource: lambda own, source, context: McpFeed(
        source, own, context.folder, context.allowed, context.environment
    ),
    kinds.PythonSource: lambda own, source, _: PythonFeed(source, own.call, own, own.max_bytes),
    kinds.InstalledSource: lambda own, source, _: InstalledFeed(source, own),
}
