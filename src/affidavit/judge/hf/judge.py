"""The judge of a classifier: premise and hypothesis, or evidence and claim."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from affidavit.judge.claim_limit import require_claim
from affidavit.judge.hf.labels import meanings_of
from affidavit.judge.hf.model import Scored, folder_of, load, weights_digest
from affidavit.judge.hf.settings import HfV1, Meaning
from affidavit.judge.lexical import select_window
from affidavit.ledger.model import Chunk, JudgeIdentity, Reading, Span, SupportLevel

VERSION: Final = "1"


class Scorer(Protocol):
    """What the judge needs of a model."""

    def score(self, evidence: str, claim: str) -> Scored:
        """Return the probabilities of the labels."""
        ...


@dataclass(frozen=True, slots=True)
class Shown:
    """What the model reads of a chunk, and the sentence that is shown for it."""

    text: str
    span: Span


class HfJudge:
    """Reads the window of each chunk that is closest to the claim."""

    def __init__(
        self, settings: HfV1, model: Scorer, meanings: tuple[Meaning, ...], digest: str
    ) -> None:
        self._settings = settings
        self._model = model
        self._meanings = meanings
        self._digest = digest

    @property
    def identity(self) -> JudgeIdentity:
        """Name, version, and the digest of weights, vocabulary, labels and thresholds."""
        return JudgeIdentity("hf", VERSION, self._digest, rederivable=False)

    def read(self, claim: str, chunks: Sequence[Chunk]) -> tuple[Reading, ...]:
        """Return one reading per chunk, in the order of the chunks."""
        require_claim(claim)
        return tuple(self._reading(claim, chunk) for chunk in chunks)

    def _reading(self, claim: str, chunk: Chunk) -> Reading:
        shown = shown_of(claim, chunk)
        scored = self._model.score(shown.text, claim)
        shares = dict.fromkeys(("supports", "partly", "neither", "contradicts"), 0.0)
        for meaning, share in zip(self._meanings, scored.shares, strict=True):
            shares[meaning] += share
        if len(self._meanings) == 1:
            shares["neither"] = 1 - shares["supports"]
        backing = round(shares["supports"] + shares["partly"], 4)
        level = self._level(shares["supports"], backing)
        return Reading(
            chunk_id=chunk.id,
            support_level=level,
            contradicts=shares["contradicts"] >= self._settings.contradicted_from,
            similarity=min(backing, 1.0),
            contradiction=min(round(shares["contradicts"], 4), 1.0),
            directness=1.0,
            snippet=chunk.text[shown.span.start : shown.span.end],
            snippet_span=shown.span,
            notes=_notes(shares, scored),
            scores=tuple(
                sorted((name, min(round(share, 4), 1.0)) for name, share in shares.items())
            ),
        )

    def _level(self, full: float, backing: float) -> SupportLevel:
        if full >= self._settings.supported_from:
            return SupportLevel.FULL
        return (
            SupportLevel.PARTIAL if backing >= self._settings.supported_from else SupportLevel.NONE
        )


def hf_judge(settings: HfV1) -> HfJudge:
    """Return the judge of some settings; its weights are loaded now."""
    folder = folder_of(settings)
    model = load(settings, folder)
    meanings = meanings_of(model.labels, settings.labels)
    thresholds = (settings.max_tokens, settings.supported_from, settings.contradicted_from)
    digest = weights_digest(folder, (VERSION, *meanings, *thresholds))
    return HfJudge(settings, model, meanings, digest)


def shown_of(claim: str, chunk: Chunk) -> Shown:
    """Return the window that the model reads; where no word is shared, the chunk from its start."""
    window = select_window(claim, chunk.text)
    if not window.spans:
        return Shown(chunk.text, Span(0, 0))
    # The earlier sentence on a tie.
    best = max(
        window.spans,
        key=lambda span: (
            select_window(claim, chunk.text[span.start : span.end]).recall,
            -span.start,
        ),
    )
    return Shown(window.text, best)


def _notes(shares: dict[str, float], scored: Scored) -> str:
    parts = [f"{name} {share:.2f}" for name, share in shares.items() if share]
    if not scored.is_whole:
        parts.append("the evidence was cut to what the model can read")
    return f"the model gives {', '.join(parts)}"
