"""What a run costs: counted after each reply, and bounded before each request.

A token is at least one byte of the request, so the request's length bounds what a server can count
as input, whatever its tokenizer. A reply that does not say what it used is counted at that bound:
what was not measured is never taken for nothing.
"""

from dataclasses import dataclass
from typing import Final

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import evidence as faults
from affidavit.judge.chat.settings import ChatSettings

_MILLION: Final = 1_000_000
_BYTES_PER_TOKEN: Final = 4  # Of English; the estimate only.
_TYPICAL_OUTPUT_TOKENS: Final = 120


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens that went in and came out."""

    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """What a run would ask for. The costs are None where the file states no prices."""

    pairs: int
    cached: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    most: float | None


class CostAccount:
    """The account of one judge in one process."""

    def __init__(self, settings: ChatSettings) -> None:
        self._settings = settings
        self.requests = 0
        self.input_tokens = 0
        self.output_tokens = 0
        self.is_exact = True

    @property
    def cost(self) -> float | None:
        """What was spent; None where the file states no prices."""
        return self.cost_of(TokenUsage(self.input_tokens, self.output_tokens))

    def cost_of(self, usage: TokenUsage) -> float | None:
        """Return the price of some tokens."""
        entering = self._settings.price_per_million_input
        leaving = self._settings.price_per_million_output
        if entering is None or leaving is None:
            return None
        return (usage.input_tokens * entering + usage.output_tokens * leaving) / _MILLION

    def bound(self, body_bytes: int) -> TokenUsage:
        """Return the most that a request of this length can use."""
        return TokenUsage(body_bytes, self._settings.max_output_tokens)

    def require_room(self, body_bytes: int) -> None:
        """Refuse a request that could overdraw the budget."""
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
        """Add what a request used; the most it can have used if the server does not say."""
        self.is_exact = self.is_exact and usage is not None
        used = usage or self.bound(body_bytes)
        self.input_tokens += used.input_tokens
        self.output_tokens += used.output_tokens

    def estimate(self, pairs: int, pending: list[int]) -> CostEstimate:
        """Return what requests of the pending lengths would use, of so many pairs in all."""
        usual = TokenUsage(
            sum(-(-length // _BYTES_PER_TOKEN) for length in pending),
            len(pending) * min(_TYPICAL_OUTPUT_TOKENS, self._settings.max_output_tokens),
        )
        most = TokenUsage(sum(pending), len(pending) * self._settings.max_output_tokens)
        return CostEstimate(
            pairs,
            pairs - len(pending),
            usual.input_tokens,
            usual.output_tokens,
            self.cost_of(usual),
            self.cost_of(most),
        )

    def amount(self, cost: float) -> str:
        """Return a sum of money in words."""
        return f"{cost:.4f} {self._settings.currency}"
