"""Measure the lexical judge on labelled claims and on rule-made edits.

    python -m tools.measure_lexical [FOLDER] [--rows N] [--edits N]

FOLDER (or the environment variable AFFIDAVIT_JUDGE_DATA) contains gzipped JSON lines of `premise`,
`hypothesis` and `label`. It prints for each set the balanced accuracy of "supported", the AUROC of
the support, and how often the judge contradicts supported and other claims; then for each kind of
edit how often the edited claim is still supported and how often it is contradicted.
"""

import argparse
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import numpy as np

from affidavit.judge.lexical.judge import LexicalJudge
from affidavit.ledger.model import Chunk, Reading, Span, SupportLevel
from tools.train_judge import families
from tools.train_judge.restate import restate
from tools.train_judge.sources import draw, read_pairs

EDITED = ("bump", "frank", "summedits", "cg2c_doc")
SEED = 41


@dataclass(frozen=True, slots=True)
class Figures:
    """The verdicts of some pairs: their number, and the share of each verdict."""

    count: int
    supported: float
    weak: float
    contradicted: float

    def __str__(self) -> str:
        return (
            f"n {self.count:5d}  supported {self.supported:.3f}  weak {self.weak:.3f}"
            f"  contradicted {self.contradicted:.3f}"
        )


def read(claim: str, text: str) -> Reading:
    """Return the judge's reading of one text."""
    chunk = Chunk(
        id="c",
        hash="0" * 8,
        document_id="d",
        index=0,
        text=text,
        span=Span(0, len(text)),
        page_number=None,
        heading_path=(),
    )
    (reading,) = LexicalJudge().read(claim, [chunk])
    return reading


def figures(readings: Iterable[Reading]) -> Figures:
    """Return the shares of the verdicts."""
    found = list(readings)
    levels = [reading.support_level for reading in found if not reading.contradicts]
    count = max(1, len(found))
    return Figures(
        len(found),
        levels.count(SupportLevel.FULL) / count,
        levels.count(SupportLevel.PARTIAL) / count,
        sum(reading.contradicts for reading in found) / count,
    )


def auroc(positive: list[float], negative: list[float]) -> float:
    """Return how often a supported claim has more support than another; ties count half."""
    others = np.sort(np.array(negative))
    below = np.searchsorted(others, positive, "left") + np.searchsorted(others, positive, "right")
    return float(np.mean(below) / (2 * len(others)))


def support(reading: Reading) -> float:
    """Return the score to rank by: contradictions last, then by similarity."""
    return reading.similarity - reading.contradicts


def measure_set(path: Path, rows: int) -> str:
    """Return one line of figures for a set."""
    pairs = sorted(read_pairs(path), key=lambda pair: draw(pair, SEED))[: rows or None]
    begun = time.process_time()
    readings = [(pair.target == 0, read(pair.hypothesis, pair.premise)) for pair in pairs]
    rate = len(pairs) / (time.process_time() - begun)
    right = [reading for is_true, reading in readings if is_true]
    wrong = [reading for is_true, reading in readings if not is_true]
    if not right or not wrong:
        return f"{path.name.partition('.')[0]:22} {figures(right + wrong)}"
    of_right, of_wrong = figures(right), figures(wrong)
    balanced = (of_right.supported + 1 - of_wrong.supported) / 2
    area = auroc([support(r) for r in right], [support(r) for r in wrong])
    return (
        f"{path.name.partition('.')[0]:22} n {len(pairs):5d}  balanced accuracy {balanced:.3f}"
        f"  auroc {area:.3f}  contradicted: right {of_right.contradicted:.3f}"
        f" wrong {of_wrong.contradicted:.3f}  {rate:.0f} claims/CPU-s"
    )


def documents(folder: Path) -> list[families.Passage]:
    """Return the texts whose sentences are edited, in random order."""
    texts = {p.premise for name in EDITED for p in read_pairs(folder / f"{name}.jsonl.gz")}
    ordered = sorted(texts, key=lambda text: (crc32(f"{SEED}|{text}".encode()), text))
    passages = (families.read_passage(text) for text in ordered)
    return [passage for passage in passages if passage.claims()]


def edits(passages: list[families.Passage], name: str, limit: int) -> Iterator[tuple[str, str]]:
    """Yield edited sentences with the whole text that they were taken from."""
    rng = np.random.default_rng([SEED, crc32(name.encode())])
    made = 0
    for passage in passages:
        claim = passage.parts[int(rng.choice(passage.claims()))]
        edited = families.KINDS[name].edit(claim, passage.text(), rng)
        if edited and edited != claim:
            made += 1
            yield edited, passage.text()
        if made == limit:
            return


def originals(passages: list[families.Passage], limit: int) -> Iterator[tuple[str, str, str]]:
    """Yield sentences unchanged and reworded, with their text."""
    rng = np.random.default_rng([SEED, 0])
    for passage in passages[:limit]:
        claim = passage.parts[int(rng.choice(passage.claims()))]
        yield claim, restate(claim, rng), passage.text()


def removed(passages: list[families.Passage], limit: int) -> Iterator[tuple[str, str]]:
    """Yield sentences with their text without them."""
    rng = np.random.default_rng([SEED, 1])
    made = 0
    for passage in passages:
        family = families.removed_family(passage, int(rng.choice(passage.claims())), rng)
        made += bool(family)
        yield from ((pair.hypothesis, pair.premise) for pair in family if pair.target)
        if made == limit:
            return


def print_edits(folder: Path, limit: int) -> None:
    """Print the figures on rule-made edits."""
    passages = documents(folder)
    same = list(originals(passages, limit))
    print(f"{'originals':22} {figures(read(claim, text) for claim, _, text in same)}")
    print(f"{'restated':22} {figures(read(other, text) for _, other, text in same)}")
    for name in families.KINDS:
        found = figures(read(claim, text) for claim, text in edits(passages, name, limit))
        print(f"{name:22} {found}")
    print(f"{'removed':22} {figures(read(*pair) for pair in removed(passages, limit))}")


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--rows", type=int, default=0, help="rows per set; 0 is all")
    parser.add_argument("--edits", type=int, default=300, help="edits per kind")
    given = parser.parse_args()
    folder = given.folder or Path(os.environ["AFFIDAVIT_JUDGE_DATA"])
    for path in sorted(folder.glob("*.jsonl.gz")):
        print(measure_set(path, given.rows))
    if all((folder / f"{name}.jsonl.gz").exists() for name in EDITED):
        print_edits(folder, given.edits)


if __name__ == "__main__":
    main()
