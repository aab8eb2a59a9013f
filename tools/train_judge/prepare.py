"""Make the training file: public pairs, rule-made pairs, their windows, their tokens.

    python -m tools.train_judge.prepare DATA TOKENIZER OUT [--documents FOLDER] [--unlabelled N]

DATA holds `train/` and `dev/`; FOLDER the documents of written/documents.txt, unpacked. OUT gets
`pairs.npz` (tokens), `pairs.jsonl` (the same as text, to be read by people), `held.jsonl` and
`dev.jsonl` (rows of the probe). Deterministic: the same data, code and seed give the same bytes.
Needs no torch.
"""

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from zlib import crc32

import numpy as np

from tools.train_judge import families
from tools.train_judge.batches import encode, open_tokenizer
from tools.train_judge.heldout import dev_claims, dev_rows, plain
from tools.train_judge.joined import QUOTAS, joined_claims
from tools.train_judge.questions import contrasts, stated
from tools.train_judge.sources import (
    CAPS,
    TWICE,
    UNLABELLED,
    Pair,
    capped,
    draw,
    read_pairs,
    read_source,
)
from tools.train_judge.windows import is_short, narrow, wide
from tools.train_judge.word_lists import words
from tools.train_judge.written import find_passages, held_passages, read_claims, written_pairs

SEED = 11
QUESTION_FAMILIES = 6000
WRITTEN_PASSES = 3  # Each with other neighbours around the sentences that decide.
# With a third of the rows made by rule, real claims were read worse.
HUMAN_SHARE = 0.8
SHORT_PREMISE_WORDS, MOST_NEIGHBOURS = 25, 3
CLAIMS, EDITS = 0, 1  # The network's heads.
Family = list[Pair]


@dataclass(frozen=True, slots=True)
class Prepared:
    """The pairs of each head, in families that stay together, and the pairs held out."""

    human: list[Family]
    edits: list[Family]
    held: list[Pair]

    def rows(self, seed: int) -> list[tuple[Pair, int]]:
        """All pairs with their heads, families in a seeded order."""
        groups = [(family, CLAIMS) for family in self.human]
        groups += [(family, EDITS) for family in self.edits]
        order = np.random.default_rng(seed).permutation(len(groups))
        return [(pair, groups[at][1]) for at in order for pair in groups[at][0]]


def prepare(data: Path, seed: int, unlabelled: int = 0, documents: Path | None = None) -> Prepared:
    """What is trained on, and what is held out of it.

    No claim of the developer sets is trained on. `unlabelled` pairs beyond the caps are added
    without their labels, for a student to learn from its teacher.
    """
    chosen, joinable, beyond, held = _public_pairs(data / "train", seed)
    windowed = [replace(pair, premise=_premise(pair)) for pair in map(_as_statement, chosen)]
    human = [[pair] for pair in _among_others(windowed)]
    human += [[replace(pair, premise=_short(pair))] for pair in joined_claims(joinable, seed)]
    human += _answers(data / "train")
    if documents:
        passages = find_passages(documents, data / "train")
        claims = [claim for claim in read_claims() if claim.passage not in held_passages()]
        for number in range(WRITTEN_PASSES):
            human += [[pair] for pair in written_pairs(claims, passages, number)]
    edits = sorted(_edits(data / "train", seed), key=lambda family: _number(family[0].hypothesis))
    seen = dev_claims(data / "dev")
    human, edits = _unseen(human, seen), _unseen(edits, seen)
    most = sum(map(len, human)) * (1 - HUMAN_SHARE) / HUMAN_SHARE
    sizes = accumulate(map(len, edits))
    edits = [family for family, size in zip(edits, sizes, strict=True) if size <= most]
    rest = map(_as_statement, beyond[:unlabelled])
    human += _unseen(([_unlabelled(pair)] for pair in rest), seen)
    return Prepared(human, edits, [replace(pair, premise=_short(pair)) for pair in held])


def _number(text: str) -> int:
    return crc32(text.encode())


def _public_pairs(data: Path, seed: int) -> tuple[list[Pair], list[Pair], list[Pair], list[Pair]]:
    """The pairs within the caps, those that can be joined, those beyond the caps, those held."""
    chosen: list[Pair] = []
    joinable: list[Pair] = []
    beyond: list[Pair] = []
    held: list[Pair] = []
    for name, cap in CAPS.items():
        pairs, apart = read_source(data / f"{name}.jsonl.gz", seed)
        within = capped(pairs, cap, seed)
        chosen += within * (2 if name in TWICE else 1)
        joinable += pairs if name in QUOTAS else []
        taken = set(within)
        beyond += [pair for pair in pairs if pair not in taken]
        held += apart
    beyond.sort(key=lambda pair: draw(pair, seed))
    return chosen, joinable, beyond, held


def _as_statement(pair: Pair) -> Pair:
    return stated(pair) or pair


def _premise(pair: Pair) -> str:
    """Short premises mostly whole, as they were labelled; a quarter of the long in wide windows."""
    length = len(pair.premise.split())
    number = _number(f"{pair.hypothesis}|{pair.premise[:80]}")
    is_whole = length < 25 or number % 3 if length <= 60 else length <= 90 and number % 2
    if is_whole:
        return pair.premise
    window = wide if length > 90 and number % 4 == 0 else narrow
    return window(pair.hypothesis, pair.premise)


def _among_others(pairs: list[Pair]) -> Iterator[Pair]:
    """Put a third of the short premises among others of their set: a window has neighbours."""
    premises: dict[str, list[str]] = defaultdict(list)
    for pair in pairs:
        if len(pair.premise.split()) <= SHORT_PREMISE_WORDS:
            premises[pair.source].append(pair.premise)
    for place, pair in enumerate(pairs):
        others = premises[pair.source]
        number = _number(f"{place}|{pair.hypothesis}")
        if len(pair.premise.split()) > SHORT_PREMISE_WORDS or number % 3:
            yield pair
            continue
        wanted = 1 + number // 3 % MOST_NEIGHBOURS
        near = [others[_number(f"{number}|{each}") % len(others)] for each in range(wanted)]
        near = [text for text in near if text != pair.premise]
        near.insert(number // 9 % (len(near) + 1), pair.premise)
        yield replace(pair, premise=" ".join(near))


def _short(pair: Pair) -> str:
    return pair.premise if is_short(pair.premise) else narrow(pair.hypothesis, pair.premise)


def _unlabelled(pair: Pair) -> Pair:
    window = wide if _number(pair.hypothesis) % 2 else narrow
    return replace(pair, premise=window(pair.hypothesis, pair.premise), target=UNLABELLED)


def _answers(data: Path) -> Iterator[Family]:
    """Right and wrong answers as statements, each with its own window."""
    found = list(contrasts(read_pairs(data / "squad_swap.jsonl.gz")))
    found.sort(key=lambda family: _number(family[0].hypothesis))
    for family in found[:QUESTION_FAMILIES]:
        yield [replace(pair, premise=_premise(pair), source="stated_answers") for pair in family]


def _edits(data: Path, seed: int) -> Iterator[Family]:
    """Edits of every kind; rare kinds look through all passages, frequent ones through few."""
    sets = (data / f"{name}.jsonl.gz" for name in words("running_text"))
    texts = {pair.premise for path in sets for pair in read_pairs(path)}
    ordered = sorted(texts, key=lambda text: (_number(f"{seed}|{text}"), text))
    passages = [families.read_passage(text) for text in ordered]
    passages = [passage for passage in passages if passage.claims() and len(passage.parts) > 1]
    for number, (name, (maker, quota)) in enumerate(sorted(families.MAKERS.items())):
        rng = np.random.default_rng([seed, _number(name)])
        start = number * len(passages) // len(families.MAKERS)
        made = 0
        for passage in passages[start:] + passages[:start]:
            tries = (maker(passage, int(at), rng) for at in rng.permutation(passage.claims()))
            family = next(filter(None, tries), [])
            if family:
                made += 1
                yield family
            if made == quota:
                break


def _unseen(groups: Iterable[Family], seen: frozenset[str]) -> list[Family]:
    """The families without a claim of the developer sets."""
    every = list(groups)
    kept = [f for f in every if not any(plain(pair.hypothesis) in seen for pair in f)]
    if len(kept) < len(every):
        print(f"{len(every) - len(kept)} families left out: their claims are in the dev sets")
    return kept


def main() -> None:
    """Write the rows to train on and the rows of the probe."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("tokenizer", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--unlabelled", type=int, default=0, help="rows for a teacher to label")
    parser.add_argument("--documents", type=Path, help="where the written claims' documents are")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    prepared = prepare(given.data, given.seed, given.unlabelled, given.documents)
    pairs, heads = zip(*prepared.rows(given.seed), strict=True)
    texts = [(pair.premise, pair.hypothesis) for pair in pairs]
    rows = encode(open_tokenizer(given.tokenizer), texts, [pair.target for pair in pairs], heads)
    rows.write(given.out / "pairs.npz")
    lines = ([*_line(pair), head] for pair, head in zip(pairs, heads, strict=True))
    _write_lines(given.out / "pairs.jsonl", lines)
    _write_lines(given.out / "held.jsonl", map(_line, prepared.held))
    _write_lines(given.out / "dev.jsonl", dev_rows(given.data / "dev"))
    for (source, target), number in sorted(Counter((p.source, p.target) for p in pairs).items()):
        print(source, target, number)
    share = heads.count(CLAIMS) / len(heads)
    print(f"{len(pairs)} pairs, {share:.1%} human, mean {rows.lengths.mean():.1f} tokens")


def _line(pair: Pair) -> list[str | int]:
    return [pair.source, pair.target, pair.hypothesis, pair.premise]


def _write_lines(path: Path, rows: Iterable[object]) -> None:
    with path.open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)


if __name__ == "__main__":
    main()
