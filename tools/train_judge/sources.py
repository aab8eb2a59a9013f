"""Which public sets are trained on, how many pairs of each, and how their labels are read.

Every source is capped so that none rules; labels are balanced inside a source, and for the sets
about one subject inside each subject, so that no topic predicts a label. Hypotheses in question
form are capped low, because the product's claims are declarative.
"""

import gzip
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

# 0, 1, 2 as the network's classes; 3 says only "not entailed" (neutral or contradicted).
NOT_ENTAILED = 3
TARGETS = {"supported": 0, "neutral": 1, "refuted": 2, "partial": 3, "not_supported": 3}

CAPS = {
    "fever_train": 13000,
    "fever_nei": 5000,
    "fever_nli_dev": 2600,
    "feverous_s": 2700,
    "fool_me_twice": 2546,
    "fever_adversarial": 756,
    "vitaminc_test": 15000,
    "snli_100k": 6000,
    "cad_nli": 5000,
    "mnli_ni": 6000,
    "mnli_nyu25k": 7500,
    "infotabs": 4000,
    "tabfact": 1500,
    "qasc_ni": 2000,
    "paws_ni": 4500,
    "rome1776": 1700,
    "entailmentbank": 1030,
    "clapnq": 878,
    "mtrag_human": 443,
    # hypotheses in question form
    "condaqa": 1500,
    "boolq_ni": 1000,
    "squad2": 1000,
    "squad_swap": 1500,
    "strategyqa": 700,
    "pubmedqa": 450,
    "halueval_qa2k": 500,
    # one subject each
    "check_covid": 700,
    "citation_integrity": 900,
    "evidence_inference": 1200,
    "contractnli": 900,
}
BY_HYPOTHESIS = frozenset({"contractnli"})


@dataclass(frozen=True, slots=True)
class Pair:
    """One row to train on: evidence, claim, target class, and where it comes from."""

    premise: str
    hypothesis: str
    target: int
    source: str


def read_pairs(path: Path) -> Iterator[Pair]:
    """All rows of one set, its labels turned into targets."""
    source = path.name.removesuffix(".jsonl.gz")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            yield Pair(row["premise"], row["hypothesis"], TARGETS[row["label"]], source)


def draw(pair: Pair, seed: int) -> int:
    """A number that orders pairs at random, the same on every machine and in any file order."""
    return crc32(f"{seed}|{pair.premise}|{pair.hypothesis}|{pair.target}".encode())


def _balanced(pairs: list[Pair], cap: int, seed: int) -> list[Pair]:
    """At most `cap` pairs, as many of each label as of the others where there are enough."""
    groups: dict[int, list[Pair]] = defaultdict(list)
    for pair in sorted(pairs, key=lambda p: draw(p, seed)):
        groups[pair.target].append(pair)
    chosen: list[Pair] = []
    waiting = sorted(groups.values(), key=len)
    for place, group in enumerate(waiting):
        share = (cap - len(chosen)) // (len(waiting) - place)
        chosen.extend(group[:share])
    return chosen


def _equalised(pairs: list[Pair], seed: int) -> list[Pair]:
    """As many entailed pairs as others, for one subject whose label must not be guessable."""
    ordered = sorted(pairs, key=lambda p: draw(p, seed))
    yes = [pair for pair in ordered if pair.target == 0]
    no = [pair for pair in ordered if pair.target != 0]
    size = min(len(yes), len(no))
    return yes[:size] + no[:size]


def _half_entailed(pairs: list[Pair], cap: int, seed: int) -> list[Pair]:
    """A balanced draw in which the entailed rows are at most half and at least a third."""
    yes = [pair for pair in pairs if pair.target == 0]
    no = [pair for pair in pairs if pair.target != 0]
    if not yes or not no:
        return _balanced(pairs, cap, seed)
    kinds = len({pair.target for pair in no})
    share = cap // 2 if kinds == 1 else cap * 2 // 5
    rest = _balanced(no, cap - share, seed)
    return _balanced(yes, min(share, len(rest) if kinds == 1 else share), seed) + rest


def capped_source(path: Path, seed: int) -> list[Pair]:
    """The pairs of one set that take part in the training."""
    pairs = list(read_pairs(path))
    source = path.name.removesuffix(".jsonl.gz")
    if source in BY_HYPOTHESIS:
        topics: dict[str, list[Pair]] = defaultdict(list)
        for pair in pairs:
            topics[pair.hypothesis].append(pair)
        pairs = [pair for _, group in sorted(topics.items()) for pair in _equalised(group, seed)]
    return _half_entailed(pairs, CAPS[source], seed)
