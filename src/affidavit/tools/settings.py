"""The settings of tools in `[tools.NAME]`: every field with its range and default, and its value.

docs/tools.md lists them all. A secret is never a setting, only the name of its environment
variable. `{city}` is a slot for the argument `city` of a check. A setting that is only a slot gets
the argument as it is; within a longer text the argument must be a scalar. Slots are validated when
the settings are read: a slot whose argument the tool does not require is refused.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec

from affidavit.base.canonical import sorted_compact
from affidavit.base.json_values import JsonValue
from affidavit.base.text import is_worth_masking
from affidavit.checks.facts import Tolerance
from affidavit.checks.values import is_scalar, kind_of, scalar_text
from affidavit.tools.feed import MAX_SOURCE_BYTES, CheckArguments, FailureReason, SourceFailedError
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
Bytes = Annotated[int, msgspec.Meta(ge=1, le=MAX_SOURCE_BYTES)]
Rows = Annotated[int, msgspec.Meta(ge=1, le=100_000)]

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
    operator: SingleLine | None = None
    licence: SingleLine | None = None
    timeout_ms: Milliseconds | None = None


class FileSource(_SourceSettings, frozen=True, tag="file", kw_only=True):
    """A file of JSON, CSV or YAML. `select` is a path into it, `where` filters its rows."""

    path: SingleLine
    format: Literal["json", "csv", "yaml"] | None = None
    select: tuple[str | int, ...] = ()
    where: dict[str, Any] = msgspec.field(default_factory=dict)
    max_bytes: Bytes = MAX_SOURCE_BYTES


class FolderSource(_SourceSettings, frozen=True, tag="folder", kw_only=True):
    """The files of a folder. The argument `file` names one, `key` is a path into it."""

    root: SingleLine
    max_bytes: Bytes = MAX_SOURCE_BYTES


class SqlSource(_SourceSettings, frozen=True, tag="sql", kw_only=True):
    """One query of a database. `params` are the arguments to bind, in order."""

    query: Text
    params: tuple[Argument, ...] = ()
    sqlite: SingleLine | None = None
    postgres: EnvironmentSecret | None = None
    max_rows: Rows = DEFAULT_ROWS
    max_bytes: Bytes = MAX_SOURCE_BYTES


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
    max_bytes: Bytes = MAX_SOURCE_BYTES


class HttpSource(_SourceSettings, frozen=True, tag="http", kw_only=True):
    """JSON over HTTP(S). The path and the query may have slots."""

    url: SingleLine
    query: dict[SingleLine, HeaderValue] = msgspec.field(default_factory=dict)
    headers: dict[Header, HeaderValue] = msgspec.field(default_factory=dict)
    max_bytes: Bytes = MAX_SOURCE_BYTES


class AnyUrlSource(_SourceSettings, frozen=True, tag="any_url", kw_only=True):
    """JSON over HTTP(S) from the address in the argument `url`, if its host is allowed."""

    headers: dict[Header, HeaderValue] = msgspec.field(default_factory=dict)
    max_bytes: Bytes = MAX_SOURCE_BYTES


class McpSource(_SourceSettings, frozen=True, tag="mcp", kw_only=True):
    """A tool of an MCP server, which is a command or has an address."""

    tool: SingleLine
    command: tuple[SingleLine, ...] | None = None
    url: SingleLine | None = None
    env: dict[Variable, HeaderValue] = msgspec.field(default_factory=dict)
    headers: dict[Header, HeaderValue] = msgspec.field(default_factory=dict)
    arguments: dict[str, Any] | None = None
    max_bytes: Bytes = MAX_SOURCE_BYTES


class PythonSource(_SourceSettings, frozen=True, tag="python", kw_only=True):
    """A function that is called in this process with the arguments as keywords."""

    call: Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*\Z")]
    max_bytes: Bytes = MAX_SOURCE_BYTES


class InstalledSource(_SourceSettings, frozen=True, tag="installed", kw_only=True):
    """The packages in the environment of Affidavit, and `python` itself."""


class LockSource(_SourceSettings, frozen=True, tag="lock", kw_only=True):
    """A lock file: requirements.txt, pylock.toml, uv.lock, poetry.lock, package-lock.json."""

    path: SingleLine
    max_bytes: Bytes = MAX_SOURCE_BYTES


class IndexSource(_SourceSettings, frozen=True, tag="index", kw_only=True):
    """A package index with a JSON API. `{product}` is a slot of its URL."""

    url: SingleLine
    headers: dict[Header, HeaderValue] = msgspec.field(default_factory=dict)
    max_bytes: Bytes = MAX_SOURCE_BYTES


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
    optional_args: tuple[Argument, ...] = ()
    value_path: str | None = None
    unit: SingleLine | None = None
    licence: SingleLine | None = None
    max_age_s: Annotated[float, msgspec.Meta(gt=0)] | None = None
    tolerance: Tolerance | None = None
    allow_hosts: tuple[SingleLine, ...] = ()
    sources: Annotated[tuple[SourceSettings, ...], msgspec.Meta(max_length=MAX_SOURCES)] = ()


_PLACEHOLDER: Final = re.compile(r"\{([^{}]*)\}")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


def placeholders_in(setting: JsonValue) -> Iterator[str]:
    """Yield the names of the slots of a setting and its members."""
    if isinstance(setting, str):
        yield from _PLACEHOLDER.findall(setting)
    elif isinstance(setting, dict | list):
        for member in setting.values() if isinstance(setting, dict) else setting:
            yield from placeholders_in(member)


def find_placeholder_problem(setting: JsonValue, required: tuple[str, ...]) -> str | None:
    """Return what is wrong with the slots of a setting, or None."""
    for name in placeholders_in(setting):
        if not _NAME.fullmatch(name):
            return f"{{{name}}} is no slot: a slot is the name of an argument in braces"
        if name not in required:
            return f"{{{name}}} is not among required_args, and nothing could stand in for it"
    return None


def fill_arguments(setting: JsonValue, args: CheckArguments) -> JsonValue:
    """Return a setting with its slots filled."""
    if isinstance(setting, dict):
        return {key: fill_arguments(member, args) for key, member in setting.items()}
    if isinstance(setting, list):
        return [fill_arguments(member, args) for member in setting]
    if not isinstance(setting, str):
        return setting
    whole = _PLACEHOLDER.fullmatch(setting)
    return required_argument(whole[1], args) if whole else fill_text(setting, args)


def fill_text(setting: str, args: CheckArguments, spelled: Callable[[str], str] = str) -> str:
    """Return a text with its slots filled. `spelled` encodes a value."""
    return _PLACEHOLDER.sub(lambda slot: spelled(single_argument(slot[1], args)), setting)


def required_argument(name: str, args: CheckArguments) -> JsonValue:
    """Return an argument, or raise if the check does not have it."""
    if name not in args:
        raise SourceFailedError(FailureReason.ARGUMENT, f"the argument {name} is not given")
    return args[name]


def single_argument(name: str, args: CheckArguments) -> str:
    """Return a scalar argument as text."""
    value = required_argument(name, args)
    if not is_scalar(value):
        raise SourceFailedError(
            FailureReason.ARGUMENT, f"the argument {name} is {kind_of(value)}, not a single value"
        )
    return scalar_text(value)


_SENDABLE: Final = re.compile(r"[ -~]{1,4096}")


@dataclass(frozen=True, slots=True)
class OutgoingValues:
    """Texts to send, and the secrets in them. Its repr shows neither."""

    texts: Mapping[str, str] = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)


def resolve_secrets(
    settings: Mapping[str, HeaderValue], environment: Mapping[str, str]
) -> OutgoingValues:
    """Return the texts of settings, or raise if an environment variable is not set."""
    texts, secrets = {}, []
    for name, setting in settings.items():
        if isinstance(setting, EnvironmentSecret):
            value = environment_secret(setting, environment)
            secrets.append(value)
            texts[name] = setting.prefix + value
        else:
            texts[name] = setting
    return OutgoingValues(texts, tuple(secrets))


def environment_secret(setting: EnvironmentSecret, environment: Mapping[str, str]) -> str:
    """Return the value of an environment variable."""
    value = environment.get(setting.env, "").strip()
    if not _SENDABLE.fullmatch(value):
        problem = f"the environment variable {setting.env} holds nothing that can be sent"
        raise SourceFailedError(FailureReason.SECRET, problem)
    return value


def refuse_echo(raw: JsonValue, secrets: tuple[str, ...]) -> None:
    """Raise if an answer repeats a secret, which would then be published in a receipt."""
    hidden = list(filter(is_worth_masking, secrets))
    if not hidden:
        return
    text = sorted_compact(raw).decode("ascii")
    if any(json.dumps(secret)[1:-1] in text for secret in hidden):
        raise SourceFailedError(
            FailureReason.SECRET, "the answer repeats a secret that was sent to the source"
        )
