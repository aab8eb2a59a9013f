"""The result of the encoder, and how its scores are rounded."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, fsum
from typing import Final

DECIMALS: Final = 4


@dataclass(frozen=True, slots=True)
class Entailment:
    """Three probabilities, each rounded to 4 decimals by itself, so that their sum may miss 1.

    Threads, batches, orders and processors move a score by about 1e-6. Rounding hides that from
    all but the few scores that lie on an edge, which move by one unit in the last place; whoever
    compares a score with a threshold leaves a dead band of more than that around it.
    """

    entails: float
    neutral: float
    contradicts: float


def entailment_from(logits: Sequence[float]) -> Entailment:
    """Turn three logits into probabilities.

    Softmax in float64, the largest logit taken off first so that nothing overflows; then Python's
    `round`, which rounds the exact binary value, halves to even.
    """
    largest = max(logits)
    raised = [exp(logit - largest) for logit in logits]
    total = fsum(raised)
    entails, neutral, contradicts = (round(value / total, DECIMALS) for value in raised)
    return Entailment(entails, neutral, contradicts)
