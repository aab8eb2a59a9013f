"""The shipped judge: words first, a trained reader where they are unsure, one calibrated sum."""

from affidavit.judge.layered.judge import LayeredJudge

__all__ = ["LayeredJudge"]
