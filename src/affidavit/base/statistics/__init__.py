"""The statistics of reports and gates, each with its published origin.

If there is nothing to measure the result is None, never 0, 1 or NaN. Figures are the same on every
machine (see arithmetic.py), and only `rounded` rounds them for a report. A meaningless call (a
negative count, a confidence of 2) is a defect of the caller and raises ValueError.
"""

from affidavit.base.statistics.agreement import (
    Agreement,
    LabelUse,
    agreement,
    agreement_from_counts,
    kappa_interval,
)
from affidavit.base.statistics.arithmetic import REPORT_DECIMALS, rounded
from affidavit.base.statistics.classification import (
    BinaryCounts,
    BinaryEvaluation,
    Estimate,
    ReliabilityBin,
    ScoredLabel,
    auroc,
    binary_counts,
    brier_score,
    calibration_error,
    estimated,
    evaluate_labels,
    reliability_bins,
    with_prior,
)
from affidavit.base.statistics.exact_tests import fisher_exact, mcnemar_exact
from affidavit.base.statistics.percentiles import (
    Bootstrap,
    bootstrap,
    drawn_positions,
    percentile,
    percentile_interval,
    percentile_of_sorted,
)
from affidavit.base.statistics.rates import (
    Interval,
    Rate,
    mean,
    pass_hat_k,
    wilson,
)

__all__ = [
    "REPORT_DECIMALS",
    "Agreement",
    "BinaryCounts",
    "BinaryEvaluation",
    "Bootstrap",
    "Estimate",
    "Interval",
    "LabelUse",
    "Rate",
    "ReliabilityBin",
    "ScoredLabel",
    "agreement",
    "agreement_from_counts",
    "auroc",
    "binary_counts",
    "bootstrap",
    "brier_score",
    "calibration_error",
    "drawn_positions",
    "estimated",
    "evaluate_labels",
    "fisher_exact",
    "kappa_interval",
    "mcnemar_exact",
    "mean",
    "pass_hat_k",
    "percentile",
    "percentile_interval",
    "percentile_of_sorted",
    "reliability_bins",
    "rounded",
    "wilson",
    "with_prior",
]
