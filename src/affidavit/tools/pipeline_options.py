"""Builds the pipeline from options: a URL or a command, validated before the first question."""

import re
import shlex
import shutil
from collections.abc import Iterable, Mapping
from typing import Final

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import gates as faults
from affidavit.base.http_address import UrlProblem, parse_url
from affidavit.base.json_values import JsonValue
from affidavit.base.strict_json import decode
from affidavit.base.text import excerpt
from affidavit.tools.pipelines import (
    PLACEHOLDERS,
    CommandPipeline,
    HttpPipeline,
    Pipeline,
    placeholders_of,
)

DEFAULT_BODY: Final[Mapping[str, JsonValue]] = {name: f"{{{name}}}" for name in PLACEHOLDERS}
_HEADER: Final = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):\s*(.*)")
_VARIABLE: Final = re.compile(r"\$(?:(\w+)|\{(\w+)\})")
_SENDABLE: Final = re.compile(r"[ -~]+")


def pipeline_named(
    *,
    url: str | None,
    command: str | None,
    body: str | None,
    headers: Iterable[str],
    timeout_seconds: float,
    environment: Mapping[str, str],
) -> Pipeline:
    """Return the pipeline. Exactly one of `url` and `command` must be given."""
    header_texts = tuple(headers)
    if url is not None and command is None:
        return _http(url, body, header_texts, timeout_seconds, environment)
    if url is not None:
        problem = "an address and a command are both given"
        raise AffidavitError(faults.PIPELINE_NONE, problem=problem)
    if command is None:
        problem = "neither an address nor a command is given"
        raise AffidavitError(faults.PIPELINE_NONE, problem=problem)
    if body is not None or header_texts:
        problem = "a body and headers go to an address, not to a command"
        raise AffidavitError(faults.PIPELINE_NONE, problem=problem)
    return _command(command, timeout_seconds)


def _http(
    url: str,
    body: str | None,
    headers: tuple[str, ...],
    timeout_seconds: float,
    environment: Mapping[str, str],
) -> HttpPipeline:
    address = parse_url(url)
    if isinstance(address, UrlProblem):
        raise AffidavitError(faults.PIPELINE_URL, url=excerpt(url), problem=address)
    resolved, secrets = {}, []
    for header in headers:
        name, text, hidden = _header_from(header, environment)
        resolved[name] = text
        secrets.extend(hidden)
    return HttpPipeline(address, _body(body), timeout_seconds, resolved, tuple(secrets))


def _body(text: str | None) -> JsonValue:
    if text is None:
        return dict(DEFAULT_BODY)
    try:
        body = decode(text.encode("utf-8", "surrogatepass"))
    except AffidavitError as error:
        raise AffidavitError(faults.PIPELINE_BODY, problem=error.message) from None
    _require_slots(body)
    if "question" not in placeholders_of(body):
        raise AffidavitError(faults.PIPELINE_SLOT, problem="the body has no place for the question")
    return body


def _header_from(header: str, environment: Mapping[str, str]) -> tuple[str, str, list[str]]:
    """Return the name and text of a header, and the secrets from the environment in it."""
    found = _HEADER.fullmatch(header)
    if found is None:
        raise _bad_header(header.partition(":")[0], "it has no name and text with a colon between")
    secrets: list[str] = []

    def value_of(variable: re.Match[str]) -> str:
        name = variable[1] or variable[2]
        value = environment.get(name, "").strip()
        if not value:
            raise _bad_header(found[1], f"the environment variable {name} is not set")
        secrets.append(value)
        return value

    text = _VARIABLE.sub(value_of, found[2])
    if not _SENDABLE.fullmatch(text):
        raise _bad_header(found[1], "its text is empty or has letters that a header cannot hold")
    return found[1], text, secrets


def _bad_header(name: str, problem: str) -> AffidavitError:
    return AffidavitError(faults.PIPELINE_HEADER, name=excerpt(name), problem=problem)


def _command(line: str, timeout_seconds: float) -> CommandPipeline:
    try:
        argv = tuple(shlex.split(line))
    except ValueError as error:
        problem = str(error).rstrip(".").lower()
        raise AffidavitError(
            faults.PIPELINE_COMMAND, command=excerpt(line), problem=problem
        ) from None
    _require_slots(list(argv))
    if not argv or shutil.which(argv[0]) is None:
        problem = f"there is no program {argv[0]!r}" if argv else "it is empty"
        raise AffidavitError(faults.PIPELINE_COMMAND, command=excerpt(line), problem=problem)
    return CommandPipeline(argv, timeout_seconds)


def _require_slots(setting: JsonValue) -> None:
    for name in placeholders_of(setting):
        if name not in PLACEHOLDERS:
            raise AffidavitError(faults.PIPELINE_SLOT, problem=f"{{{name}}} is no slot of a run")
