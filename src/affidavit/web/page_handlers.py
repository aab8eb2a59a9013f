"""The handlers of the pages for people: each calls one use case in a thread and renders it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeVar

import anyio
import msgspec
from anyio.to_thread import run_sync
from litestar import Request, Response
from litestar.params import JSONBody, PathParameter

from affidavit.app.ledger_service import Actor
from affidavit.app.ledger_views import SessionV1
from affidavit.app.review_pages import ExampleV1, ReviewedSession, ReviewPages
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import store as faults
from affidavit.ledger.labels import VERDICT_NAMES, VERDICT_SYMBOLS
from affidavit.ledger.model import ClaimType, Importance, Verdict
from affidavit.ledger.review import MAX_REASON_CHARACTERS
from affidavit.reports import ledger_wording as words
from affidavit.reports.ledger_page import View, claim_view, ledger_view, review_view
from affidavit.web.access import CallerSlots
from affidavit.web.bodies import NO_BODY, EncodedJson, RawBody, request_state
from affidavit.web.ledger_handlers import Id, RunNumber
from affidavit.web.pages import asset_response, render_page, viewer_of

ClaimKey = Annotated[str, PathParameter(description="What the ledger calls a claim.")]
AssetName = Annotated[str, PathParameter(description="A style sheet or script.")]
Result = TypeVar("Result")
_JSON_LINES: Final = "application/jsonl"


@dataclass(frozen=True, slots=True)
class PageHandlers:
    """The pages of one service with a store."""

    use_cases: ReviewPages
    limiter: anyio.CapacityLimiter
    slots: CallerSlots

    async def home(self, request: Request[Any, Any, Any]) -> Response[str]:
        """List the ledgers and documents of the workspace."""
        found = await self._run(request, self.use_cases.home)
        return await self._page(request, "home.html.j2", home=found, words=words)

    async def new_check(self, request: Request[Any, Any, Any]) -> Response[str]:
        """Ask for documents, an answer and the question."""
        found = await self._run(request, self.use_cases.home)
        return await self._page(request, "new.html.j2", home=found)

    async def session(
        self, request: Request[Any, Any, Any], session_id: Id, number: RunNumber = None
    ) -> Response[str]:
        """Show the ledger of a session, or how far its check is."""
        # Somebody else may decide meanwhile: the page asks again with the version that it shows.
        version = await self._run(request, self.use_cases.version, session_id, number)
        tag = f'"{version}"'
        if request.headers.get("if-none-match") == tag:
            return Response("", status_code=304, headers={"etag": tag})
        found = await self._run(request, self.use_cases.session, session_id, number)
        if found is None:
            session = await self._run(request, self.use_cases.unfinished, session_id)
            page = await self._page(request, "progress.html.j2", session=session)
        else:
            values = await run_sync(session_values, found)
            page = await self._page(request, "session.html.j2", **values)
        page.headers["etag"] = tag
        return page

    async def claim(
        self,
        request: Request[Any, Any, Any],
        session_id: Id,
        claim_key: ClaimKey,
        number: RunNumber = None,
    ) -> Response[str]:
        """Show a claim with its evidence: the part of the page that is expanded in place."""
        found = await self._run(request, self.use_cases.session, session_id, number)
        values = None if found is None else claim_values(found, claim_key)
        if values is None:
            raise AffidavitError(faults.ITEM_UNKNOWN, kind="claim", id=claim_key[:40])
        return await self._page(request, "claim.html.j2", **values)

    async def labels(self, request: Request[Any, Any, Any]) -> Response[bytes]:
        """Return the claims that people decided, as labels for `judge calibrate`."""
        content = await self._run(request, self.use_cases.labels)
        headers = {"content-disposition": 'attachment; filename="labels.jsonl"'}
        return Response(content, media_type=_JSON_LINES, headers=headers)

    async def load_example(
        self, request: Request[Any, Any, Any], data: JSONBody[RawBody[object]] = NO_BODY
    ) -> EncodedJson[ExampleV1]:
        """Upload the documents of the example."""
        found = await self._run(request, self.use_cases.load_example)
        return EncodedJson(msgspec.json.encode(found))

    async def asset(self, name: AssetName) -> Response[bytes]:
        """Return a style sheet or script of the pages."""
        return asset_response(name)

    async def _page(
        self, request: Request[Any, Any, Any], template: str, **values: Any
    ) -> Response[str]:
        viewer = viewer_of(request_state(request).caller)
        return await run_sync(lambda: render_page(template, viewer=viewer, **values))

    async def _run(
        self, request: Request[Any, Any, Any], work: Callable[..., Result], *args: object
    ) -> Result:
        caller = request_state(request).caller
        with self.slots.take(caller.name):
            actor = Actor(caller.workspace, caller.shown_name)
            return await run_sync(work, actor, *args, limiter=self.limiter)


def session_values(found: ReviewedSession) -> View:
    """Return what the page of a session shows."""
    numbers = {entry.claim_id: at for at, entry in enumerate(found.ledger.entries, 1)}
    return {
        "session": found.session,
        "heading": _heading(found.session),
        "number": found.number,
        "is_newest": found.is_newest,
        "approval": found.approval.value,
        "report": ledger_view(found.ledger, with_details=False),
        "changed": {each.claim_id for each in found.decisions},
        "history": [review_view(each, numbers) for each in reversed(found.decisions)],
        "max_reason": MAX_REASON_CHARACTERS,
        "is_running": _is_running(found.session),
    }


def claim_values(found: ReviewedSession, claim_key: str) -> View | None:
    """Return what the details of a claim show; None if the ledger has no such claim."""
    for number, entry in enumerate(found.ledger.entries, 1):
        if entry.claim_id == claim_key:
            judged = found.judged[claim_key]
            own = [each for each in found.decisions if each.claim_id == claim_key]
            return {
                "session": found.session,
                # The notes of the effective entry begin with the decisions, which are listed.
                "entry": {**claim_view(number, entry), "notes": judged.notes},
                "claim_uuid": found.claim_ids[claim_key],
                "judged": {
                    "verdict": judged.verdict.value,
                    "words": VERDICT_NAMES[judged.verdict],
                    "symbol": VERDICT_SYMBOLS[judged.verdict],
                    "type_words": words.title_case(judged.claim_type),
                    "importance_words": words.title_case(judged.importance),
                },
                "history": [review_view(each, {claim_key: number}) for each in reversed(own)],
                "is_newest": found.is_newest,
                "verdicts": [(each.value, VERDICT_NAMES[each]) for each in Verdict],
                "types": [(each.value, words.title_case(each)) for each in ClaimType],
                "importances": [(each.value, words.title_case(each)) for each in Importance],
                "max_reason": MAX_REASON_CHARACTERS,
            }
    return None


def _heading(session: SessionV1) -> str:
    """Return the title of a session; where it is only the start of the question, all of that."""
    start = session.title.removesuffix("\u2026")
    return session.query if session.query and session.query.startswith(start) else session.title


def _is_running(session: SessionV1) -> bool:
    return session.status in ("queued", "running")
