"""pass^k: how likely it is that k trials all pass."""

from math import perm


def pass_hat_k(passes: int, trials: int, k: int) -> float | None:
    """Return C(passes, k) / C(trials, k), rounded once; None with fewer trials than k.

    The share of the ways to pick k of the trials in which every one passed: the unbiased
    estimator of p^k. Origin: Yao et al., tau-bench (2024), section 4. The power of the pass rate,
    which some tools print under the same name, is biased upward.
    """
    if not 0 <= passes <= trials:
        raise ValueError(f"{passes} of {trials} trials cannot have passed")
    if k < 1:
        raise ValueError(f"k is at least 1, not {k}")
    if trials < k:
        return None
    failures = trials - passes
    # C(c,k)/C(n,k) is also C(n-k,f)/C(n,f); the one with fewer factors is quicker.
    if k <= failures:
        return perm(passes, k) / perm(trials, k)
    return perm(trials - k, failures) / perm(trials, failures)
