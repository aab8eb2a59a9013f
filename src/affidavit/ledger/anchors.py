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

_FILE: Final = (
    r"[^\W_][\w./-]*(?:[ ][\w./-]+){0,5}\.(?:pdf|docx?|md|txt|html?|csv|xlsx?|pptx?|json|rtf|odt)"
)
_PLACE: Final = (
    r"(?:pp?\.|pages?|\u00a7{1,2}|sections?|sec\.|articles?|art\.|clauses?|chapters?|ch\."
    r"|paragraphs?"
    r"|paras?\.?)[ ]?\d[\w.]{0,8}(?:[ ]?[\u2013-][ ]?\d[\w.]{0,8})?"
)
_PLACES: Final = rf"{_PLACE}(?:,[ ]{_PLACE}){{0,3}}"
_ONE_PLACE: Final = rf"(?:{_FILE}(?:,?[ ]{_PLACES})?|{_PLACES})"
# A name of a source before its place, but not "as defined in section 4", which says something.
_NAMED_PLACE: Final = (
    r"(?!(?:as|in|under|by|to|within|pursuant|per|up|for"
    r"|about)[ ])(?:[\w.&'\u2019-]+[ ,]{1,2}){1,7}?"
    rf"{_PLACES}"
)
_KINDS: Final = (
    r"(?:sources?|passages?|documents?|docs?\.?|contexts?|chunks?|excerpts?|references?|refs?\.?)"
)
_LISTED: Final = r"\d{1,3}(?:(?:[ ]?[,;&\u2013-][ ]?|,? and )\d{1,3})*"
_SAYS: Final = (
    r"(?:according to|per|based on"
    r"|as (?:per|(?:stated|described|noted|shown|specified|explained) (?:in|by)))"
)
ANCHOR: Final = re.compile(
    r"\[cite:(?P<hashes>[^\[\]\n]{0,120})\]"
    r"|\[\[?(?P<linked>\^?[A-Za-z]?\d{1,3})\]?\]\((?P<target>[^()\s]+)\)"
    r"|\([ ]?\[(?P<shown_source>[^\[\]\n]{1,120})\]\((?P<shown_target>[^()\s]+)\)[ ]?\)"
    r"|\[(?P<numbers>[A-Za-z]?\d{1,3}(?:[ ]?[,;\u2013-][ ]?[A-Za-z]?\d{1,3})*)\](?!\()"
    r"|\[\^(?P<note>[\w.-]{1,32})\](?![(:])"
    r"|[(\[](?P<passages>[\w.-]{1,64}#\d{1,6}(?:[,;][ ]?[\w.-]{1,64}#\d{1,6})*)[)\]]"
    rf"|[(\[](?:see[ ])?{_KINDS}[ ]\#?(?P<listed>{_LISTED})[)\]](?!\()"
    rf"|\b{_SAYS}[ ](?:the[ ])?{_KINDS}[ ]\#?(?P<attributed>{_LISTED}),[ ]"
    rf"|\b{_SAYS}[ ](?P<stated>{_ONE_PLACE}),[ ]"
    r"|[(\[](?:sources?|see|refs?|references?):?[ ](?P<source>(?<=:[ ])[^()\[\]\n]{2,160}"
    rf"|{_ONE_PLACE})[)\]](?!\()"
    rf"|[(\[](?P<place>(?:{_ONE_PLACE}|{_NAMED_PLACE})(?:;[ ](?:{_ONE_PLACE}"
    rf"|{_NAMED_PLACE})){{0,5}})[)\]](?!\()"
    r"|\u3010(?P<lens>[^\u3010\u3011\n]{1,120})\u3011"
    r"|(?:(?<=[.,;:!?)\"'\u201d\u2019])|(?<=[a-z]{4}))"
    r"(?:(?P<raised>[\u00b9\u00b2\u00b3\u2070-\u2079]{1,3})|<sup>\[?(?P<tagged>\d{1,3})\]?</sup>)",
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
    leads: bool = False
    """Whether it stands before its claim: "According to passage 1, ..."."""

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
    if found["lens"] is not None:
        return _lens_anchor(span, text, found["lens"])
    names = _names(found)
    leads = bool(found["stated"] or found["attributed"])
    return Anchor(span, text, names=names, labels=() if names else _labels(found), leads=leads)


def _names(found: re.Match[str]) -> tuple[str, ...]:
    """Return the sources that an anchor names itself."""
    if found["shown_target"] is not None:
        return (_linked_name(found),)
    if found["passages"] is not None:
        return tuple(re.split(r"[,;]\s?", found["passages"]))
    named = found["source"] or found["place"] or found["stated"] or found["target"]
    return tuple(map(str.strip, named.split(";"))) if named else ()


def _labels(found: re.Match[str]) -> tuple[str, ...]:
    """Return the labels of an anchor, which a list of references explains."""
    if found["raised"] is not None:
        return (found["raised"].translate(_RAISED_DIGITS),)
    if found["note"] is not None:
        return (found["note"],)
    return _numbers(found["numbers"] or found["listed"] or found["attributed"] or found["tagged"])


_RAISED_DIGITS: Final = str.maketrans(
    "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079", "0123456789"
)
_SAYS_NOTHING: Final = frozenset({"source", "link", "here", "ref", "reference"})


def _linked_name(found: re.Match[str]) -> str:
    """Return what `([HR policy](hr.pdf))` refers to: both, unless the text says nothing."""
    shown, target = found["shown_source"], found["shown_target"]
    return target if shown.lower() in _SAYS_NOTHING else f"{shown} ({target})"


def _lens_anchor(span: Span, text: str, inside: str) -> Anchor:
    """Read `[1]`, `[4:0\u2020source]` and `[4:0\u2020HR_Policy.pdf]` in lenticular brackets."""
    label, _, name = inside.partition("\u2020")
    if name and name.lower() not in _SAYS_NOTHING:
        return Anchor(span, text, names=(name.strip(),))
    return Anchor(span, text, labels=(label.strip(),))


def _numbers(written: str) -> tuple[str, ...]:
    labels: list[str] = []
    for part in re.split(r"\s?(?:[,;&]\s?and|[,;&]|\band\b)\s?", written):
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
    characters before it, or, for "According to passage 1,", the next one. A row of anchors counts
    as none: the third is as near as the first.
    """
    found: list[int | None] = []
    row_start, previous_end = 0, -_SAME_ROW - 1
    for anchor in anchors:
        if anchor.span.start - previous_end > _SAME_ROW:
            row_start = anchor.span.start
        owner = _next(anchor.span, claims) if anchor.leads else _owner(row_start, claims)
        found.append(owner)
        previous_end = anchor.span.end
    return tuple(found)


def _owner(at: int, claims: Sequence[Span]) -> int | None:
    """Return the last claim that begins at or before `at`, if it reaches so far."""
    behind = bisect_right(claims, at, key=_start)
    if not behind or at > claims[behind - 1].end + REACH:
        return None
    # The pieces of a long table row share one place; the first one represents all.
    return bisect_left(claims, claims[behind - 1].start, key=_start)


def _next(span: Span, claims: Sequence[Span]) -> int | None:
    """Return the claim that begins right behind a lead-in."""
    at = bisect_left(claims, span.end, key=_start)
    return at if at < len(claims) and claims[at].start <= span.end + REACH else None


def _start(span: Span) -> int:
    return span.start
