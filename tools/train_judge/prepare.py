"""Make the training file: public pairs, rule-made pairs, their windows, their tokens.

    python -m tools.train_judge.prepare DATA/train MODEL/tokenizer.json OUT

Deterministic: the same data, code and seed give the same bytes. Needs no torch.
"""

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.random import Generator
from tokenizers import Tokenizer

from tools.train_judge import families
from tools.train_judge.families import Passage
from tools.train_judge.questions import contrasts
from tools.train_judge.sources import CAPS, Pair, capped_source, read_pairs
from tools.train_judge.windows import fits, premise_for
from tools.train_judge.word_lists import words

MAX_TOKENS = 128
QUESTION_FAMILIES = 6000
Maker = Callable[[Passage, int, Generator], list[Pair]]


def running_passages(data: Path, seed: int) -> list[str]:
    """The distinct source texts of the running-text sets, in a seeded order."""
    sets = (data / f"{name}.jsonl.gz" for name in words("running_text"))
    texts = {pair.premise for path in sets for pair in read_pairs(path)}
    return sorted(texts, key=lambda text: (crc32(f"{seed}|{text}".encode()), text))


def _maker(name: str) -> Maker:
    def make(passage: Passage, place: int, rng: Generator) -> list[Pair]:
        return families.edited_family(name, passage, place, rng)

    return make


def rule_made(texts: list[str], seed: int) -> Iterator[list[Pair]]:
    """Families of every kind; rare kinds look through all passages, frequent ones through few."""
    passages = [families.read_passage(text) for text in texts]
    passages = [passage for passage in passages if passage.claims() and len(passage.parts) > 1]
    makers: dict[str, tuple[int, Maker]] = {
        "removed": (families.REMOVED_FAMILIES, families.removed_family),
        "partial": (families.PARTIAL_FAMILIES, families.partial_family),
    }
    for name, kind in families.KINDS.items():
        makers[name] = (kind.families, _maker(name))
    for number, (name, (quota, maker)) in enumerate(sorted(makers.items())):
        rng = np.random.default_rng([seed, crc32(name.encode())])
        start = number * len(passages) // len(makers)
        rotated = passages[start:] + passages[:start]
        yield from _filled(rotated, quota, maker, rng)


def _filled(
    passages: list[Passage], quota: int, maker: Maker, rng: Generator
) -> Iterator[list[Pair]]:
    """One family of each passage that has one, until there are enough."""
    made = 0
    for passage in passages:
        if made == quota:
            return
        tries = (maker(passage, int(place), rng) for place in rng.permutation(passage.claims()))
        family = next((found for found in tries if found), None)
        if family:
            made += 1
            yield family


def public_families(data: Path, seed: int) -> Iterator[list[Pair]]:
    """Each public pair as a family of one, its premise cut to the window of its claim.

    Half of the premises that fit are kept whole: their labels were given for the whole.
    """
    for source in sorted(CAPS):
        for pair in capped_source(data / f"{source}.jsonl.gz", seed):
            whole = fits(pair.premise) and crc32(pair.hypothesis.encode()) % 2
            premise = pair.premise if whole else premise_for(pair.hypothesis, pair.premise)
            yield [Pair(premise, pair.hypothesis, pair.target, pair.source)]


def question_families(data: Path) -> Iterator[list[Pair]]:
    """Right and wrong answers as statements, each with its own window."""
    found = list(contrasts(read_pairs(data / "squad_swap.jsonl.gz")))
    found.sort(key=lambda family: crc32(family[0].hypothesis.encode()))
    for family in found[:QUESTION_FAMILIES]:
        yield [
            Pair(premise_for(p.hypothesis, p.premise), p.hypothesis, p.target, "stated_answers")
            for p in family
        ]


def encode(tokenizer: Tokenizer, pairs: list[Pair]) -> dict[str, np.ndarray]:
    """Token ids end to end, with the place where each row and each claim begins."""
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS, strategy="longest_first")
    encoded = tokenizer.encode_batch([(p.premise, p.hypothesis) for p in pairs])
    lengths = [len(row.ids) for row in encoded]
    return {
        "ids": np.concatenate([np.array(row.ids, dtype=np.uint16) for row in encoded]),
        "starts": np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        "claims": np.array([row.type_ids.index(1) for row in encoded], dtype=np.int16),
        "targets": np.array([p.target for p in pairs], dtype=np.int8),
    }


def main() -> None:
    """Write pairs.npz (tokens) and pairs.jsonl (text, to be read by people)."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    groups = [
        *public_families(given.data, given.seed),
        *question_families(given.data),
        *rule_made(running_passages(given.data, given.seed), given.seed),
    ]
    order = np.random.default_rng(given.seed).permutation(len(groups))
    pairs = [pair for place in order for pair in groups[place]]
    rows = encode(Tokenizer.from_file(str(given.tokenizer)), pairs)
    np.savez(given.out / "pairs.npz", **rows)
    with (given.out / "pairs.jsonl").open("w", encoding="utf-8") as out:
        for pair in pairs:
            out.write(json.dumps([pair.source, pair.target, pair.hypothesis, pair.premise]) + "\n")
    counts = Counter((pair.source, pair.target) for pair in pairs)
    for (source, target), number in sorted(counts.items()):
        print(source, target, number)
    print(f"{len(pairs)} pairs, mean {np.diff(rows['starts']).mean():.1f} tokens")


if __name__ == "__main__":
    main()
