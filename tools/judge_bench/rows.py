"""The rows to fit and to measure on: labelled sets, and rule-made edits of documents.

FOLDER holds gzip'd JSON lines of `premise`, `hypothesis` and `label`. Documents are dealt into two
halves by a digest: what is fitted on edits of the one is measured on edits of the other.
"""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from zlib import crc32

import numpy as np

from tools.train_judge import families
from tools.train_judge.sources import HELD, read_pairs, read_source
from tools.train_judge.written import TARGETS, find_passages, held_passages, read_claims

VARIABLE: Final = "AFFIDAVIT_JUDGE_DATA"
DOCUMENTS_VARIABLE: Final = "AFFIDAVIT_JUDGE_DOCUMENTS"
BESIDE: Final = Path(__file__).resolve().parents[3] / "shared" / "data" / "dev"
# No weight and no choice comes from these: their licences are not known, or they are kept apart.
EVALUATION_ONLY: Final = frozenset({"attributionbench_id", "lfqa_verification", "qags"})
FITTED: Final = ("bump", "cg2c_doc", "expertqa", "frank", "summedits", "wice_dev")
DOCUMENTS: Final = ("bump", "frank", "summedits", "cg2c_doc")
SEED: Final = 2026
_ENTAILS: Final = 0


@dataclass(frozen=True, slots=True)
class Row:
    """A claim with its source. `target` is 0 supported, 1 neutral, 2 contradicted, 3 not known."""

    group: str
    target: int
    claim: str
    text: str


def data_folder() -> Path | None:
    """Return the folder of the sets, if it is there."""
    named = os.environ.get(VARIABLE)
    folder = Path(named) if named else BESIDE
    return folder if folder.is_dir() else None


def set_rows(folder: Path, name: str, most: int | None = None) -> Iterator[Row]:
    """Yield the rows of one set, a seeded draw of them if there are more than `most`."""
    pairs = list(read_pairs(folder / f"{name}.jsonl.gz"))
    if most is not None and len(pairs) > most:
        pairs.sort(key=lambda p: (crc32(f"{SEED}|{p.premise}|{p.hypothesis}".encode()), p.target))
        pairs = pairs[:most]
    for pair in pairs:
        yield Row(name, pair.target, pair.hypothesis, pair.premise)


def held_rows(folder: Path, most: int) -> Iterator[Row]:
    """Yield pairs labelled by people that the training did not read, of each set and class alike.

    They hold refutations, which the other sets lack. Nothing is yielded where they are not there.
    """
    for name in sorted(HELD):
        path = folder.parent / "train" / f"{name}.jsonl.gz"
        if path.exists():
            counts: Counter[int] = Counter()
            for pair in read_source(path, SEED)[1]:
                counts[pair.target] += 1
                if counts[pair.target] <= most:
                    yield Row(f"held_{name}", pair.target, pair.hypothesis, pair.premise)


def written_rows(folder: Path, most: int) -> Iterator[Row]:
    """Yield claims written about passages that the training did not read.

    The variable names the folder of their documents; without it there are none.
    """
    named = os.environ.get(DOCUMENTS_VARIABLE)
    if not named:
        return
    passages = find_passages(Path(named), folder.parent / "train")
    held = held_passages()
    claims = [each for each in read_claims() if each.passage in held and each.passage in passages]
    claims.sort(key=lambda each: crc32(f"{SEED}|{each.claim}".encode()))
    for each in claims[:most]:
        text = " ".join(passages[each.passage])
        yield Row("held_written", TARGETS[each.label], each.claim, text)


def documents(folder: Path, half: int) -> list[families.Passage]:
    """Return the texts of one half, 0 or 1, in an order of chance."""
    texts = {p.premise for name in DOCUMENTS for p in read_pairs(folder / f"{name}.jsonl.gz")}
    kept = [text for text in texts if crc32(text.encode()) % 2 == half]
    kept.sort(key=lambda text: (crc32(f"{SEED}|{text}".encode()), text))
    passages = (families.read_passage(text) for text in kept)
    return [passage for passage in passages if passage.claims()]


def edit_rows(folder: Path, half: int, most: int) -> Iterator[Row]:
    """Yield edits of every kind, originals as they are, and sentences whose source lost them."""
    passages = documents(folder, half)
    for name, kind in sorted(families.KINDS.items()):
        rng = np.random.default_rng([SEED, half, crc32(name.encode())])
        made = 0
        for passage in passages:
            claim = passage.parts[int(rng.choice(passage.claims()))]
            edited = kind.edit(claim, passage.text(), rng)
            if edited is None or edited == claim or made == most:
                continue
            made += 1
            yield Row(f"edit_{name}", kind.target, edited, passage.text())
            if made % 4 == 0:
                yield Row("originals", _ENTAILS, claim, passage.text())
    for name, maker in (("removed", families.removed_family), ("partial", families.partial_family)):
        rng = np.random.default_rng([SEED, half, crc32(name.encode())])
        made = 0
        for passage in passages:
            family = maker(passage, int(rng.choice(passage.claims())), rng) if made < most else []
            made += bool(family)
            for pair in family:
                group = f"edit_{name}" if pair.target else "restated"
                yield Row(group, pair.target, pair.hypothesis, pair.premise)
