"""A judge for tests: the evidence states its own support and contradiction."""

from collections.abc import Sequence

from affidavit.ledger.model import Chunk, JudgeIdentity, Reading, Span, SupportLevel


class StubJudge:
    """Reads evidence such as "0.8 0.1": support, and contradiction."""

    @property
    def reads_english_only(self) -> bool:
        """Whether likeness of words in another language would be taken for support."""
        return False

    @property
    def identity(self) -> JudgeIdentity:
        return JudgeIdentity("stub", "1", "sha256:" + "0" * 64, rederivable=True)

    def read(self, claim: str, chunks: Sequence[Chunk]) -> tuple[Reading, ...]:
        return tuple(_reading(chunk) for chunk in chunks)


def _reading(chunk: Chunk) -> Reading:
    support, contradiction = map(float, chunk.text.split()[:2])
    full = support >= 0.5
    return Reading(
        chunk_id=chunk.id,
        support_level=SupportLevel.FULL if full else SupportLevel.NONE,
        contradicts=contradiction >= 0.5,
        similarity=0.9 if full else 0.1,
        contradiction=contradiction,
        directness=1.0,
        snippet=chunk.text,
        snippet_span=Span(0, len(chunk.text)),
        notes=f"it says {chunk.text}",
        scores=(("support", support),),
    )
