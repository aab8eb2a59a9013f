"""The statistics that reports and gates rest on, each with its published origin.

Nothing to measure is None, never 0, 1 or NaN. Figures are the same on every machine
(arithmetic.py says why) and are rounded for a report by `rounded` alone. A call that makes no
sense (a negative count, a confidence of 2) is a defect of the caller: ValueError.
"""

from affidavit.base.statistics.agreement import (
    Agreement,
    LabelUse,
    agreement,
    agreement_from_counts,
)
from affidavit.base.statistics.calibration import (
    ReliabilityBin,
    brier_score,
    calibration_error,
    reliability_bins,
    with_prior,
)
from affidavit.base.statistics.classification import (
    BinaryCounts,
    Estimate,
    binary_counts,
    estimated,
)
from affidavit.base.statistics.discrimination import auroc
from affidavit.base.statistics.evaluation import (
    BinaryEvaluation,
    ScoredLabel,
    evaluate_labels,
)
from affidavit.base.statistics.exact_tests import fisher_exact, mcnemar_exact
from affidavit.base.statistics.intervals import Interval, clopper_pearson, wilson
from affidavit.base.statistics.kappa import kappa_interval
from affidavit.base.statistics.order_statistics import percentile_interval
from affidavit.base.statistics.percentiles import percentile, percentile_of_sorted
from affidavit.base.statistics.rates import Rate, mean
from affidavit.base.statistics.reliability import pass_hat_k
from affidavit.base.statistics.resampling import Bootstrap, bootstrap, drawn_positions
from affidavit.base.statistics.rounding import REPORT_DECIMALS, rounded

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
    "clopper_pearson",
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
