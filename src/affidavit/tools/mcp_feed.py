"""A tool of an MCP server as a source, with the official client from the extra `mcp`.

A server is a command that runs for one request (stdio), or a URL (streamable HTTP) on an allowed
host. The result is the structured content of the tool, or else its only text if that is strict
JSON. The log of the server is not shown.
"""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any, Final

from affidavit.base.errors import AffidavitError
from affidavit.base.http_address import origin_of
from affidavit.base.json_values import DOCUMENT_LIMITS, JsonLimits, JsonValue
from affidavit.base.strict_json import decode
from affidavit.checks.facts import EvidenceSource, SourceAnswer
from affidavit.tools.allow_list import (
    AllowList,
    require_addresses,
    resolve_allowed,
    server_identities,
)
from affidavit.tools.event_loop import run_request
from affidavit.tools.feed import (
    CheckArguments,
    FailureReason,
    SourceFailedError,
    SourceRequest,
    file_identity,
    require_json,
)
from affidavit.tools.http_feed import fetchable_address
from affidavit.tools.settings import (
    McpSource,
    OutgoingValues,
    fill_arguments,
    refuse_echo,
    resolve_secrets,
)

_GRACE_S: Final = 10.0
"""To end the server process, after the caller has given up."""


@dataclass(frozen=True, slots=True)
class McpFeed:
    """One tool of one server. Every request opens a session."""

    source: EvidenceSource
    settings: McpSource
    folder: Path
    allowed: AllowList
    environment: Mapping[str, str] = field(repr=False)

    def ask(self, args: CheckArguments, request: SourceRequest) -> SourceAnswer:
        """Return the result of the tool."""
        _require_client()
        settings = self.settings
        outgoing = resolve_secrets(
            settings.headers if settings.url else settings.env, self.environment
        )
        arguments = args if settings.arguments is None else fill_arguments(settings.arguments, args)
        identities: tuple[str, ...] = (self._command_identity(),)
        if settings.url is not None:
            origin = origin_of(fetchable_address(settings.url))
            self.allowed.require_host(origin)
            addresses = resolve_allowed(origin.host, origin.port, self.allowed)
            identities = server_identities(addresses, origin.port)
        work = self._call_tool(arguments, outgoing, request)
        check = partial(require_addresses, self.allowed)
        try:
            result = run_request(work, request, check, _GRACE_S)
        except SourceFailedError:
            raise
        except Exception as error:
            request.seconds_left()
            raise _mcp_failure(error) from None
        raw = json_from_tool_result(result, settings.max_bytes)
        refuse_echo(raw, outgoing.secrets)
        moment = settings.moment(raw, request.asked_at)
        return SourceAnswer(self.source, raw, moment, identities)

    def _command_identity(self) -> str:
        """Return what the command starts: its files, whatever names lead to them."""
        words = []
        for word in self.settings.command or ():
            try:
                words.append(file_identity((self.folder / (which(word) or word)).stat()))
            except (OSError, ValueError):
                words.append(word)
        return f"command:{words}"

    async def _call_tool(
        self, arguments: Any, outgoing: OutgoingValues, request: SourceRequest
    ) -> Any:
        import anyio
        from mcp import ClientSession

        with anyio.fail_after(request.seconds_left()):
            async with (
                self._streams(outgoing) as (incoming, outgoing_stream),
                ClientSession(incoming, outgoing_stream) as session,
            ):
                await session.initialize()
                return await session.call_tool(self.settings.tool, dict(arguments))

    @asynccontextmanager
    async def _streams(self, outgoing: OutgoingValues) -> AsyncIterator[tuple[Any, Any]]:
        settings = self.settings
        if settings.url is not None:
            import httpx2
            from mcp.client.streamable_http import streamable_http_client

            # Proxies and keys of the environment are ignored: only the settings count.
            async with (
                httpx2.AsyncClient(headers=dict(outgoing.texts), trust_env=False) as client,
                streamable_http_client(settings.url, http_client=client) as streams,
            ):
                yield streams
            return
        from mcp import StdioServerParameters
        from mcp.client.stdio import stdio_client

        program, *rest = settings.command or ("",)
        server = StdioServerParameters(
            command=program, args=rest, env=dict(outgoing.texts), cwd=self.folder
        )
        with Path(os.devnull).open("w", encoding="utf-8") as discarded:
            async with stdio_client(server, errlog=discarded) as streams:
                yield streams


def json_from_tool_result(result: Any, max_bytes: int) -> JsonValue:
    """Return the JSON of a tool's result, or raise SourceFailedError."""
    if result.is_error:
        raise SourceFailedError(
            FailureReason.REFUSED, "the tool of the MCP server says that it failed"
        )
    if result.structured_content is not None:
        return require_json(result.structured_content, max_bytes)
    texts = [getattr(block, "text", None) for block in result.content]
    if len(texts) != 1 or texts[0] is None:
        raise SourceFailedError(
            FailureReason.CONTENT, "the tool's result is neither structured nor one text"
        )
    try:
        return decode(texts[0].encode(), JsonLimits(max_bytes, DOCUMENT_LIMITS.max_depth))
    except AffidavitError as error:
        problem = f"the tool's text is not strict JSON ({error.fault.name})"
        raise SourceFailedError(FailureReason.MALFORMED, problem) from None


def _require_client() -> None:
    if find_spec("mcp") is None:
        problem = "an MCP source needs the package mcp: pip install 'affidavit[mcp]'"
        raise SourceFailedError(FailureReason.NOT_INSTALLED, problem)


def _mcp_failure(error: BaseException) -> SourceFailedError:
    """Return the failure for the first error inside a group of errors."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, SourceFailedError):
        return error
    if isinstance(error, TimeoutError):
        return SourceFailedError(FailureReason.LATE, "the MCP server did not answer in time")
    # The HTTP library of the client has its own error class for a failed connection.
    if isinstance(error, OSError) or type(error).__name__ == "ConnectError":
        return SourceFailedError(
            FailureReason.UNREACHABLE, "the MCP server cannot be started or reached"
        )
    return SourceFailedError(
        FailureReason.REFUSED, f"the MCP server did not answer ({type(error).__name__})"
    )
