"""Searches a redacted bundle for redacted values that still stand elsewhere in it."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from affidavit.base.canonical import jcs
from affidavit.base.json_values import JsonValue
from affidavit.packs.pointers import child_pointer
from affidavit.seal.bundle.commitments import is_commitment
from affidavit.seal.bundle.events import LEAF_SALT

MAX_LEFTOVERS: Final = 20  # Places that are named; all are counted.
_MAX_WORDS: Final = 8  # Of a longer value, the first words are searched for.
_WORD: Final = re.compile(r"\w+")
# Members of an event that hold no value of the user: digests, numbers, and the id of the run twice.
_UNSEARCHED: Final = frozenset(
    {"assaycontenthash", "assayseq", "datacontenttype", "id", "specversion", "time", LEAF_SALT}
)


class EventPlace(msgspec.Struct, frozen=True):
    """A place in an event, or in the manifest if the event is None."""

    event: int | None
    path: str

    def __str__(self) -> str:
        holder = "the manifest" if self.event is None else f"event {self.event}"
        return f"{holder} at {self.path}"


class Leftover(msgspec.Struct, frozen=True):
    """A place where a redacted value still stands."""

    value_of: EventPlace
    place: EventPlace


class LeftoverSearch:
    """Searches a redacted bundle for values that were redacted elsewhere in it.

    A value is found by its words, whatever their case and what stands between them. Single digits,
    true, false and null are everywhere and are not searched for. A value in another form, such as
    its digest, is not found.
    """

    def __init__(self) -> None:
        self._expected: dict[tuple[str, ...], EventPlace] = {}
        self._lengths: set[int] = set()
        self.found: list[Leftover] = []
        self.count = 0

    def expect(self, value: JsonValue, place: EventPlace) -> None:
        """Search for the texts and numbers of a redacted value."""
        for text, _ in _texts_in(value, ""):
            words = _words(text)[:_MAX_WORDS]
            if words and not (len(text) == 1 and text.isdigit()):
                self._expected.setdefault(words, place)
                self._lengths.add(len(words))

    def search(self, event: Mapping[str, Any]) -> None:
        """Note the places of an event that still have one of the values."""
        kept = {name: event[name] for name in sorted(event.keys() - _UNSEARCHED)}
        self._search_value(kept, event["assayseq"])

    def search_manifest(self, kept: Mapping[str, JsonValue]) -> None:
        """Note the places in members of a manifest that still have one of the values."""
        self._search_value(dict(sorted(kept.items())), None)

    def _search_value(self, members: dict[str, JsonValue], event: int | None) -> None:
        for name, value in members.items():
            for text, path in _texts_in(value, child_pointer("", name), with_keys=True):
                self._search_text(_words(text), EventPlace(event, path))

    def _search_text(self, words: tuple[str, ...], place: EventPlace) -> None:
        for start in range(len(words)):
            for length in self._lengths:
                value_of = self._expected.get(words[start : start + length])
                if value_of is not None:
                    self.count += 1
                    if len(self.found) < MAX_LEFTOVERS:
                        self.found.append(Leftover(value_of, place))
                    return


def _words(text: str) -> tuple[str, ...]:
    """Return the words of a text, or the text itself if it has none."""
    folded = text.casefold()
    return tuple(_WORD.findall(folded)) or tuple(filter(None, (folded.strip(),)))


def _texts_in(value: JsonValue, path: str, *, with_keys: bool = False) -> Iterator[tuple[str, str]]:
    """Yield the texts and numbers in a value as texts, perhaps the keys too, each with its path."""
    pending: list[tuple[JsonValue, str]] = [(value, path)]
    while pending:
        here, at = pending.pop()
        if isinstance(here, dict):
            if not is_commitment(here):
                pending += [(here[key], child_pointer(at, key)) for key in reversed(here)]
                yield from ((key, child_pointer(at, key)) for key in here if with_keys)
        elif isinstance(here, list):
            pending += [(here[index], f"{at}/{index}") for index in reversed(range(len(here)))]
        elif isinstance(here, str) or (here is not None and not isinstance(here, bool)):
            yield here if isinstance(here, str) else jcs(here).decode(), at
