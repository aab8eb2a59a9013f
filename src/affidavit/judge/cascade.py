"""The cascade: a first judge reads every claim, a larger one only the claims that stay uncertain.

What is uncertain follows from what every reading exposes, whatever judge made it: the support
level, the similarity (full support lies above the ledger's bound) and the contradiction score.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct, structs

from affidavit.base.canonical import jcs
from affidavit.base.digest import digest_of
from affidavit.judge.protocol import Judge, require_claim
from affidavit.judge.thresholded import support_from_similarity
from affidavit.ledger.languages import ENGLISH, UNKNOWN, language_of
from affidavit.ledger.model import Chunk, JudgeIdentity, Reading, Span, SupportLevel

VERSION: Final = "1"
_BOUND: Final = 0.5  # Of support and of contradiction, on the scale of probabilities.


class CascadeRoute(Struct, frozen=True):
    """The first judge's readings of a claim, and what goes to the larger judge, if anything.

    `first` is empty if the first judge does not read the language of the claim. `sent` are the
    places of the passages that the larger judge reads.
    """

    first: tuple[Reading, ...]
    doubt: str
    sent: tuple[int, ...]


class CascadeCounts(Struct, frozen=True):
    """How many claims were read, how many of them went to the larger judge, with how many pairs."""

    claims: int
    sent_claims: int
    sent_pairs: int


def find_doubt(readings: Sequence[Reading], margin: float) -> str:
    """Return why the verdict on a claim is uncertain, or "" if it is not.

    Uncertain are: a passage that contradicts the claim beside one that states it; a best score for
    contradiction or for support within `margin` of its bound; and support that is only partial.
    """
    if not readings:
        return ""
    contradiction = max(reading.contradiction for reading in readings)
    support = max(support_from_similarity(reading.similarity) for reading in readings)
    levels = {reading.support_level for reading in readings}
    contradicted = any(reading.contradicts for reading in readings)
    if contradicted and any(
        reading.support_level is SupportLevel.FULL and not reading.contradicts
        for reading in readings
    ):
        return "one passage supports the claim and another contradicts it"
    if abs(contradiction - _BOUND) < margin:
        return f"its score for contradiction is {contradiction:.2f}"
    if contradicted:
        return ""
    if abs(support - _BOUND) < margin:
        return f"its score for support is {support:.2f}"
    is_partial = SupportLevel.PARTIAL in levels and SupportLevel.FULL not in levels
    return "it found partial support only" if is_partial else ""


class CascadeJudge:
    """Reads with the first judge, and asks the larger one about the claims that stay uncertain."""

    def __init__(self, first: Judge, larger: Judge, *, margin: float, passages: int) -> None:
        self.first = first
        self.larger = larger
        self._margin = margin
        self._passages = passages
        # The estimate routes every claim before the run does; each route is used once.
        self._routes: dict[tuple[str, ...], CascadeRoute] = {}
        self._claims = self._sent_claims = self._sent_pairs = 0

    @property
    def reads_english_only(self) -> bool:
        """A claim in another language goes to the larger judge, if that one may read it."""
        return self.first.reads_english_only and self.larger.reads_english_only

    @property
    def identity(self) -> JudgeIdentity:
        """Both names, and one digest over both judges and the bounds between them."""
        first, larger = self.first.identity, self.larger.identity
        parts = [VERSION, first.digest, larger.digest, self._margin, self._passages]
        return JudgeIdentity(
            f"{first.name}+{larger.name}",
            VERSION,
            digest_of(jcs(parts)),
            rederivable=first.rederivable and larger.rederivable,
        )

    @property
    def counts(self) -> CascadeCounts:
        """The counts so far."""
        return CascadeCounts(self._claims, self._sent_claims, self._sent_pairs)

    def read(self, claim: str, chunks: Sequence[Chunk]) -> tuple[Reading, ...]:
        """Return one reading per chunk, in the order of the chunks."""
        route = self._routes.pop(_key(claim, chunks), None) or self._route(claim, chunks)
        self._claims += 1
        if not route.sent:
            return route.first
        self._sent_claims += 1
        self._sent_pairs += len(route.sent)
        answers = self.larger.read(claim, [chunks[place] for place in route.sent])
        by_place = dict(zip(route.sent, answers, strict=True))
        return tuple(
            self._combined(route, place, by_place.get(place) or self._unsent(chunk))
            for place, chunk in enumerate(chunks)
        )

    def uncertain_pairs(
        self, pairs: Iterable[tuple[str, Sequence[Chunk]]]
    ) -> list[tuple[str, Sequence[Chunk]]]:
        """Return the claims and passages that the larger judge would read."""
        found: list[tuple[str, Sequence[Chunk]]] = []
        for claim, chunks in pairs:
            route = self._routes[_key(claim, chunks)] = self._route(claim, chunks)
            if route.sent:
                found.append((claim, [chunks[place] for place in route.sent]))
        return found

    def _route(self, claim: str, chunks: Sequence[Chunk]) -> CascadeRoute:
        require_claim(claim)
        language = language_of(claim)
        if self.first.reads_english_only and language not in (ENGLISH, UNKNOWN):
            doubt = f"it does not read the language of the claim ({language})"
            return CascadeRoute((), doubt, tuple(range(len(chunks)))[: self._passages])
        first = self.first.read(claim, chunks)
        doubt = find_doubt(first, self._margin)
        if not doubt:
            return CascadeRoute(first, "", ())
        ranking = sorted(range(len(first)), key=lambda place: (-_relevance(first[place]), place))
        # The closest passage, then a cited one, then the others.
        cited = next((place for place in ranking if chunks[place].cited), ranking[0])
        sent = list(dict.fromkeys((ranking[0], cited, *ranking)))[: self._passages]
        return CascadeRoute(first, doubt, tuple(sorted(sent)))

    def _combined(self, route: CascadeRoute, place: int, reading: Reading) -> Reading:
        """Return a reading with the first judge's scores, and the reason why it was not enough."""
        name = self.first.identity.name
        scores = dict(reading.scores)
        if route.first:
            scores[f"{name}_similarity"] = route.first[place].similarity
            scores[f"{name}_contradiction"] = route.first[place].contradiction
        return structs.replace(
            reading,
            notes=f"{reading.notes}; {name} was not sure: {route.doubt}",
            scores=tuple(sorted(scores.items())),
        )

    def _unsent(self, chunk: Chunk) -> Reading:
        note = f"not sent to the larger judge, as {self._passages} passages are closer to the claim"
        return Reading(
            chunk_id=chunk.id,
            support_level=SupportLevel.NONE,
            contradicts=False,
            similarity=0.0,
            contradiction=0.0,
            directness=0.0,
            snippet="",
            snippet_span=Span(0, 0),
            notes=note,
        )


def _relevance(reading: Reading) -> float:
    return max(support_from_similarity(reading.similarity), reading.contradiction)


def _key(claim: str, chunks: Sequence[Chunk]) -> tuple[str, ...]:
    # By text: the rows of `judge score` give all their chunks the same id.
    return (claim, *(f"{chunk.cited} {chunk.text}" for chunk in chunks))
