"""The figures of one question over its runs, and whether they are within their limits.

Origin: the stability page of the RAG document.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from affidavit.base.statistics import rounded
from affidavit.gates.tally import all_of

LIMITS: Final[Mapping[str, float]] = {"acr": 0.95, "cghc": 0.95, "css": 0.70, "ned50": 0.20}
"""Answerable items reach these, or keep below in the case of NED50."""


@dataclass(frozen=True, slots=True)
class Stability:
    """The figures of one question; None was not measured, or does not apply."""

    qid: str
    answerable: bool
    runs: int
    acr: float | None = None
    """Answer containment rate: the share of runs in which C holds."""
    cghc: float | None = None
    """Citation hits: the share of runs in which H holds."""
    css: float | None = None
    """Citation set stability: what all runs cite, over what any run cites."""
    ned50: float | None = None
    """The median normalised edit distance between the answers of two runs."""
    rcr: float | None = None
    """Refusal consistency: the share of runs that do as most do."""
    refused: int = 0
    scu_cons: bool | None = None
    """Every run echoes the constraints; None without constraints."""
    silent: int = 0
    """Runs without an answer."""

    @property
    def checks(self) -> tuple[tuple[str, bool | None], ...]:
        """Whether each figure that applies is within its limit, whatever silent runs had said."""
        answers = self.runs - self.silent
        if not self.answerable:
            held = self.refused == answers if answers else None
            if self.runs == 1 and held:
                held = None  # One refusal says nothing of the next run.
            return (("refused_always", self._whatever(held)),)
        found = [
            ("acr", self._share_holds(self.acr, LIMITS["acr"])),
            ("cghc", self._share_holds(self.cghc, LIMITS["cghc"])),
            # One run more cannot add to what all cite, nor take from what any cites.
            ("css", self._whatever(None if self.css is None else self.css >= LIMITS["css"])),
            ("ned50", self._median_holds()),
        ]
        if self.scu_cons is not None:
            found.append(("scu_cons", self._whatever(self.scu_cons)))
        return tuple(found)

    def _whatever(self, held: bool | None) -> bool | None:
        """Return what holds for the answers, if a silent run could only make it worse."""
        return None if held and self.silent else held

    def _share_holds(self, share: float | None, limit: float) -> bool | None:
        if share is None:
            return None
        right = share * (self.runs - self.silent)
        if right / self.runs >= limit:
            return True
        return False if (right + self.silent) / self.runs < limit else None

    def _median_holds(self) -> bool | None:
        if self.ned50 is None or self.silent:
            return None
        return self.ned50 <= LIMITS["ned50"]

    @property
    def outcome(self) -> bool | None:
        """Whether the question is stable."""
        return all_of(held for _, held in self.checks)

    def as_wire(self) -> dict[str, object]:
        """Return the figures as a report shows them."""
        return {
            "qid": self.qid,
            "answerable": self.answerable,
            "runs": self.runs,
            "no_answer": self.silent,
            "acr": rounded(self.acr),
            "cghc": rounded(self.cghc),
            "css": rounded(self.css),
            "ned50": rounded(self.ned50),
            "rcr": rounded(self.rcr),
            "refused": self.refused,
            "scu_cons": self.scu_cons,
            "failed": [name for name, held in self.checks if held is False],
            "not_measured": [name for name, held in self.checks if held is None],
        }
