"""The cost of a run: counted after each reply, and bounded before each request.

A token is at least one byte of the request, so the length of the request bounds the input tokens of
any tokenizer. A reply without usage is counted at that bound: not measured is never free.
"""

from typing import Final

from msgspec import Struct

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import evidence as faults
from affidavit.judge.chat.settings import ChatSettings

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
