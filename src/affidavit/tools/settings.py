"""The settings of tools in `[tools.NAME]`: every field with its range and default.

docs/tools.md lists them all. A secret is never a setting, only the name of its environment
variable.
"""

from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec

from affidavit.checks.facts import Tolerance
from affidavit.tools.feed import MAX_RAW_BYTES
from affidavit.tools.observation_time import ObservationTime

MAX_SOURCES: Final = 8

Identifier = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}\Z")]
SingleLine = Annotated[
    str, msgspec.Meta(min_length=1, max_length=500, pattern=r"^[^\x00-\x1f\x7f]+\Z")
]
Text = Annotated[str, msgspec.Meta(min_length=1, max_length=20_000)]
Variable = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,127}\Z")]
Argument = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}\Z")]
Header = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9-]{1,64}\Z")]
HeaderText = Annotated[str, msgspec.Meta(max_length=4096, pattern=r"^[ -~]*\Z")]
Milliseconds = Annotated[int, msgspec.Meta(ge=1, le=60_000)]
Bytes = Annotated[int, msgspec.Meta(ge=1, le=64 * 1024 * 1024)]
Rows = Annotated[int, msgspec.Meta(ge=1, le=100_000)]

DEFAULT_FILE_BYTES: Final = 16 * 1024 * 1024
DEFAULT_ROWS: Final = 1_000


class EnvironmentSecret(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A value from an environment variable, with an optional prefix."""

    env: Variable
    prefix: HeaderText = ""


HeaderValue: TypeAlias = EnvironmentSecret | HeaderText


class _SourceSettings(
    ObservationTime, frozen=True, forbid_unknown_fields=True, tag_field="kind", kw_only=True
):
    """The settings that every source may have."""

    name: Identifier | None = None
    origin: SingleLine | None = None
    licence: SingleLine | None = None
    timeout_ms: Milliseconds | None = None


class FileSource(_SourceSettings, frozen=True, tag="file", kw_only=True):
    """A file of JSON, CSV or YAML. `select` is a path into it, `where` filters its rows."""

    path: SingleLine
    format: Literal["json", "csv", "yaml"] | None = None
    select: tuple[str | int, ...] = ()
    where: dict[str, Any] = msgspec.field(default_factory=dict)
    max_bytes: Bytes = DEFAULT_FILE_BYTES


class FolderSource(_SourceSettings, frozen=True, tag="folder", kw_only=True):
    """The files of a folder. The argument `file` names one, `key` is a path into it."""

    root: SingleLine
    max_bytes: Bytes = DEFAULT_FILE_BYTES


class SqlSource(_SourceSettings, frozen=True, tag="sql", kw_only=True):
    """One query of a database. `params` are the arguments to bind, in order."""

    query: Text
    params: tuple[Argument, ...] = ()
    sqlite: SingleLine | None = None
    postgres: EnvironmentSecret | None = None
    max_rows: Rows = DEFAULT_ROWS
    max_bytes: Bytes = MAX_RAW_BYTES


class NamedQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One query of several, and the arguments that it needs."""

    query: Text
    params: tuple[Argument, ...] = ()


class QueriesSource(_SourceSettings, frozen=True, tag="queries", kw_only=True):
    """Queries by name. The argument `query` selects one."""

    queries: Annotated[dict[Identifier, NamedQuery], msgspec.Meta(min_length=1)]
    sqlite: SingleLine | None = None
    postgres: EnvironmentSecret | None = None
    max_rows: Rows = DEFAULT_ROWS
    max_bytes: Bytes = MAX_RAW_BYTES


class HttpSource(_SourceSettings, frozen=True, tag="http", kw_only=True):
    """JSON over HTTP(S). The path and the query may have slots."""

    url: SingleLine
    query: dict[SingleLine, HeaderValue] = msgspec.field(default_factory=dict)
    headers: dict[Header, HeaderValue] = msgspec.field(default_factory=dict)
    max_bytes: Bytes = MAX_RAW_BYTES


class AnyUrlSource(_SourceSettings, frozen=True, tag="any_url", kw_only=True):
    """JSON over HTTP(S) from the address in the argument `url`, if its host is allowed."""

    headers: dict[Header, HeaderValue] = msgspec.field(default_factory=dict)
    max_bytes: Bytes = MAX_RAW_BYTES


class McpSource(_SourceSettings, frozen=True, tag="mcp", kw_only=True):
    """A tool of an MCP server, which is a command or has an address."""

    tool: SingleLine
    command: tuple[SingleLine, ...] | None = None
    url: SingleLine | None = None
    env: dict[Variable, HeaderValue] = msgspec.field(default_factory=dict)
    headers: dict[Header, HeaderValue] = msgspec.field(default_factory=dict)
    arguments: dict[str, Any] | None = None
    max_bytes: Bytes = MAX_RAW_BYTES


class PythonSource(_SourceSettings, frozen=True, tag="python", kw_only=True):
    """A function that is called in this process with the arguments as keywords."""

    call: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*\Z")]
    max_bytes: Bytes = MAX_RAW_BYTES


class InstalledSource(_SourceSettings, frozen=True, tag="installed", kw_only=True):
    """The packages in the environment of Affidavit, and `python` itself."""


class LockSource(_SourceSettings, frozen=True, tag="lock", kw_only=True):
    """A lock file: requirements.txt, pylock.toml, uv.lock, poetry.lock, package-lock.json."""

    path: SingleLine
    max_bytes: Bytes = DEFAULT_FILE_BYTES


class IndexSource(_SourceSettings, frozen=True, tag="index", kw_only=True):
    """A package index with a JSON API. `{product}` is a slot of its URL."""

    url: SingleLine
    headers: dict[Header, HeaderValue] = msgspec.field(default_factory=dict)
    max_bytes: Bytes = DEFAULT_FILE_BYTES


SourceSettings: TypeAlias = (
    FileSource
    | FolderSource
    | SqlSource
    | QueriesSource
    | HttpSource
    | AnyUrlSource
    | McpSource
    | PythonSource
    | InstalledSource
    | LockSource
    | IndexSource
)


class ToolSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The table `[tools.NAME]`. Missing values come from the built-in tool in `use`, if any."""

    use: Literal["software_version", "file_fact", "sql_fact", "http_json"] | None = None
    description: Annotated[str, msgspec.Meta(max_length=500)] | None = None
    required_args: tuple[Argument, ...] | None = None
    value_path: str | None = None
    unit: SingleLine | None = None
    licence: SingleLine | None = None
    max_age_s: Annotated[float, msgspec.Meta(gt=0)] | None = None
    tolerance: Tolerance | None = None
    allow_hosts: tuple[SingleLine, ...] = ()
    sources: Annotated[tuple[SourceSettings, ...], msgspec.Meta(max_length=MAX_SOURCES)] = ()
