"""What the probabilities of a judge must reach, as the user may set it: the table `[judge]`."""

from dataclasses import dataclass

from affidavit.base.statistics import rounded, with_prior
from affidavit.ledger.model import Verdict

_DECIMALS = 4


@dataclass(frozen=True, slots=True)
class JudgeThresholds:
    """Bounds on a calibrated support and contradiction, both from 0 to 1.

    A judge's support is the probability that a claim is supported where half of all claims are.
    `prior` is the share that is supported where the rules are used: the support is shifted to it
    before it is compared. Scores are compared with four decimals, so that a difference in the last
    bits between two machines decides nothing.
    """

    supported_from: float = 0.5
    weak_from: float = 0.25
    contradicted_from: float = 0.5
    prior: float = 0.5

    def shifted(self, support: float) -> float:
        """Return the support with the prior, rounded as it is compared and shown."""
        return rounded(with_prior(support, self.prior), _DECIMALS)

    def verdict(self, support: float, contradiction: float) -> Verdict:
        """Return the verdict on a claim. Support is unshifted; a contradiction goes first."""
        if rounded(contradiction, _DECIMALS) >= self.contradicted_from:
            return Verdict.CONTRADICTED
        shifted = self.shifted(support)
        if shifted >= self.supported_from:
            return Verdict.SUPPORTED
        return Verdict.WEAK if shifted >= self.weak_from else Verdict.NOT_FOUND
