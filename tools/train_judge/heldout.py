"""Rows to measure on, never trained on: developer sets, and rule-made edits of their documents.

The edits use the rules of the training on documents it has not seen: news articles, bills,
dialogues and web pages.
"""

from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import numpy as np

from tools.train_judge import families
from tools.train_judge.sources import Pair, draw, read_pairs
from tools.train_judge.windows import narrow, wide, without_marks

# How many rows of each set the probe reads, half of them supported.
SETS = {
    "wice_dev": 200,
    "attributionbench_id": 160,
    "lfqa_verification": 160,
    "frank": 160,
    "summedits": 160,
    "cg2c_doc": 160,
    "expertqa": 160,
    "bump": 120,
    "qags": 120,
}
EDITED_DOCUMENTS = ("bump", "frank", "summedits", "cg2c_doc")
EDITS_PER_KIND = 24
SEED = 77
Row = dict[str, str | int]


def dev_claims(data: Path) -> frozenset[str]:
    """Every claim of the developer sets, in the form that `plain` gives."""
    return frozenset(
        plain(pair.hypothesis) for path in data.glob("*.jsonl.gz") for pair in read_pairs(path)
    )


def plain(claim: str) -> str:
    """A claim without what does not make it another claim: case and white space."""
    return " ".join(claim.split()).casefold()


def dev_rows(data: Path) -> Iterator[Row]:
    """The rows of one measurement. Truth is 1 for supported and 0 for all else."""
    for name, size in SETS.items():
        pairs = sorted(read_pairs(data / f"{name}.jsonl.gz"), key=lambda pair: draw(pair, SEED))
        supported = [pair for pair in pairs if pair.target == 0][: size // 2]
        others = [pair for pair in pairs if pair.target != 0][: size - size // 2]
        for pair in supported + others:
            claim = without_marks(pair.hypothesis)
            row = _row(name, int(pair.target == 0), narrow(claim, pair.premise), claim)
            yield row | {"wide": wide(claim, pair.premise)}
    yield from _edit_rows(data)


def _row(group: str, truth: int, premise: str, claim: str) -> Row:
    return {"group": group, "truth": truth, "premise": premise, "claim": claim}


def _edit_rows(data: Path) -> Iterator[Row]:
    """Edits by kind, and the unedited originals, over documents of the developer sets."""
    texts = {p.premise for name in EDITED_DOCUMENTS for p in read_pairs(data / f"{name}.jsonl.gz")}
    ordered = sorted(texts, key=lambda text: (crc32(f"{SEED}|{text}".encode()), text))
    documents = [families.read_passage(text) for text in ordered]
    documents = [document for document in documents if document.claims()]
    makers = {
        "removed": families.removed_family,
        "partial": families.partial_family,
        **{name: _edited(kind) for name, kind in families.KINDS.items()},
    }
    for name, maker in sorted(makers.items()):
        rng = np.random.default_rng([SEED, crc32(name.encode())])
        made = 0
        for document in documents:
            family = maker(document, int(rng.choice(document.claims())), rng)
            made += bool(family)
            for pair in family:
                group = f"edit_{name}" if pair.target else "originals"
                yield _row(group, int(not pair.target), pair.premise, pair.hypothesis)
            if made == EDITS_PER_KIND:
                break


def _edited(kind: families.Kind) -> families.Maker:
    """A family of a sentence as it stands, and edited."""

    def make(document: families.Passage, place: int, rng: np.random.Generator) -> list[Pair]:
        claim, text = document.parts[place], document.text()
        edited = kind.edit(claim, text, rng)
        if edited is None or edited == claim:
            return []
        return [
            Pair(narrow(claim, text), claim, 0, "original"),
            Pair(narrow(edited, text), edited, kind.target, "edit"),
        ]

    return make
