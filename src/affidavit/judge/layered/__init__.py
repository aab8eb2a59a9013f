"""The default judge: rules first, a trained encoder where they are unsure, one calibrated sum."""

from affidavit.judge.layered.judge import LayeredJudge

__all__ = ["LayeredJudge"]
