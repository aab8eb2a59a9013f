"""The items that a reader should look at first, with what they retrieved and cited.

Only their names are kept while rows are counted; the few rows are read again afterwards.
"""

from dataclasses import dataclass

from affidavit.gates.rag_counts import failed_checks
from affidavit.gates.rag_profiles import Profile, Seen
from affidavit.gates.rag_rows import AnswerV1, GoldV1, TraceV1, qid_of


@dataclass(frozen=True, slots=True)
class Offender:
    """An item that came out wrong, all that is needed to see why, and where its trace stands.

    What was not recorded is None: nothing cited is something else.
    """

    qid: str
    why: str
    failed: tuple[str, ...]
    not_measured: tuple[str, ...]
    question: str
    claim: str
    citations: tuple[str, ...] | None
    retrieved_ids: tuple[str, ...] | None
    gold_citations: tuple[str, ...]
    line: int | None = None
    file: str | None = None

    def as_wire(self) -> dict[str, object]:
        """Return the offender as a report shows it; its place is told with the input."""
        return {
            "qid": self.qid,
            "why": self.why,
            "failed": list(self.failed),
            "not_measured": list(self.not_measured),
            "question": self.question,
            "claim": self.claim,
            "citations": None if self.citations is None else list(self.citations),
            "retrieved_ids": None if self.retrieved_ids is None else list(self.retrieved_ids),
            "gold_citations": list(self.gold_citations),
        }


def offender_of(
    gold: GoldV1,
    trace: TraceV1,
    profile: Profile,
    line: int | None = None,
    file: str | None = None,
) -> Offender:
    """Return an offender from its rows and its profile; the place is the trace's."""
    answer = trace.answer_json
    return Offender(
        qid_of(gold),
        _why(profile),
        failed_checks(profile),
        _not_measured(profile),
        gold.question,
        "" if answer is None else answer.claim,
        None if answer is None else _citations(answer),
        trace.retrieved_ids,
        gold.gold_citations or (),
        line,
        file,
    )


def _citations(answer: AnswerV1) -> tuple[str, ...] | None:
    return None if answer.citations_recorded is False else answer.citations or ()


def _why(profile: Profile) -> str:
    if profile.seen is Seen.REFUSED:
        return "refused_answerable"
    return "wrong_answer" if profile.answerable else "answered_unanswerable"


def _not_measured(profile: Profile) -> tuple[str, ...]:
    if profile.seen is not Seen.SHIPPED or not profile.answerable:
        return ()
    checks = {"C": profile.contains, "H": profile.cites}
    return tuple(name for name, held in checks.items() if held is None)
