"""The judge with the large encoder, which is asked about every claim (docs/adr/0041)."""

from affidavit.judge.standard.judge import StandardJudge

__all__ = ["StandardJudge"]
