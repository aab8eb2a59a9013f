"""The settings of tools, as `[tools.NAME]` says them: every field, its range and its default.

docs/tools.md lists them all. A secret is never a setting: only the name of the environment
variable that holds it is.
"""

from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec

from affidavit.sources.feeds.feed import MAX_RAW_BYTES
from affidavit.sources.feeds.observed import Timing

MAX_SOURCES: Final = 8

Word = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}\Z")]
Line = Annotated[str, msgspec.Meta(min_length=1, max_length=500, pattern=r"^[^\x00-\x1f\x7f]+\Z")]
Text = Annotated[str, msgspec.Meta(min_length=1, max_length=20_000)]
Variable = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,127}\Z")]
Argument = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}\Z")]
Header = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9-]{1,64}\Z")]
HeaderText = Annotated[str, msgspec.Meta(max_length=4096, pattern=r"^[ -~]*\Z")]
Milliseconds = Annotated[int, msgspec.Meta(ge=1, le=60_000)]
Bytes = Annotated[int, msgspec.Meta(ge=1, le=64 * 1024 * 1024)]
Rows = Annotated[int, msgspec.Meta(ge=1, le=100_000)]
Size = Annotated[float, msgspec.Meta(ge=0)]

DEFAULT_FILE_BYTES: Final = 16 * 1024 * 1024
DEFAULT_ROWS: Final = 1_000


class FromEnvironmentV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A text that holds a secret: the variable, and what stands before its value."""

    env: Variable
    prefix: HeaderText = ""


Spoken: TypeAlias = FromEnvironmentV1 | HeaderText


class _Source(Timing, frozen=True, forbid_unknown_fields=True, tag_field="kind", kw_only=True):
    """What every source may say of itself."""

    name: Word | None = None
    origin: Line | None = None
    licence: Line | None = None
    timeout_ms: Milliseconds | None = None


class FileV1(_Source, frozen=True, tag="file", kw_only=True):
    """A file of JSON, CSV or YAML; `select` leads into it, `where` keeps the rows that fit."""

    path: Line
    format: Literal["json", "csv", "yaml"] | None = None
    select: tuple[str | int, ...] = ()
    where: dict[str, Any] = msgspec.field(default_factory=dict)
    max_bytes: Bytes = DEFAULT_FILE_BYTES


class FolderV1(_Source, frozen=True, tag="folder", kw_only=True):
    """The files of a folder; the argument `file` names one, `key` a place in it."""

    root: Line
    max_bytes: Bytes = DEFAULT_FILE_BYTES


class SqlV1(_Source, frozen=True, tag="sql", kw_only=True):
    """One query of a database. `params` are the arguments that are bound, in order."""

    query: Text
    params: tuple[Argument, ...] = ()
    sqlite: Line | None = None
    postgres: FromEnvironmentV1 | None = None
    max_rows: Rows = DEFAULT_ROWS
    max_bytes: Bytes = MAX_RAW_BYTES


class NamedQueryV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One query of several, and the arguments that it needs."""

    query: Text
    params: tuple[Argument, ...] = ()


class QueriesV1(_Source, frozen=True, tag="queries", kw_only=True):
    """Queries by name; the argument `query` chooses one."""

    queries: Annotated[dict[Word, NamedQueryV1], msgspec.Meta(min_length=1)]
    sqlite: Line | None = None
    postgres: FromEnvironmentV1 | None = None
    max_rows: Rows = DEFAULT_ROWS
    max_bytes: Bytes = MAX_RAW_BYTES


class HttpV1(_Source, frozen=True, tag="http", kw_only=True):
    """JSON over HTTP(S); slots may stand in the path and the query."""

    url: Line
    query: dict[Line, Spoken] = msgspec.field(default_factory=dict)
    headers: dict[Header, Spoken] = msgspec.field(default_factory=dict)
    max_bytes: Bytes = MAX_RAW_BYTES


class AnyUrlV1(_Source, frozen=True, tag="any_url", kw_only=True):
    """JSON over HTTP(S) from the address in the argument `url`, if its host is allowed."""

    headers: dict[Header, Spoken] = msgspec.field(default_factory=dict)
    max_bytes: Bytes = MAX_RAW_BYTES


class McpV1(_Source, frozen=True, tag="mcp", kw_only=True):
    """A tool of an MCP server: started as a command, or at an address."""

    tool: Line
    command: tuple[Line, ...] | None = None
    url: Line | None = None
    env: dict[Variable, Spoken] = msgspec.field(default_factory=dict)
    headers: dict[Header, Spoken] = msgspec.field(default_factory=dict)
    arguments: dict[str, Any] | None = None
    max_bytes: Bytes = MAX_RAW_BYTES


class PythonV1(_Source, frozen=True, tag="python", kw_only=True):
    """A function, called in this process with the arguments as keywords."""

    call: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*\Z")]
    max_bytes: Bytes = MAX_RAW_BYTES


class InstalledV1(_Source, frozen=True, tag="installed", kw_only=True):
    """The packages that are installed beside Affidavit, and `python` itself."""


class LockV1(_Source, frozen=True, tag="lock", kw_only=True):
    """A lock file: requirements.txt, pylock.toml, uv.lock, poetry.lock, package-lock.json."""

    path: Line
    max_bytes: Bytes = DEFAULT_FILE_BYTES


class IndexV1(_Source, frozen=True, tag="index", kw_only=True):
    """A package index that answers in JSON; `{product}` stands in its address."""

    url: Line
    headers: dict[Header, Spoken] = msgspec.field(default_factory=dict)
    max_bytes: Bytes = DEFAULT_FILE_BYTES


SourceSettings: TypeAlias = (
    FileV1
    | FolderV1
    | SqlV1
    | QueriesV1
    | HttpV1
    | AnyUrlV1
    | McpV1
    | PythonV1
    | InstalledV1
    | LockV1
    | IndexV1
)


class ToleranceV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How far two sources may be apart: `abs` in units, or `pct` in per cent of the first."""

    abs: Size | None = None
    pct: Size | None = None


class ToolV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table `[tools.NAME]`. What is not said comes from the built-in tool of `use`, if any."""

    use: Literal["software_version", "file_fact", "sql_fact", "http_json"] | None = None
    description: Annotated[str, msgspec.Meta(max_length=500)] | None = None
    required_args: tuple[Argument, ...] | None = None
    value_path: str | None = None
    unit: Line | None = None
    licence: Line | None = None
    max_age_s: Annotated[float, msgspec.Meta(gt=0)] | None = None
    tolerance: ToleranceV1 | None = None
    allow_hosts: tuple[Line, ...] = ()
    sources: Annotated[tuple[SourceSettings, ...], msgspec.Meta(max_length=MAX_SOURCES)] = ()
