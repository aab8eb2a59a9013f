"""Which public sets are trained on, how many pairs of each, and how their labels are read.

Every source is capped so that none rules; labels are balanced inside a source, and for the sets
about one subject inside each subject, so that no topic predicts a label. Hypotheses in question
form are capped low, because the product's claims are declarative. FEVER, SNLI and tables are capped
below what they hold: MultiNLI, VitaminC and PAWS transfer best to claims about real documents.
"""

import gzip
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

# 0, 1, 2 as the network's classes; 3 says only "not entailed" (neutral or contradicted).
NOT_ENTAILED = 3
# No label is used: only a teacher says what the row is.
UNLABELLED = 4
TARGETS = {"supported": 0, "neutral": 1, "refuted": 2, "partial": 3, "not_supported": 3}

CAPS = {
    "fever_train": 16000,
    "fever_nei": 8000,
    "fever_nli_dev": 3400,
    "feverous_s": 2900,
    "fool_me_twice": 2546,
    "fever_adversarial": 756,
    "vitaminc_test": 30000,
    "snli_100k": 12000,
    "cad_nli": 9000,
    "mnli_ni": 24000,
    "mnli_nyu25k": 22000,
    "infotabs": 3000,
    "tabfact": 2000,
    "qasc_ni": 2000,
    "paws_ni": 5700,
    "rome1776": 1934,
    "entailmentbank": 1030,
    "clapnq": 878,
    "mtrag_human": 443,
    # hypotheses in question form
    "condaqa": 2500,
    "boolq_ni": 2000,
    "squad2": 2000,
    "strategyqa": 1000,
    "pubmedqa": 700,
    "halueval_qa2k": 500,
    # one subject each
    "check_covid": 1000,
    "citation_integrity": 1800,
    "evidence_inference": 1500,
    "contractnli": 1500,
}
BY_HYPOTHESIS = frozenset({"contractnli"})
# Sets with real claims or sources, and those that transfer best: each pass reads them twice.
TWICE = frozenset({
    "cad_nli", "citation_integrity", "clapnq", "contractnli", "entailmentbank", "fever_nli_dev",
    "feverous_s", "fool_me_twice", "mnli_ni", "mnli_nyu25k", "mtrag_human", "paws_ni", "pubmedqa",
    "rome1776",
})  # fmt: skip
# Large sets of which HELD_PER_CLASS pairs of each class are kept for the probe.
HELD = frozenset({
    "cad_nli", "fever_nei", "fever_train", "mnli_ni", "mnli_nyu25k", "snli_100k", "vitaminc_test",
})  # fmt: skip
HELD_PER_CLASS = 100
# Developer sets that are measured, but on which no choice may rest.
EVALUATION_ONLY = frozenset({"attributionbench_id", "lfqa_verification", "qags"})
_HELD_SEED = 99


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


def read_source(path: Path, seed: int) -> tuple[list[Pair], list[Pair]]:
    """The pairs of one set that may be trained on, and those that are held out.

    No premise of a held-out pair is trained on.
    """
    pairs = list(read_pairs(path))
    source = path.name.removesuffix(".jsonl.gz")
    if source in BY_HYPOTHESIS:
        topics: dict[str, list[Pair]] = defaultdict(list)
        for pair in pairs:
            topics[pair.hypothesis].append(pair)
        pairs = [pair for _, group in sorted(topics.items()) for pair in _equalised(group, seed)]
    if source not in HELD:
        return pairs, []
    classes = _by_target(pairs, _HELD_SEED).values()
    held = {pair for group in classes for pair in group[:HELD_PER_CLASS]}
    premises = {pair.premise for pair in held}
    return (
        [pair for pair in pairs if pair.premise not in premises],
        [pair for pair in pairs if pair in held],
    )


def capped(pairs: list[Pair], cap: int, seed: int) -> list[Pair]:
    """A balanced draw in which the entailed rows are at most half and at least a third."""
    yes = [pair for pair in pairs if pair.target == 0]
    no = [pair for pair in pairs if pair.target != 0]
    if not yes or not no:
        return _balanced(pairs, cap, seed)
    kinds = len({pair.target for pair in no})
    share = cap // 2 if kinds == 1 else cap * 2 // 5
    rest = _balanced(no, cap - share, seed)
    return _balanced(yes, min(share, len(rest) if kinds == 1 else share), seed) + rest


def _by_target(pairs: Iterable[Pair], seed: int) -> dict[int, list[Pair]]:
    groups: dict[int, list[Pair]] = defaultdict(list)
    for pair in sorted(pairs, key=lambda p: draw(p, seed)):
        groups[pair.target].append(pair)
    return groups


def _balanced(pairs: list[Pair], cap: int, seed: int) -> list[Pair]:
    """At most `cap` pairs, as many of each label as of the others where there are enough."""
    chosen: list[Pair] = []
    waiting = sorted(_by_target(pairs, seed).values(), key=len)
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
