"""Claims that were written for this training, about passages of free documents and public sets.

`written/claims.tsv` has one claim a line: the digest of its passage, the label (S supported,
R refuted, N neutral, X not supported), the kind, the sentences that decide, the claim. True claims
are mostly in other words than their passage, false ones in its words: likeness of words must not
decide. The passages are other people's text and are cut again from the documents, which
`written/documents.txt` names; a claim whose passage is not found is left out and counted. The
passages of `written/own.txt` are our own: rules, tables and lists as a user's documents have them.
Claims about the passages of `written/held.txt` are never trained on.
"""

import gzip
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np
from selectolax.lexbor import LexborHTMLParser

from tools.train_judge.sources import Pair

FOLDER = Path(__file__).parent / "written"
TARGETS = {"S": 0, "N": 1, "R": 2, "X": 3}
SOURCE = "written"
LEAST_WORDS, MOST_WORDS, LEAST_SENTENCES = 45, 105, 3
# How often a claim stands with its sentences, with others among them, and with the whole passage.
FORMS = ("tight",) * 7 + ("among",) * 2 + ("whole",) * 2
NEIGHBOUR_SHARE = 0.35
_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9])")
_BEFORE_MARK = re.compile(r"\s+([.,;:)])")
_HTML, _TEXT = (".html", ".page"), (".rst", ".txt", ".md")


class WrittenClaim(NamedTuple):
    """A line of the file."""

    passage: str
    label: str
    kind: str
    sentences: str
    claim: str


def read_claims(path: Path = FOLDER / "claims.tsv") -> list[WrittenClaim]:
    """Return all claims."""
    lines = path.read_text("utf-8").splitlines()
    return [WrittenClaim(*line.split("\t")) for line in lines]


def held_passages(path: Path = FOLDER / "held.txt") -> frozenset[str]:
    """Return the passages that are kept for calibration and measurement."""
    return frozenset(path.read_text("utf-8").split())


def digest_of(sentences: Sequence[str]) -> str:
    """Return the name of a passage."""
    return sha256(" ".join(sentences).encode()).hexdigest()[:12]


def own_passages(path: Path = FOLDER / "own.txt") -> dict[str, list[str]]:
    """Return the passages that were written for this training: a line a sentence, by digest."""
    passages = [block.splitlines() for block in path.read_text("utf-8").strip().split("\n\n")]
    return {digest_of(sentences): sentences for sentences in passages}


def find_passages(documents: Path, data: Path) -> dict[str, list[str]]:
    """Return our own passages, those of unpacked documents and of the public sets, by digest."""
    found = own_passages()
    for path in sorted(documents.rglob("*")):
        if path.suffix in (*_HTML, *_TEXT) and path.is_file() and not path.is_symlink():
            found |= {digest_of(each): each for each in _cut(_paragraphs(path))}
    for path in sorted(data.glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            premises = {json.loads(line)["premise"] for line in lines}
        for premise in sorted(premises):
            found |= {digest_of(each): each for each in _cut([premise])}
    return found


def _paragraphs(path: Path) -> list[str]:
    text = path.read_text("utf-8", errors="ignore")
    if path.suffix in _TEXT:
        return re.split(r"\n\s*\n", text)
    return [node.text(separator=" ") for node in LexborHTMLParser(text).css("p, dd")]


def _cut(paragraphs: Iterable[str]) -> Iterator[list[str]]:
    """Cut running text into passages; a sentence that is no prose ends one."""
    passage: list[str] = []
    for sentence in (each for text in paragraphs for each in _sentences(text)):
        length = sum(len(each.split()) for each in passage)
        is_full = length + len(sentence.split()) > MOST_WORDS
        if is_full or not _is_prose(sentence):
            if len(passage) >= LEAST_SENTENCES and (is_full or length >= LEAST_WORDS):
                yield passage
            passage = []
        if _is_prose(sentence):
            passage.append(sentence)
    if len(passage) >= LEAST_SENTENCES and sum(len(p.split()) for p in passage) >= LEAST_WORDS:
        yield passage


def _sentences(text: str) -> list[str]:
    return [each.strip() for each in _END.split(" ".join(text.split())) if each.strip()]


def _is_prose(sentence: str) -> bool:
    if not 6 <= len(sentence.split()) <= 45 or "http" in sentence:
        return False
    letters = sum(character.isalpha() or character == " " for character in sentence)
    return sentence[0].isalnum() and sentence[-1] in ".!?" and letters > 0.8 * len(sentence)


def written_pairs(
    claims: Sequence[WrittenClaim], passages: dict[str, list[str]], seed: int
) -> list[Pair]:
    """Return the claims with a premise each, drawn anew by every seed."""
    drawn = np.random.default_rng(seed)
    others = [sentence for _, sentences in sorted(passages.items()) for sentence in sentences]
    known = [claim for claim in claims if claim.passage in passages]
    if len(known) < len(claims):
        print(f"{len(claims) - len(known)} written claims left out: their passages are not here")
    return [
        Pair(
            _premise(passages[each.passage], each.sentences, others, drawn),
            each.claim,
            TARGETS[each.label],
            SOURCE,
        )
        for each in known
    ]


def _premise(
    sentences: Sequence[str], deciding: str, others: Sequence[str], drawn: np.random.Generator
) -> str:
    form = FORMS[drawn.integers(len(FORMS))]
    chosen = list(sentences)
    if form != "whole":
        places = {int(number) - 1 for number in deciding.split("+") if number.isdigit()}
        near = {at + step for at in sorted(places) for step in (-1, 1)}
        kept = places | {at for at in sorted(near) if drawn.random() < NEIGHBOUR_SHARE}
        chosen = [sentence for at, sentence in enumerate(sentences) if at in kept]
    if form == "among":
        for _ in range(1 + drawn.integers(3) // 2):
            other = others[int(drawn.integers(len(others)))]
            chosen.insert(int(drawn.integers(len(chosen) + 1)), other)
    return _BEFORE_MARK.sub(r"\1", " ".join(chosen))
