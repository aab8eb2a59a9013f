"""Rebuilds the tables of the lexical judge: word weights, and the words that are names.

    python -m tools.build_idf FOLDER

FOLDER contains gzipped JSON lines with a `premise` each. The shipped table was counted over the
premises of training sets whose licence allows redistribution (most of them sentences of Wikipedia,
CC BY-SA; contracts, news and biomedical abstracts beside them). Only counts of single stems are
kept, rounded to a tenth; no text can be rebuilt from it.
"""

import gzip
import json
import math
import sys
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from affidavit.judge.lexical.lexicon import Kind
from affidavit.judge.lexical.stemming import stem
from affidavit.judge.lexical.tables import STOP_WORDS
from affidavit.judge.lexical.tokens import Token, tokens_of

DATA = Path(__file__).parent.parent / "src/affidavit/judge/lexical/data"
LEAST_COUNT = 5
LONGEST_WORD = 24
PREMISES_PER_SET = 20_000  # No set decides alone what is common.
LEAST_CAPITALS = 0.05
NAME_SHARE = 0.8  # So often inside of sentences with a capital, a word is a name.


@dataclass(slots=True)
class Counts:
    """Per stem: premises that contain it, uses within a sentence, and capitalised uses."""

    premises: Counter[str] = field(default_factory=Counter)
    inside: Counter[str] = field(default_factory=Counter)
    capital: Counter[str] = field(default_factory=Counter)
    total: int = 0


def counted(folder: Path) -> Counts:
    """Count the words of the premises."""
    counts = Counts()
    for path in sorted(folder.glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            premises = {json.loads(line)["premise"]: None for line in lines}
        for premise in list(premises)[:PREMISES_PER_SET]:
            count_premise(counts, tokens_of(premise))
    return counts


def count_premise(counts: Counts, tokens: tuple[Token, ...]) -> None:
    """Add the words of one premise."""
    words = [
        (before, token)
        for before, token in pairwise((None, *tokens))
        if token and token.word.kind is Kind.WORD and token.word.norm.isalpha()
    ]
    counts.premises.update({token.word.stem for _, token in words})
    counts.total += 1
    capitals = sum(token.text[0].isupper() for _, token in words)
    if capitals < LEAST_CAPITALS * len(words):
        return  # Lower-cased text says nothing of names.
    for before, token in words:
        if before and before.word.kind is Kind.WORD and before.text[0].islower():
            counts.inside[token.word.stem] += 1
            counts.capital[token.word.stem] += token.text[0].isupper()


def write_idf(counts: Counts) -> None:
    """Write the weights, with the words of one weight on one line."""
    stop = {stem(word) for word in STOP_WORDS}
    by_value: dict[str, list[str]] = {}
    for word, count in counts.premises.most_common():
        if count >= LEAST_COUNT and word not in stop and 2 <= len(word) <= LONGEST_WORD:
            by_value.setdefault(f"{math.log(counts.total / count):.1f}", []).append(word)
    lines = [f"{value} {' '.join(sorted(words))}" for value, words in by_value.items()]
    head = f"# idf of stems over {counts.total} premises; made by tools/build_idf.py, see there.\n"
    (DATA / "idf.txt").write_text(head + "\n".join(lines) + "\n", encoding="utf-8")


def write_names(counts: Counts) -> None:
    """Write the stems that are nearly always capitalised, by their first letter."""
    by_letter: dict[str, list[str]] = {}
    for word, count in counts.inside.items():
        is_name = counts.capital[word] >= NAME_SHARE * count
        if is_name and counts.premises[word] >= LEAST_COUNT and 2 < len(word) <= LONGEST_WORD:
            by_letter.setdefault(word[0], []).append(word)
    lines = [" ".join(sorted(words)) for _, words in sorted(by_letter.items())]
    head = "# Stems that stand with a capital inside of sentences; made by tools/build_idf.py.\n"
    (DATA / "names.txt").write_text(head + "\n".join(lines) + "\n", encoding="utf-8")


def main(folder: str) -> None:
    """Write both tables."""
    counts = counted(Path(folder))
    write_idf(counts)
    write_names(counts)
    sizes = [(DATA / name).stat().st_size for name in ("idf.txt", "names.txt")]
    print(f"{counts.total} premises, {sizes} bytes")


if __name__ == "__main__":
    main(sys.argv[1])
