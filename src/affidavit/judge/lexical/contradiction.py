"""Whether a claim contradicts a constraint, by the rules of the lexical judge.

Contradiction holds in both directions, and the judge does not see the same in both: "Guests can
invite others by e-mail" says more than "Guests cannot invite others", and the judge finds the rest
missing before it finds the denial. So each text is read against the other. A claim that the
constraint states in full is within it: "founded before 2000" does not contradict "founded in 1987".

Not covered: texts that are not in English, and what words cannot show.
"""

from affidavit.judge.lexical.judge import LexicalJudge
from affidavit.ledger.claims import split_answer
from affidavit.ledger.model import Chunk, Reading, Span, SupportLevel


def contradicts(constraint: str, claim: str) -> bool:
    """Tell whether who holds the constraint for true must hold the claim for false."""
    by_constraint = _readings(claim, constraint)
    if by_constraint and all(each.support_level is SupportLevel.FULL for each in by_constraint):
        return False
    return any(each.contradicts for each in (*by_constraint, *_readings(constraint, claim)))


def _readings(text: str, evidence: str) -> list[Reading]:
    """Return what the judge reads in the evidence on each claim of a text."""
    passage = Chunk(
        id="passage",
        hash="",
        document_id="passage",
        index=0,
        text=evidence,
        span=Span(0, len(evidence)),
        page_number=None,
        heading_path=(),
    )
    return [
        reading
        for claim in split_answer(text).claims
        if claim.is_in_english
        for reading in LexicalJudge().read(claim.statement, [passage])
    ]
