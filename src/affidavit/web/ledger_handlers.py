"""The handlers of documents, sessions and ledgers: each calls one use case in a thread.

Bodies are JSON by the rules of strict JSON, but a document is uploaded as it is and streamed.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Annotated, Any, Final, Generic, TypeVar

import anyio
import msgspec
from anyio.to_thread import run_sync
from litestar import Request, Response
from litestar.exceptions import ClientException, InternalServerException
from litestar.openapi.spec import Example
from litestar.params import JSONBody, PathParameter, QueryParameter
from litestar.response import File, Stream

from affidavit.app.ledger_service import (
    Actor,
    ApprovalV1,
    ClaimChangeV1,
    ExportRequestV1,
    HoldV1,
    LedgerService,
    NewRunV1,
    NewSessionV1,
    request_from_json,
)
from affidavit.app.ledger_views import (
    CitationV1,
    ClaimDetailV1,
    DecisionListV1,
    DecisionV1,
    DocumentListV1,
    DocumentV1,
    ExportV1,
    LedgerResponseV1,
    ProgressEventV1,
    SessionListV1,
    SessionV1,
)
from affidavit.app.page_views import DEFAULT_WIDTH, WIDTHS, QuoteV1
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import service as service_faults
from affidavit.base.faults import store as faults
from affidavit.base.json_values import JsonLimits
from affidavit.decision.evaluation import DecisionSummary
from affidavit.ledger.record import Ledger
from affidavit.web.access import CallerSlots
from affidavit.web.bodies import NO_BODY, EncodedJson, RawBody, request_state

Result = TypeVar("Result")
Id = Annotated[str, PathParameter(schema_extra={"format": "uuid"})]
ChunkHash = Annotated[
    str,
    # Not `pattern`: what is no hash is answered with 422 and a code.
    PathParameter(
        schema_extra={"pattern": "^[0-9A-Fa-f]{8,64}$"}, examples=[Example(value="b8b859ac")]
    ),
]
FileName = Annotated[
    str,
    # As above; the use case refuses everything that cannot be printed.
    QueryParameter(
        name="filename",
        description="The name of the document, with its ending.",
        schema_extra={"pattern": "^[0-9A-Za-z][0-9A-Za-z._-]*$", "maxLength": 200},
    ),
]
After = Annotated[
    str | None,
    QueryParameter(name="after", required=False, description="`next` of the page before."),
]
RunNumber = Annotated[
    int | None,
    QueryParameter(name="run", required=False, ge=1, description="A run; by default the newest."),
]
PageName = Annotated[
    str,
    # Not `pattern`: another name is answered with 404.
    PathParameter(
        schema_extra={"pattern": "^[1-9][0-9]*[.]png$"}, examples=[Example(value="1.png")]
    ),
]
ImageWidth = Annotated[
    int,
    QueryParameter(
        name="width",
        required=False,
        ge=1,
        le=WIDTHS[-1],
        description=f"In pixels; the image has the next of {', '.join(map(str, WIDTHS))}.",
    ),
]
Offset = Annotated[
    int,
    QueryParameter(
        name="start", ge=0, description="In code points of the document's text, as `end` is."
    ),
]

PAGE_MAX_AGE_SECONDS: Final = 3600
OCTETS: Final = "application/octet-stream"
MAX_NUMBER: Final = 2**53 - 1
"""Of a decision: a larger one could not be said in strict JSON."""
POLL_SECONDS: Final = 0.25
LONGEST_STREAM_SECONDS: Final = 600.0
EXPORT_WAIT_SECONDS: Final = 5.0
_FINAL: Final = frozenset({"done", "error"})


class NothingV1(msgspec.Struct, frozen=True):
    """Said when something is deleted."""

    deleted: str


class ProgressStream(Stream, Generic[Result]):
    """Server-sent events of a kind."""

    def __init__(self, events: AsyncIterator[bytes]) -> None:
        super().__init__(events, media_type="text/event-stream")


@dataclass(frozen=True, slots=True)
class LedgerHandlers:
    """The handlers of one service with a store."""

    use_cases: LedgerService
    limits: JsonLimits
    limiter: anyio.CapacityLimiter
    slots: CallerSlots

    async def upload_document(
        self,
        request: Request[Any, Any, Any],
        filename: FileName,
    ) -> EncodedJson[DocumentV1]:
        """Upload a document: its bytes as the body. It is read later; its status says when."""
        # A page of another origin could send any other type without asking first.
        given = request.headers.get("content-type", "of no stated type")
        if given.partition(";")[0].strip().lower() != OCTETS:
            raise AffidavitError(faults.UPLOAD_TYPE, found=given[:60])
        caller = _caller(request)
        with self.slots.take(request_state(request).caller.name):
            upload = await self._thread(self.use_cases.begin_upload, caller, filename)
            try:
                await self._receive(request, upload.write)
                found = await self._thread(self.use_cases.finish_upload, caller, filename, upload)
            finally:
                await run_sync(upload.abandon)
        return _json(found)

    async def list_documents(
        self, request: Request[Any, Any, Any], after: After = None
    ) -> EncodedJson[DocumentListV1]:
        """List the documents of the workspace."""
        return _json(await self._run(request, self.use_cases.documents, after))

    async def get_document(
        self, request: Request[Any, Any, Any], document_id: Id
    ) -> EncodedJson[DocumentV1]:
        """Return a document with its status: processing, ready or error."""
        return _json(await self._run(request, self.use_cases.document, document_id))

    async def document_content(
        self, request: Request[Any, Any, Any], document_id: Id
    ) -> Response[bytes]:
        """Return the bytes of a document as they were uploaded."""
        path, found = await self._run(request, self.use_cases.original, document_id)
        # Never shown by a browser on this origin: the bytes are those of a stranger.
        return File(path, filename=found.filename, media_type=OCTETS)

    async def document_page(
        self,
        request: Request[Any, Any, Any],
        document_id: Id,
        page: PageName,
        width: ImageWidth = DEFAULT_WIDTH,
    ) -> Response[bytes]:
        """Return a page of a PDF as an image."""
        png = await self._run(request, self._page, document_id, page, width)
        # The bytes of a document never change.
        headers = {"cache-control": f"private, max-age={PAGE_MAX_AGE_SECONDS}"}
        return Response(png, media_type="image/png", headers=headers)

    async def document_quote(
        self,
        request: Request[Any, Any, Any],
        document_id: Id,
        start: Offset,
        end: Annotated[int, QueryParameter(name="end", ge=1)],
    ) -> EncodedJson[QuoteV1]:
        """Return a passage in its context, with the boxes of its lines on the pages of a PDF."""
        return _json(await self._run(request, self._quote, document_id, start, end))

    async def hold_document(
        self,
        request: Request[Any, Any, Any],
        document_id: Id,
        data: JSONBody[RawBody[HoldV1]] = NO_BODY,
    ) -> EncodedJson[DocumentV1]:
        """Put a document under a legal hold, or lift it."""
        wanted = self._decoded(data, HoldV1)
        return _json(await self._run(request, self.use_cases.hold_document, document_id, wanted))

    async def delete_document(
        self, request: Request[Any, Any, Any], document_id: Id
    ) -> EncodedJson[NothingV1]:
        """Delete a document. Ledgers keep its citations, which do not resolve any more."""
        await self._run(request, self.use_cases.delete_document, document_id)
        return _json(NothingV1(document_id))

    async def create_session(
        self,
        request: Request[Any, Any, Any],
        data: JSONBody[RawBody[NewSessionV1]] = NO_BODY,
    ) -> EncodedJson[SessionV1]:
        """Check an answer against the documents of the workspace. The check runs later."""
        wanted = self._decoded(data, NewSessionV1)
        return _json(await self._run(request, self.use_cases.create_session, wanted))

    async def list_sessions(
        self, request: Request[Any, Any, Any], after: After = None
    ) -> EncodedJson[SessionListV1]:
        """List the sessions of the workspace."""
        return _json(await self._run(request, self.use_cases.sessions, after))

    async def get_session(
        self, request: Request[Any, Any, Any], session_id: Id
    ) -> EncodedJson[SessionV1]:
        """Return a session with its runs, the newest first, and their progress."""
        return _json(await self._run(request, self.use_cases.session, session_id))

    async def hold_session(
        self,
        request: Request[Any, Any, Any],
        session_id: Id,
        data: JSONBody[RawBody[HoldV1]] = NO_BODY,
    ) -> EncodedJson[SessionV1]:
        """Put a session under a legal hold, or lift it."""
        wanted = self._decoded(data, HoldV1)
        return _json(await self._run(request, self.use_cases.hold_session, session_id, wanted))

    async def delete_session(
        self, request: Request[Any, Any, Any], session_id: Id
    ) -> EncodedJson[NothingV1]:
        """Delete a session with its ledgers and decisions."""
        await self._run(request, self.use_cases.delete_session, session_id)
        return _json(NothingV1(session_id))

    async def run_session(
        self,
        request: Request[Any, Any, Any],
        session_id: Id,
        data: JSONBody[RawBody[NewRunV1]] = NO_BODY,
    ) -> EncodedJson[SessionV1]:
        """Check a session once more, against the documents that are ready then."""
        wanted = self._decoded(data, NewRunV1)
        return _json(await self._run(request, self.use_cases.run_session, session_id, wanted))

    async def session_progress(
        self, request: Request[Any, Any, Any], session_id: Id
    ) -> ProgressStream[ProgressEventV1]:
        """Stream the newest run as server-sent events, until it is done or has failed."""
        found = await self._run(request, self.use_cases.session, session_id)

        async def events() -> AsyncIterator[bytes]:
            shown, current = None, found
            with anyio.move_on_after(LONGEST_STREAM_SECONDS):
                while True:
                    run = current.runs[0]
                    if run != shown:
                        yield b"event: progress\ndata: " + msgspec.json.encode(run) + b"\n\n"
                        shown = run
                    if run.status in _FINAL:
                        return
                    await asyncio.sleep(POLL_SECONDS)
                    current = await self._run(request, self.use_cases.session, session_id)

        return ProgressStream(events())

    async def get_ledger(
        self, request: Request[Any, Any, Any], session_id: Id, number: RunNumber = None
    ) -> EncodedJson[LedgerResponseV1]:
        """Return the ledger of a session, after what people decided."""
        return _json(await self._run(request, self.use_cases.ledger, session_id, number))

    async def sealed_ledger(
        self, request: Request[Any, Any, Any], session_id: Id, number: RunNumber = None
    ) -> EncodedJson[Ledger]:
        """Return the judge's ledger, byte for byte as it replays."""
        found = await self._run(request, self.use_cases.sealed_ledger, session_id, number)
        return EncodedJson(found)

    async def get_claim(
        self, request: Request[Any, Any, Any], session_id: Id, claim_id: Id
    ) -> EncodedJson[ClaimDetailV1]:
        """Return a claim with everything that the judge read about it."""
        return _json(await self._run(request, self.use_cases.claim, session_id, claim_id))

    async def list_decisions(
        self,
        request: Request[Any, Any, Any],
        session_id: Id,
        after: Annotated[
            int, QueryParameter(name="after", required=False, ge=0, le=MAX_NUMBER)
        ] = 0,
    ) -> EncodedJson[DecisionListV1]:
        """List what people decided, from a number on: what others did since you looked."""
        return _json(await self._run(request, self.use_cases.decisions, session_id, after))

    async def session_gates(
        self,
        request: Request[Any, Any, Any],
        session_id: Id,
        gates: Annotated[
            list[str] | None,
            QueryParameter(
                name="gate", required=False, schema_extra={"examples": [["coverage>=0.9"]]}
            ),
        ] = None,
    ) -> EncodedJson[DecisionSummary]:
        """Decide by other gates, after what people decided. Nothing is changed."""
        return _json(await self._run(request, self.use_cases.gates, session_id, gates or ()))

    async def change_claim(
        self,
        request: Request[Any, Any, Any],
        session_id: Id,
        claim_id: Id,
        data: JSONBody[RawBody[ClaimChangeV1]] = NO_BODY,
    ) -> EncodedJson[LedgerResponseV1]:
        """Override the verdict, type or importance of a claim, with a reason."""
        wanted = self._decoded(data, ClaimChangeV1)
        return _json(
            await self._run(request, self.use_cases.change_claim, session_id, claim_id, wanted)
        )

    async def approve_session(
        self,
        request: Request[Any, Any, Any],
        session_id: Id,
        data: JSONBody[RawBody[ApprovalV1]] = NO_BODY,
    ) -> EncodedJson[DecisionV1]:
        """Approve the answer, or reject it, with a reason."""
        wanted = self._decoded(data, ApprovalV1)
        return _json(await self._run(request, self.use_cases.approve, session_id, wanted))

    async def export_ledger(
        self,
        request: Request[Any, Any, Any],
        session_id: Id,
        data: JSONBody[RawBody[ExportRequestV1]] = NO_BODY,
    ) -> EncodedJson[ExportV1]:
        """Export the ledger, and return a signed address that expires after an hour."""
        wanted = self._decoded(data, ExportRequestV1)
        found = await self._run(request, self.use_cases.export, session_id, wanted.format)
        export_id = found.download_url.rpartition("/")[2].partition("?")[0]
        with anyio.move_on_after(EXPORT_WAIT_SECONDS):
            while found.status == "processing":
                await asyncio.sleep(POLL_SECONDS)
                found = await self._run(request, self.use_cases.export_status, export_id)
        return _json(found)

    async def download_export(
        self,
        request: Request[Any, Any, Any],
        export_id: Id,
        expires: Annotated[str, QueryParameter(name="expires")],
        signature: Annotated[str, QueryParameter(name="signature")],
    ) -> Response[bytes]:
        """Fetch an export by its signed address. No key is needed until it expires."""
        found = await self._thread(self.use_cases.download, export_id, expires, signature)
        headers = {"content-disposition": f'attachment; filename="{found.filename}"'}
        return Response(found.content, media_type=found.media_type, headers=headers)

    async def session_bundle(
        self, request: Request[Any, Any, Any], session_id: Id
    ) -> Response[bytes]:
        """Seal the ledger and what people decided in an evidence bundle."""

        def sealed(caller: Actor) -> bytes:
            with self.use_cases.bundle(caller, session_id) as path:
                return path.read_bytes()

        content = await self._run(request, sealed)
        headers = {"content-disposition": 'attachment; filename="session.tar.gz"'}
        return Response(content, media_type="application/gzip", headers=headers)

    async def resolve_citation(
        self, request: Request[Any, Any, Any], chunk_hash: ChunkHash
    ) -> EncodedJson[CitationV1]:
        """Return the passage that a citation names, with its place on the page."""
        return _json(await self._run(request, self.use_cases.citation, chunk_hash))

    def _page(self, caller: Actor, document_id: str, page: str, width: int) -> bytes:
        return self.use_cases.pages.page(caller.workspace, document_id, page, width)

    def _quote(self, caller: Actor, document_id: str, start: int, end: int) -> QuoteV1:
        return self.use_cases.pages.quote(caller.workspace, document_id, start, end)

    async def _receive(
        self, request: Request[Any, Any, Any], write: Callable[[bytes], None]
    ) -> None:
        seconds = self.use_cases.limits.seconds
        try:
            async with asyncio.timeout(seconds):
                async for piece in request.stream():
                    if piece:
                        await run_sync(write, piece)
        except TimeoutError:
            raise AffidavitError(service_faults.BODY_LATE, seconds=f"{seconds:g}") from None
        except (InternalServerException, ClientException) as error:
            if getattr(error, "status_code", 0) == 413:
                problem = f"it has more than {self.use_cases.limits.max_bytes} bytes"
                raise AffidavitError(faults.UPLOAD_LIMIT, problem=problem) from None
            raise AffidavitError(service_faults.BODY_INCOMPLETE) from None

    def _decoded(self, data: RawBody[Any], model: type[Result]) -> Result:
        return request_from_json(data.raw, self.limits, model)

    async def _run(
        self, request: Request[Any, Any, Any], work: Callable[..., Result], *args: object
    ) -> Result:
        with self.slots.take(request_state(request).caller.name):
            return await self._thread(work, _caller(request), *args)

    async def _thread(self, work: Callable[..., Result], *args: object) -> Result:
        return await run_sync(work, *args, limiter=self.limiter)


def _caller(request: Request[Any, Any, Any]) -> Actor:
    caller = request_state(request).caller
    return Actor(caller.workspace, caller.shown_name, caller.identity)


def _json(value: Any) -> EncodedJson[Any]:
    return EncodedJson(msgspec.json.encode(value))
