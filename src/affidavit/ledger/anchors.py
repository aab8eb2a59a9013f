"""Citation anchors in an answer: their forms, and the claim that each belongs to.

Origin: evidence-ledger.md, section 5.1, with the forms that other tools write. Rules A1, A2 and A5
of docs/ledger.md.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from affidavit.ledger.model import Span

ANCHOR: Final = re.compile(
    r"\[cite:(?P<hashes>[^\[\]\n]{0,120})\]"
    r"|\[\[?(?P<linked>\^?[A-Za-z]?\d{1,3})\]?\]\((?P<target>[^()\s]+)\)"
    r"|\[(?P<numbers>[A-Za-z]?\d{1,3}(?:[ ]?[,;\u2013-][ ]?[A-Za-z]?\d{1,3})*)\](?!\()"
    r"|\[\^(?P<note>[\w.-]{1,32})\](?![(:])"
    r"|[(\[](?P<passages>[\w.-]{1,64}#\d{1,6}(?:[,;][ ]?[\w.-]{1,64}#\d{1,6})*)[)\]]",
    re.IGNORECASE,
)
REACH: Final = 20
"""How many characters after a claim's end an anchor still belongs to it: decisions.md."""

_HASH: Final = re.compile(r"[0-9a-f]{8}")
_RANGE: Final = re.compile(r"(\d{1,3})\s?[\u2013-]\s?(\d{1,3})")
_LONGEST_RANGE: Final = 20
_SAME_ROW: Final = 2
"""`[1][2]`, `[1] [2]` and `[1], [2]` are one row."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """A citation in the text of an answer. `labels` are resolved by the reference list."""

    span: Span
    text: str
    hashes: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    """References that need no list: a link's target, or `p1#2`."""
    malformed: tuple[str, ...] = ()

    def cites(self, references: Mapping[str, str]) -> tuple[str, ...]:
        """Return what the anchor refers to; a label that no list explains stays as written."""
        looked_up = (references.get(label, f"[{label}]") for label in self.labels)
        return (*self.hashes, *(_hash_within(text) or text for text in looked_up), *self.names)


def anchor_from_match(found: re.Match[str], offset: int = 0) -> Anchor:
    """Return the anchor of a match of `ANCHOR`, `offset` being where the matched text begins."""
    span = Span(found.start() + offset, found.end() + offset)
    text = found[0]
    if found["hashes"] is not None:
        written = re.split(r"[\s,;]+", found["hashes"].lower().replace("cite:", " ").strip())
        good = tuple(part for part in written if _HASH.fullmatch(part))
        bad = tuple(part for part in written if not _HASH.fullmatch(part))
        return Anchor(span, text, hashes=good, malformed=bad)
    if found["linked"] is not None:
        return Anchor(span, text, names=(found["target"],))
    if found["note"] is not None:
        return Anchor(span, text, labels=(found["note"],))
    if found["passages"] is not None:
        return Anchor(span, text, names=tuple(re.split(r"[,;]\s?", found["passages"])))
    return Anchor(span, text, labels=_numbers(found["numbers"]))


def _numbers(written: str) -> tuple[str, ...]:
    labels: list[str] = []
    for part in re.split(r"\s?[,;]\s?", written):
        ends = _RANGE.fullmatch(part)
        first, last = (int(ends[1]), int(ends[2])) if ends else (0, -1)
        if 0 <= last - first <= _LONGEST_RANGE:
            labels.extend(str(number) for number in range(first, last + 1))
        else:
            labels.append(part)
    return tuple(labels)


def _hash_within(reference: str) -> str | None:
    """Return the chunk hash that an entry of the reference list names, if it names one."""
    found = re.search(r"\bcite:([0-9a-f]{8})\b", reference.lower())
    return found[1] if found else None


def owners(anchors: Sequence[Anchor], claims: Sequence[Span]) -> tuple[int | None, ...]:
    """Return for each anchor the number of the claim that it belongs to; claims are in order.

    It is the claim whose span holds the anchor, else the nearest one that ends at most REACH
    characters before it. A row of anchors counts as none: the third is as near as the first.
    """
    found: list[int | None] = []
    row_start, previous_end = 0, -_SAME_ROW - 1
    for anchor in anchors:
        if anchor.span.start - previous_end > _SAME_ROW:
            row_start = anchor.span.start
        found.append(_owner(row_start, claims))
        previous_end = anchor.span.end
    return tuple(found)


def _owner(at: int, claims: Sequence[Span]) -> int | None:
    """Return the last claim that begins at or before `at`, if it reaches so far."""
    behind = bisect_right(claims, at, key=_start)
    if not behind or at > claims[behind - 1].end + REACH:
        return None
    # The pieces of a long table row share one place; the first one represents all.
    return bisect_left(claims, claims[behind - 1].start, key=_start)


def _start(span: Span) -> int:
    return span.start
