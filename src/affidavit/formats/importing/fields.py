"""Values out of a tool's row, by any of the names that the tool has used for them.

A value of the wrong kind is a problem of the row with the name of the field, never skipped. An
empty cell of a table and a null are the same: nothing is said.
"""

from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from typing import Final, TypeAlias, TypeVar

from affidavit.formats.importing.listed_text import find_list
from affidavit.formats.importing.model import Chunk, RowProblem, Score

Row: TypeAlias = Mapping[str, object]
Made = TypeVar("Made")

LONGEST_LABEL: Final = 64


def has(row: Row, *names: str) -> bool:
    """Tell whether a row has a field of any of these names, also an empty one."""
    return any(name in row for name in names)


def find(row: Row, *names: str) -> tuple[str, object] | None:
    """Return the first field that says something, with its name."""
    for name in names:
        value = row.get(name)
        if value is not None:
            return name, value
    return None


def text(row: Row, *names: str) -> str | None:
    """Return a text; a number is its text."""
    found = find(row, *names)
    return None if found is None else as_text(found[1], found[0])


def as_text(value: object, name: str) -> str:
    """Return a value that must be a text or a number."""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise RowProblem(f"a text is needed, not {kind_of(value)}", name)


def texts(row: Row, *names: str, separator: str | None = None) -> tuple[str, ...] | None:
    """Return a list of texts; one text alone is a list of one, unless it has the separator."""
    return _each(row, names, separator, as_text)


def chunks(row: Row, *names: str, separator: str | None = None) -> tuple[Chunk, ...] | None:
    """Return passages: texts, or objects with an id and a text as the tools spell them."""
    return _each(row, names, separator, chunk_from)


def _each(
    row: Row, names: Iterable[str], separator: str | None, made: Callable[[object, str], Made]
) -> tuple[Made, ...] | None:
    found = find(row, *names)
    if found is None:
        return None
    name, value = found
    return tuple(made(one, name) for one in _listed(value, name, separator))


def chunk_from(value: object, name: str) -> Chunk:
    """Return a passage from a text or from an object."""
    if isinstance(value, Mapping):
        chunk = Chunk(
            text(value, "id", "doc_id", "document_id", "chunk_id", "source"),
            text(value, "text", "content", "page_content", "context", "document"),
        )
        if chunk == Chunk():
            raise RowProblem("a passage has neither an id nor a text", name)
        return chunk
    return Chunk(text=as_text(value, name))


def named_chunks(
    passages: tuple[Chunk, ...] | None, ids: tuple[str, ...] | None, name: str
) -> tuple[Chunk, ...] | None:
    """Return passages with the ids that stand in a list of their own."""
    if ids is None:
        return passages
    if passages is None:
        return tuple(Chunk(one) for one in ids)
    if len(ids) != len(passages):
        raise RowProblem(f"there are {len(ids)} ids for {len(passages)} passages", name)
    return tuple(Chunk(one, chunk.text) for one, chunk in zip(ids, passages, strict=True))


def flag(row: Row, *names: str) -> bool | None:
    """Return a yes or no; tables write it as a text or as 0 and 1."""
    found = find(row, *names)
    if found is None:
        return None
    name, value = found
    word = str(value).strip().lower()
    if word in ("true", "1", "yes", "false", "0", "no"):
        return word in ("true", "1", "yes")
    raise RowProblem("true or false is needed", name)


def scores(row: Row, taken: Iterable[str]) -> dict[str, Score]:
    """Return what else a row has that is a figure, a yes or no, or a short label.

    The tools add one column for each metric, beside their own fields. A longer text is no score.
    """
    known = frozenset(taken)
    return {
        name: None if value is None else score_from(value)
        for name, value in row.items()
        if name not in known
        and (value is None or isinstance(value, bool | int | float | str))
        and len(str(value)) <= LONGEST_LABEL
    }


def score_from(value: bool | int | float | str) -> Score:
    """Return a score as the tool gave it; in a table it is a text, and one that failed is nan."""
    if isinstance(value, str):
        word = value.strip().lower()
        if word in ("true", "false"):
            return word == "true"
        try:
            number = float(word)
        except ValueError:
            return value
        return number if isfinite(number) else None
    return value if isfinite(value) else None


def rows_in(value: object, name: str) -> list[Row]:
    """Return the objects of a list."""
    if not isinstance(value, list):
        raise RowProblem(f"a list is needed, not {kind_of(value)}", name)
    return [row_in(one, name) for one in value]


def row_in(value: object, name: str) -> Row:
    """Return a value that must be an object."""
    if not isinstance(value, Mapping):
        raise RowProblem(f"an object is needed, not {kind_of(value)}", name)
    return value


def kind_of(value: object) -> str:
    """Return what a value is, in JSON's words."""
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    if value is None:
        return "null"
    return "a text" if isinstance(value, str) else "a number"


def _listed(value: object, name: str, separator: str | None) -> Iterable[object]:
    if isinstance(value, list | tuple):
        return value
    if isinstance(value, str):
        listed = find_list(value, name)
        if listed is not None:
            return listed
        if separator is None:
            return (value,)
        return value.split(separator) if value else ()
    return (value,)
