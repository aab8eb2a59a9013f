"""What a model wrote, read strictly: one JSON object of one shape, or it was not an answer.

Two repairs are made, and noted: a fence of code around the object is taken off, and the one object
of that shape is taken out of prose around it. Two such objects are no answer: which one is meant
would be a guess.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Final, Literal

import msgspec

from affidavit.base.errors import AffidavitError
from affidavit.base.json_limits import JsonLimits
from affidavit.base.strict_json import decode
from affidavit.ledger.rules import placed_problem

_LIMITS: Final = JsonLimits(max_bytes=256 * 1024, max_depth=4, max_keys=16)
_FENCE: Final = re.compile(r"\s*```[A-Za-z]*\s*\n(.*?)\n?\s*```\s*", re.DOTALL)
_CANDIDATES: Final = 32  # Beyond so many braces a reply is noise, not an answer in prose.
_SCANNER: Final = json.JSONDecoder()

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class ReplyV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The object that the model is asked for."""

    verdict: Literal["supported", "weak", "contradicted", "not_found"]
    support: Share
    contradiction: Share
    quote: str
    reason: str


@dataclass(frozen=True, slots=True)
class Understood:
    """A reply that could be read; `repair` says what had to be mended, if anything."""

    reply: ReplyV1
    repair: str | None = None


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A reply that could not, and why. It counts as nothing: neither for nor against a claim."""

    problem: str


def understand(content: str) -> Understood | Unreadable:
    """Return what a model's text says."""
    whole = _parsed(content)
    if isinstance(whole, ReplyV1):
        return Understood(whole)
    fenced = _FENCE.fullmatch(content)
    if fenced is not None:
        inside = _parsed(fenced[1])
        if isinstance(inside, ReplyV1):
            return Understood(inside, "a fence of code was taken off the reply")
    found = {part for part in map(_parsed, _objects(content)) if isinstance(part, ReplyV1)}
    if len(found) == 1:
        return Understood(found.pop(), "the answer was taken out of the text around it")
    if found:
        return Unreadable("the reply holds several answers that differ")
    return Unreadable(whole)


def _parsed(text: str) -> ReplyV1 | str:
    """Return the reply, or what is wrong with it."""
    if not text.strip():
        return "the reply is empty"
    try:
        value = decode(text.strip().encode("utf-8", "surrogatepass"), _LIMITS)
        return msgspec.convert(value, ReplyV1)
    except AffidavitError as error:
        return f"not strict JSON: {error.message}"
    except msgspec.ValidationError as error:
        problem, field = placed_problem(error)
        return f"not the shape that was asked for: {problem}" + (f" ({field})" if field else "")


def _objects(text: str) -> Iterator[str]:
    """Yield the JSON objects that stand in a text, none inside another."""
    start, tried = text.find("{"), 0
    while start >= 0 and tried < _CANDIDATES:
        tried += 1
        try:
            _, end = _SCANNER.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            yield text[start:end]
        start = text.find("{", end)
