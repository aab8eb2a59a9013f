"""Claims of two facts: two labelled claims of one premise in one, entailed only where both are.

An answer that is right but for one clause is what the judge meets most. Here both parts were
written and labelled by people.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from zlib import crc32

from tools.train_judge.sources import NOT_ENTAILED, Pair

QUOTAS = {
    "snli_100k": 2600,
    "vitaminc_test": 2600,
    "fever_train": 2600,
    "infotabs": 1600,
    "mnli_ni": 600,
    "mnli_nyu25k": 600,
    "cad_nli": 600,
}
_CONTRADICTS = 2
# Words that a clause may open with in small letters; any other may be a name.
_LOWERED = re.compile(r"(?:The|An?|There|It|He|She|They|In|This|Some|Two|People|His|Her)(?=\s)")


def joined_claims(pairs: Iterable[Pair], seed: int) -> Iterator[Pair]:
    """Up to a quota of premises per source; a premise gives a wrong claim, a right one or both."""
    premises: dict[tuple[str, str], list[Pair]] = defaultdict(list)
    for pair in pairs:
        premises[pair.source, pair.premise].append(pair)
    made: Counter[str] = Counter()
    order = sorted(premises, key=lambda key: crc32(f"{seed}|{'|'.join(key)}".encode()))
    for source, premise in order:
        draw = crc32(premise.encode())
        family = list(_family(premises[source, premise], draw))
        # Most premises have no second supported claim: a third of them keeps the labels mixed.
        if made[source] < QUOTAS[source] and (len(family) == 2 or (family and draw % 3 == 0)):
            made[source] += 1
            yield from family


def _family(pairs: list[Pair], draw: int) -> Iterator[Pair]:
    right = list({pair.hypothesis: pair for pair in pairs if pair.target == 0}.values())
    wrong = sorted((pair for pair in pairs if pair.target != 0), key=lambda pair: pair.target)
    if not right:
        return
    first = right[draw % len(right)]
    if wrong:
        other = wrong[draw % len(wrong)]
        parts = (first, other) if draw // 7 % 4 else (other, first)
        target = _CONTRADICTS if other.target == _CONTRADICTS else NOT_ENTAILED
        yield _joined(*parts, target, draw)
    if len(right) > 1:
        yield _joined(first, right[(draw + 1) % len(right)], 0, draw)


def _joined(one: Pair, other: Pair, target: int, draw: int) -> Pair:
    first, second = one.hypothesis.strip().rstrip("."), other.hypothesis.strip()
    lowered = second[0].lower() + second[1:] if _LOWERED.match(second) else second
    claims = (f"{first}, and {lowered}", f"{first}. {second}", f"{first}; {lowered}")
    claim = claims[draw // 31 % 3]
    return replace(one, hypothesis=claim, target=target, source=f"{one.source}+")
