"""The lexical judge's tables, as they stand in the files of `data/`, and their digest."""

from collections.abc import Iterator, Mapping
from hashlib import sha256
from importlib.resources import files
from types import MappingProxyType
from typing import Final

_NAMES: Final = (
    "antonyms.txt", "cues.txt", "families.txt", "idf.txt", "irregular.txt", "names.txt",
    "stopwords.txt", "synonyms.txt", "units.txt",
)  # fmt: skip
_TEXTS: Final = {name: (files(__package__) / "data" / name).read_text("utf-8") for name in _NAMES}


def lines_of(name: str) -> Iterator[str]:
    """Yield the lines of a table that are neither empty nor a comment."""
    for line in _TEXTS[name].splitlines():
        if line and not line.startswith("#"):
            yield line


def tables_digest() -> str:
    """Return one digest over all tables: the same digest, the same readings."""
    whole = sha256()
    for name in _NAMES:
        body = _TEXTS[name].encode()
        whole.update(f"{name}\0{len(body)}\0".encode())
        whole.update(body)
    return whole.hexdigest()


def _irregular() -> Mapping[str, str]:
    rows = (line.split() for line in lines_of("irregular.txt"))
    return MappingProxyType({form: base for base, *forms in rows for form in forms})


def _cues() -> Mapping[str, tuple[str, ...]]:
    found = {}
    for line in lines_of("cues.txt"):
        name, _, members = line.partition(": ")
        # Members are parted by "; "; the semicolon as a member is written twice.
        found[name] = tuple(member or ";" for member in members.replace(";;", ";").split("; "))
    return MappingProxyType(found)


IRREGULAR: Final = _irregular()
STOP_WORDS: Final = frozenset(word for line in lines_of("stopwords.txt") for word in line.split())
_CUES: Final = _cues()


def listed(name: str) -> tuple[str, ...]:
    """Return the members of a list in cues.txt, in their order."""
    return _CUES[name]


def cues(*names: str) -> frozenset[str]:
    """Return the members of one or more lists in cues.txt."""
    return frozenset(member for name in names for member in _CUES[name])
