"""The table `[chat]` of a judge's file: every setting, its range, and what may not be combined.

The key is never a setting: only the name of the environment variable that holds it is.
"""

from typing import Annotated, Final, Literal, NoReturn, get_args
from urllib.parse import SplitResult, urlsplit

import msgspec

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import judge as faults
from affidavit.http.address import Flaw, address_from

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})

Text = Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
Price = Annotated[float, msgspec.Meta(ge=0)]

Format = Literal["json_schema", "json_object_schema", "json_object", "text"]
FORMATS: Final[tuple[Format, ...]] = get_args(Format)
"""How an answer's form is asked for, the strictest first; a server that refuses gets the next.

The second is how llama.cpp and others took a schema before OpenAI did.
"""


class ChatV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings as the file says them. All of them but the last group decide what is asked."""

    base_url: Text
    model: Text
    seed: int = 0
    temperature: Annotated[float, msgspec.Meta(ge=0, le=2)] = 0.0
    max_output_tokens: Annotated[int, msgspec.Meta(ge=16, le=100_000)] = 400
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    response_format: Format | Literal["auto"] = "auto"
    omit: tuple[Literal["temperature", "seed"], ...] = ()
    """What the server does not let a client set."""
    max_evidence_characters: Annotated[int, msgspec.Meta(ge=200, le=1_000_000)] = 20_000

    api_key_env: Text | None = None
    timeout_s: Annotated[float, msgspec.Meta(gt=0, le=3600)] = 60.0
    retries: Annotated[int, msgspec.Meta(ge=0, le=20)] = 4
    max_requests_per_minute: Annotated[float, msgspec.Meta(gt=0)] | None = None
    price_per_million_input: Price | None = None
    price_per_million_output: Price | None = None
    budget: Price | None = None
    currency: Annotated[str, msgspec.Meta(min_length=1, max_length=8)] = "USD"

    @property
    def address(self) -> SplitResult:
        """The parts of `base_url`, which `chat_settings` has found to be right."""
        return urlsplit(self.base_url.rstrip("/"))

    @property
    def endpoint(self) -> str:
        """Where requests go: the address to which the user's texts are sent."""
        address = self.address
        return f"{address.scheme}://{address.netloc.lower()}{address.path}/chat/completions"

    @property
    def formats(self) -> tuple[Format, ...]:
        """The forms of answer to ask for, in order."""
        return FORMATS if self.response_format == "auto" else (self.response_format,)

    def asked_with(self) -> dict[str, object]:
        """Return what decides over a reply beside the texts: this is cached and identified by."""
        return {
            "endpoint": self.endpoint,
            "model": self.model,
            "seed": None if "seed" in self.omit else self.seed,
            "temperature": None if "temperature" in self.omit else self.temperature,
            "max_output_tokens": self.max_output_tokens,
            "response_format": self.response_format,
            "max_evidence_characters": self.max_evidence_characters,
        }


def chat_settings(wire: ChatV1) -> ChatV1:
    """Return the settings if they can be used together; raise which field cannot."""
    _check_address(wire)
    priced = (wire.price_per_million_input, wire.price_per_million_output)
    if None in priced and priced != (None, None):
        _refuse("price_per_million_output", "the prices of input and of output go together")
    if wire.budget is not None and None in priced:
        _refuse("budget", "a budget needs price_per_million_input and price_per_million_output")
    return wire


def _check_address(wire: ChatV1) -> None:
    address = address_from(wire.base_url)
    if address is Flaw.UNREADABLE:
        _refuse("base_url", "this is not an address")
    if address is Flaw.UNUSABLE:
        _refuse("base_url", "the address must begin with https:// or http:// and name a host")
    # A name, password or query in an address is where keys hide; the file must not hold one.
    if address is Flaw.HAS_USER or "?" in wire.base_url or "#" in wire.base_url:
        _refuse("base_url", "the address may hold no user, password, query or fragment")
    if address.scheme == "http" and wire.api_key_env and address.hostname not in LOOPBACK:
        _refuse("base_url", "a key is sent over https only, unless the server is on this machine")


def _refuse(field: str, problem: str) -> NoReturn:
    raise AffidavitError(faults.JUDGE_FIELD, Where(field=f"chat.{field}"), problem=problem)
