"""The table `[chat]` of a judge file, the API key that it names, and the budget that it sets.

The key is never a setting; the file only names the environment variable that holds it.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Final, Literal, NoReturn, get_args
from urllib.parse import SplitResult, urlsplit

import msgspec
from msgspec import Struct

from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import evidence as faults
from affidavit.base.http_address import UrlProblem, parse_url
from affidavit.base.text import is_worth_masking

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})

SettingText = Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
Price = Annotated[float, msgspec.Meta(ge=0)]

ResponseFormat = Literal["json_schema", "json_object_schema", "json_object", "text"]
RESPONSE_FORMATS: Final[tuple[ResponseFormat, ...]] = get_args(ResponseFormat)
"""The formats to request, the strictest first; if a server refuses one, the next is tried.

The second is how llama.cpp and others accepted a schema before OpenAI did.
"""


class ChatSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The settings. Those before `api_key_env` affect the replies."""

    base_url: SettingText
    model: SettingText
    seed: int = 0
    temperature: Annotated[float, msgspec.Meta(ge=0, le=2)] = 0.0
    max_output_tokens: Annotated[int, msgspec.Meta(ge=16, le=100_000)] = 400
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    response_format: ResponseFormat | Literal["auto"] = "auto"
    omit: tuple[Literal["temperature", "seed"], ...] = ()
    """Fields that the server does not accept."""
    max_evidence_characters: Annotated[int, msgspec.Meta(ge=200, le=1_000_000)] = 20_000

    api_key_env: SettingText | None = None
    timeout_s: Annotated[float, msgspec.Meta(gt=0, le=3600)] = 60.0
    retries: Annotated[int, msgspec.Meta(ge=0, le=20)] = 4
    max_requests_per_minute: Annotated[float, msgspec.Meta(gt=0)] | None = None
    price_per_million_input: Price | None = None
    price_per_million_output: Price | None = None
    budget: Price | None = None
    currency: Annotated[str, msgspec.Meta(min_length=1, max_length=8)] = "USD"

    @property
    def address(self) -> SplitResult:
        """The parts of `base_url`, which `chat_settings` has checked."""
        return urlsplit(self.base_url.rstrip("/"))

    @property
    def endpoint(self) -> str:
        """The address to which the user's texts are sent."""
        address = self.address
        return f"{address.scheme}://{address.netloc.lower()}{address.path}/chat/completions"

    @property
    def formats(self) -> tuple[ResponseFormat, ...]:
        """The formats to request, in order."""
        return RESPONSE_FORMATS if self.response_format == "auto" else (self.response_format,)

    def reply_settings(self) -> dict[str, object]:
        """Return the settings that affect a reply: part of the cache key and the identity."""
        return {
            "endpoint": self.endpoint,
            "model": self.model,
            "seed": None if "seed" in self.omit else self.seed,
            "temperature": None if "temperature" in self.omit else self.temperature,
            "max_output_tokens": self.max_output_tokens,
            "response_format": self.response_format,
            "max_evidence_characters": self.max_evidence_characters,
        }


def chat_settings(wire: ChatSettings) -> ChatSettings:
    """Return the settings if they are valid together; otherwise raise the field."""
    _check_address(wire)
    priced = (wire.price_per_million_input, wire.price_per_million_output)
    if None in priced and priced != (None, None):
        _refuse("price_per_million_output", "the prices of input and of output go together")
    if wire.budget is not None and None in priced:
        _refuse("budget", "a budget needs price_per_million_input and price_per_million_output")
    return wire


def _check_address(wire: ChatSettings) -> None:
    address = parse_url(wire.base_url)
    if address is UrlProblem.UNREADABLE:
        _refuse("base_url", "this is not an address")
    if address is UrlProblem.UNUSABLE:
        _refuse("base_url", "the address must begin with https:// or http:// and name a host")
    # A user, password or query may contain a key; the file must not.
    if address is UrlProblem.HAS_USER or "?" in wire.base_url or "#" in wire.base_url:
        _refuse("base_url", "the address may hold no user, password, query or fragment")
    if address.scheme == "http" and wire.api_key_env and address.hostname not in LOOPBACK:
        _refuse("base_url", "a key is sent over https only, unless the server is on this machine")


def _refuse(field: str, problem: str) -> NoReturn:
    raise AffidavitError(faults.JUDGE_FIELD, Where(field=f"chat.{field}"), problem=problem)


_KEY: Final = re.compile(r"[!-~]{1,4096}")
_REDACTED: Final = "[key]"


class ApiKeySecret:
    """A key. It has no readable form, no equality and no pickle, so it cannot reach a file."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def header(self) -> str:
        """Return the value of the Authorization header."""
        return f"Bearer {self._value}"

    def hide(self, text: str) -> str:
        """Return a text from the server without the key, which some servers echo."""
        return text.replace(self._value, _REDACTED) if is_worth_masking(self._value) else text

    def __repr__(self) -> str:
        return _REDACTED

    def __reduce__(self) -> str:
        raise TypeError("a key does not leave its process")


def api_key_from(variable: str, environment: Mapping[str, str]) -> ApiKeySecret:
    """Return the key from an environment variable."""
    value = environment.get(variable, "").strip()
    if not _KEY.fullmatch(value):
        raise AffidavitError(faults.KEY_MISSING, variable=variable)
    return ApiKeySecret(value)


# The cost of a run: counted after each reply, and bounded before each request.
#
# A token is at least one byte of the request, so the length of the request bounds the input tokens
# of any tokenizer. A reply without usage is counted at that bound: not measured is never free.

_MILLION: Final = 1_000_000
_BYTES_PER_TOKEN: Final = 4  # Of English; the estimate only.
_TYPICAL_OUTPUT_TOKENS: Final = 120


class TokenUsage(Struct, frozen=True):
    """Input and output tokens."""

    input_tokens: int
    output_tokens: int


class CostEstimate(Struct, frozen=True, kw_only=True):
    """The requests and cost of a run. The costs are None if the file states no prices."""

    pairs: int
    cached: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    most: float | None


class CostAccount:
    """The costs of one judge in one process."""

    def __init__(self, settings: ChatSettings) -> None:
        self._settings = settings
        self.requests = 0
        self.input_tokens = 0
        self.output_tokens = 0
        self.is_exact = True

    @property
    def cost(self) -> float | None:
        """The cost so far; None if the file states no prices."""
        return self.cost_of(TokenUsage(self.input_tokens, self.output_tokens))

    def cost_of(self, usage: TokenUsage) -> float | None:
        """Return the price of some tokens."""
        input_price = self._settings.price_per_million_input
        output_price = self._settings.price_per_million_output
        if input_price is None or output_price is None:
            return None
        cost = usage.input_tokens * input_price + usage.output_tokens * output_price
        return cost / _MILLION

    def bound(self, body_bytes: int) -> TokenUsage:
        """Return the most that a request of this length can use."""
        return TokenUsage(body_bytes, self._settings.max_output_tokens)

    def require_budget(self, body_bytes: int) -> None:
        """Refuse a request that could exceed the budget."""
        budget, spent = self._settings.budget, self.cost
        possible = self.cost_of(self.bound(body_bytes))
        if budget is None or spent is None or possible is None or spent + possible <= budget:
            return
        raise AffidavitError(
            faults.BUDGET_SPENT,
            next=self.amount(possible),
            spent=self.amount(spent),
            budget=self.amount(budget),
        )

    def count(self, body_bytes: int, usage: TokenUsage | None) -> None:
        """Add the usage of a request, or its upper bound if the server does not tell."""
        self.is_exact = self.is_exact and usage is not None
        used = usage or self.bound(body_bytes)
        self.input_tokens += used.input_tokens
        self.output_tokens += used.output_tokens

    def estimate(self, pairs: int, pending: list[int]) -> CostEstimate:
        """Return the cost of requests with the `pending` lengths, out of `pairs` in total."""
        usual = TokenUsage(
            sum(-(-length // _BYTES_PER_TOKEN) for length in pending),
            len(pending) * min(_TYPICAL_OUTPUT_TOKENS, self._settings.max_output_tokens),
        )
        most = TokenUsage(sum(pending), len(pending) * self._settings.max_output_tokens)
        return CostEstimate(
            pairs=pairs,
            cached=pairs - len(pending),
            input_tokens=usual.input_tokens,
            output_tokens=usual.output_tokens,
            cost=self.cost_of(usual),
            most=self.cost_of(most),
        )

    def amount(self, cost: float) -> str:
        """Return an amount with its currency."""
        return f"{cost:.4f} {self._settings.currency}"
