"""The thesaurus: words of like meaning, as a sentence encoder places them.

`tools/build_thesaurus.py` writes its two files. A claim says "staff", the document "employees": the
search looks for both. Opposites are near each other too (cheap, expensive), which is right for a
search: the passage that contradicts a claim must be found as well.
"""

from bisect import bisect_left
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from struct import Struct
from typing import Final

import msgspec

from affidavit.base.digest import sha256_hex
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import evidence as faults

THESAURUS: Final = "thesaurus.bin"
MANIFEST: Final = "manifest.json"
DATA: Final = files(__package__) / "data"
# Before the lists: how many bytes the words and the stems take, and how many synonyms a word has.
HEADER: Final = Struct("<III")
WHOLE: Final = 255
"""The stored strength of a synonym that would be as good as the word itself."""


class _Manifest(msgspec.Struct, frozen=True):
    sha256: str


class Thesaurus:
    """For each word, the stems of words of like meaning with their strengths, nearest first.

    After the header come the sorted words and the stems, one per line; then a row per word with
    two bytes for the number of each stem, and after all rows the strengths, a byte each. 0 is no
    synonym. Everything is an integer, so the same claim finds the same on every machine.
    """

    def __init__(self, data: bytes) -> None:
        word_bytes, stem_bytes, self._each = HEADER.unpack_from(data)
        lists = data[HEADER.size : HEADER.size + word_bytes + stem_bytes]
        self._words = lists[:word_bytes].decode("ascii").split("\n")
        self._stems = lists[word_bytes:].decode("ascii").split("\n")
        rows = memoryview(data)[HEADER.size + len(lists) :]
        count = len(self._words) * self._each
        self._numbers, self._strengths = rows[: 2 * count], rows[2 * count :]
        self._row = Struct(f"<{self._each}H")

    def synonyms(self, word: str) -> list[tuple[str, float]]:
        """Return the stems that a text may have instead of this word, each with its strength."""
        at = bisect_left(self._words, word)
        if at == len(self._words) or self._words[at] != word:
            return []
        numbers = self._row.unpack_from(self._numbers, at * self._row.size)
        strengths = self._strengths[at * self._each : (at + 1) * self._each]
        return [
            (self._stems[number], strength / WHOLE)
            for number, strength in zip(numbers, strengths, strict=True)
            if strength
        ]


def read_thesaurus(folder: Traversable = DATA) -> Thesaurus:
    """Read the thesaurus and refuse it if one byte is not as released."""
    try:
        manifest = msgspec.json.decode((folder / MANIFEST).read_bytes(), type=_Manifest)
        data = (folder / THESAURUS).read_bytes()
    except (OSError, msgspec.DecodeError) as error:
        raise AffidavitError(faults.THESAURUS_MISSING, Where(file=THESAURUS)) from error
    if sha256_hex(data) != manifest.sha256:
        raise AffidavitError(faults.THESAURUS_CHANGED, Where(file=THESAURUS))
    return Thesaurus(data)


@cache
def load_thesaurus() -> Thesaurus:
    """Return the thesaurus that ships with Affidavit, loaded once per process."""
    return read_thesaurus()
