"""The MCP server: five tools over standard input and output, or over streamable HTTP.

A tool that cannot do what it was asked for answers with one line: the code, and the next step.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from affidavit import __version__
from affidavit.app.agent_tools import AgentTools
from affidavit.base.errors import AffidavitError

if TYPE_CHECKING:
    from mcp.server import MCPServer

Result = TypeVar("Result")

INSTRUCTIONS: Final = (
    "Affidavit shows what an answer rests on. Call check_answer with your answer before you give it"
    " to anybody, and change or leave out what is not supported. Verdicts are found by rules and a"
    " judge over the named documents; they do not say that the documents are true."
)
HTTP_PATH: Final = "/mcp"
_HOSTS: Final = ("127.0.0.1", "localhost", "[::1]")


def build_server(tools: AgentTools) -> "MCPServer":
    """Return the server over the tools of a project."""
    from mcp.server import MCPServer

    server = MCPServer("affidavit", version=__version__, instructions=INSTRUCTIONS)
    own = AgentToolHandlers(tools)
    for tool in (
        own.check_answer,
        own.judge_claim,
        own.resolve_citation,
        own.answer_checks,
        own.verify,
    ):
        server.add_tool(tool)
    return server


class AgentToolHandlers:
    """The tools as agents see them: the signatures and docstrings are their descriptions."""

    def __init__(self, tools: AgentTools) -> None:
        self._tools = tools

    def check_answer(
        self,
        answer: str,
        contexts: list[str] | None = None,
        query: str | None = None,
        gates: list[str] | None = None,
        judge: str | None = None,
    ) -> dict[str, Any]:
        """Check every claim of an answer against the documents of the project.

        With `contexts` (texts, such as the passages you were given) these are read instead.
        `query` is the question. `decision` is ship, no_ship or unmeasured; each claim has a
        verdict: supported, weak, contradicted or not_found, with the deciding sentence.
        """
        return _told(
            lambda: self._tools.check_answer(answer, contexts or (), query, gates or (), judge)
        )

    def judge_claim(
        self, claim: str, evidence: list[str], judge: str | None = None
    ) -> dict[str, Any]:
        """Judge one claim against one or more texts: its verdict, confidence and evidence."""
        return _told(lambda: self._tools.judge_claim(claim, evidence, judge))

    def resolve_citation(self, citation: str) -> dict[str, Any]:
        """Return the passage that a citation such as [cite:00f66349] names, with its page."""
        return _told(lambda: self._tools.resolve_citation(citation))

    def answer_checks(
        self,
        checks: list[dict[str, Any]] | None = None,
        question: str | None = None,
        deadline_ms: int | None = None,
    ) -> dict[str, Any]:
        """Ask the tools of the project, and return a signed receipt.

        A check is {"id": ..., "tool": ..., "args": {...}, "expect": {"op": ..., "value": ...}};
        instead of checks a question can be asked that the project has a route for.
        """
        return _told(lambda: self._tools.answer_checks(checks or (), question, deadline_ms))

    def verify(self, receipt: dict[str, Any]) -> dict[str, Any]:
        """Verify a receipt, or linked ones, in numbered steps, with the keys of the project."""
        return _told(lambda: self._tools.verify(receipt))


def _told(work: Callable[[], Result]) -> Result:
    from mcp.server.mcpserver.exceptions import ToolError

    try:
        return work()
    except AffidavitError as error:
        raise ToolError(str(error)) from None


def serve_stdio(tools: AgentTools) -> None:
    """Serve the program that started this one, until it closes the standard input."""
    build_server(tools).run(transport="stdio")


def serve_http(tools: AgentTools, port: int) -> None:
    """Serve programs of this machine. Web pages have another Host or Origin, and are refused."""
    from mcp.server.transport_security import TransportSecuritySettings

    security = TransportSecuritySettings(
        allowed_hosts=[f"{host}:{port}" for host in _HOSTS],
        allowed_origins=[f"http://{host}:{port}" for host in _HOSTS],
    )
    build_server(tools).run(
        transport="streamable-http",
        host="127.0.0.1",
        port=port,
        streamable_http_path=HTTP_PATH,
        transport_security=security,
    )
