"""Bodies of requests and responses, and what the middleware knows about a request."""

import asyncio
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar, cast

from litestar import MediaType, Request, Response
from litestar.connection import ASGIConnection
from litestar.dto import AbstractDTO
from litestar.exceptions import InternalServerException

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import service as faults
from affidavit.web.middleware import REQUEST_STATE_KEY, RequestState
from affidavit.web.routes import JSON

Model = TypeVar("Model")


class EncodedJson(Response[Model]):
    """A response whose body is the JSON text of a `Model`, encoded by the use case."""

    def __init__(self, body: bytes, max_age_seconds: int = 0) -> None:
        headers = {"cache-control": f"public, max-age={max_age_seconds}"} if max_age_seconds else {}
        super().__init__(cast(Any, body), media_type=JSON, headers=headers)


_NO_SCRIPT: Final = "default-src 'none'; style-src 'unsafe-inline'"


class PageResponse(Response[str]):
    """An HTML page, which loads nothing and runs nothing but what its policy allows."""

    def __init__(self, page: str, policy: str = _NO_SCRIPT, status_code: int = 200) -> None:
        headers = {"content-security-policy": f"{policy}; frame-ancestors 'none'"}
        super().__init__(page, media_type=MediaType.HTML, headers=headers, status_code=status_code)


@dataclass(frozen=True, slots=True)
class RawBody(Generic[Model]):
    """The undecoded body of a request, which should be a `Model`.

    The use case decodes it by the rules of strict JSON, in a thread.
    """

    raw: bytes


NO_BODY: Final[RawBody[Any]] = RawBody(b"")


class RawBodyDTO(AbstractDTO[Any]):
    """Passes the body to a handler as `RawBody`, and documents the model that it names."""

    @classmethod
    def create_for_field_definition(cls, *_: Any, **__: Any) -> None:
        """Prepare nothing: Litestar does not decode the body."""

    @classmethod
    def is_supported_model_type_field(cls, field_definition: Any) -> bool:
        """Keep out of the response."""
        return False

    @classmethod
    def create_openapi_schema(
        cls, field_definition: Any, handler_id: str, schema_creator: Any
    ) -> Any:
        """Return the schema of the model."""
        return schema_creator.for_field_definition(field_definition.inner_types[0])

    def decode_bytes(self, value: bytes) -> RawBody[Any]:
        """Return the body as it was sent."""
        return RawBody(value)


class ServiceRequest(Request[Any, Any, Any]):
    """A request whose body must be JSON and must arrive in time."""

    async def body(self) -> bytes:
        """Return the body, or raise why it is not accepted."""
        _require_json(self)
        seconds = self.app.state.body_seconds
        try:
            async with asyncio.timeout(seconds):
                return await super().body()
        except TimeoutError:
            raise AffidavitError(faults.BODY_LATE, seconds=f"{seconds:g}") from None
        except InternalServerException:  # Litestar raises it if the client has disconnected.
            raise AffidavitError(faults.BODY_INCOMPLETE) from None


def request_state(connection: ASGIConnection[Any, Any, Any, Any]) -> RequestState:
    """Return what the middleware knows about a request."""
    found: RequestState = cast(Any, connection.scope)[REQUEST_STATE_KEY]
    return found


def _require_json(request: ServiceRequest) -> None:
    given = request.headers.get("content-type", "")
    media_type, _, parameters = given.partition(";")
    charset = parameters.strip().lower().replace('"', "")
    encoding = request.headers.get("content-encoding", "identity").lower()
    if media_type.strip().lower() != JSON or charset not in ("", "charset=utf-8"):
        raise AffidavitError(faults.NOT_JSON, found=given[:60] or "of no stated type")
    if encoding != "identity":
        raise AffidavitError(faults.NOT_JSON, found=f"encoded as {encoding[:60]}")
