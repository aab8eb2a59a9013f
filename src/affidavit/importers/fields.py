"""Reads values from a tool's row: fields under any name, lists in one cell, conversations."""

import re
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Final, TypeGuard

from affidavit.base.errors import AffidavitError
from affidavit.base.json_values import JsonLimits
from affidavit.base.strict_json import decode
from affidavit.importers.tool_format import ImportedChunk, Row, RowProblem, ToolScore

# A list in one cell of a table is JSON, the `repr` of a Python list (written by pandas), or the
# `repr` of a NumPy array, which has no commas. Python would join the texts of the last one, so the
# elements are found by their quotes.

_QUOTED: Final = r"""'[^'\\]*+(?:\\.[^'\\]*+)*+'|"[^"\\]*+(?:\\.[^"\\]*+)*+\""""
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED: Final = {"n": "\n", "r": "\r", "t": "\t", "'": "'", '"': '"', "\\": "\\"}
_ELEMENT: Final = re.compile(rf"\s*+(?:({_QUOTED})|([\w.+-]+))\s*+,?\s*+", re.DOTALL)
_ARRAY: Final = re.compile(r"array\((\[.*\])(?:,\s*dtype=\w+)?\)", re.DOTALL)
# Most lists are Python's; where it is wrong as JSON, is of no interest.
_UNDIAGNOSED: Final = JsonLimits(
    max_bytes=64 * 1024 * 1024, max_string=64 * 1024 * 1024, max_scan_bytes=0
)
_LIST_MARKS: Final = ("[", "array([")
_LIST_START: Final = re.compile(r"(?:array\()?\[\s*['\"]")


def find_list(cell: str, name: str) -> list[object] | None:
    """Return the elements of a list in a cell; None if the cell is a plain text.

    A plain text may begin with a bracket, but an incomplete list of texts was truncated.
    """
    text = cell.strip()
    if not text.startswith(_LIST_MARKS):
        return None
    found = None if text.startswith("['") else _json_list(text)
    if found is None:
        found = _python_list(text)
    if found is None and _LIST_START.match(text):
        raise RowProblem("the list is incomplete", name)
    return found


def _json_list(text: str) -> list[object] | None:
    try:
        value = decode(text.encode(), _UNDIAGNOSED)
    except (UnicodeEncodeError, AffidavitError):
        return None
    return list(value) if isinstance(value, list) else None


def _python_list(text: str) -> list[object] | None:
    # Python quotes a text that has quotes with others, or escapes them. So in a list with only
    # single quotes and no escapes, no text has a quote.
    if '"' not in text and "\\" not in text and text.startswith("['") and text.endswith("']"):
        found: list[object] = [*text[2:-2].split("', '")]
        if text.count("'") == 2 * len(found):
            return found
    if text.startswith("[{"):
        return _python_objects(text)
    array = _ARRAY.fullmatch(text)
    whole = array[1] if array else text
    if not (whole.startswith("[") and whole.endswith("]")):
        return None
    inner = whole[1:-1]
    found = []
    at = 0
    while at < len(inner):
        element = _ELEMENT.match(inner, at)
        if element is None:
            return None
        try:
            found.append(_text_of(element[1]) if element[1] else element[2])
        except (ValueError, SyntaxError):
            return None
        at = element.end()
    return found


def _python_objects(text: str) -> list[object] | None:
    """Return a list of objects that pandas wrote as Python."""
    import ast

    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return found if isinstance(found, list) else None


def _text_of(quoted: str) -> str:
    inner = quoted[1:-1]
    if "\\" not in inner:
        return inner
    try:
        return _ESCAPE.sub(lambda escape: _ESCAPED[escape[1]], inner)
    except KeyError:  # A rarer escape.
        import ast
    return str(ast.literal_eval(quoted.replace("\r", "\\r").replace("\n", "\\n")))


# A value of the wrong type is a problem of the row, never skipped. An empty cell of a table is the
# same as null.

MAX_LABEL_LENGTH: Final = 64
_LISTS: Final = (list, tuple)
_SCORES: Final = (bool, int, float, str)
_CHUNK_IDS: Final = ("id", "doc_id", "document_id", "chunk_id", "source")
CHUNK_TEXTS: Final = ("text", "content", "page_content", "context", "document")
_HELD_TEXTS: Final = (
    *("documents", "texts", "contexts", "passages", "sentences", "chunks", "results"),
    *CHUNK_TEXTS,
)
_BESIDE_TEXT: Final = ("metadata", "score", "title", "url", "page", "type", "name")
"""What an object has beside the text of a passage; without a text it is not several passages."""


def has(row: Row, *names: str) -> bool:
    """Say whether a row has a field with any of these names, even an empty one."""
    return any(name in row for name in names)


def find(row: Row, *names: str) -> tuple[str, object] | None:
    """Return the name and value of the first field that is not null."""
    for name in names:
        value = row.get(name)
        if value is not None:
            return name, value
    return None


def text(row: Row, *names: str) -> str | None:
    """Return a text; a number is converted."""
    found = find(row, *names)
    return None if found is None else as_text(found[1], found[0])


def as_text(value: object, name: str) -> str:
    """Return a text or number as text; refuse anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise RowProblem(f"a text is needed, not {kind_of(value)}", name)


def texts(row: Row, *names: str) -> tuple[str, ...] | None:
    """Return a list of texts."""
    found = find(row, *names)
    return None if found is None else as_texts(found[1], found[0])


def as_texts(value: object, name: str, separator: str | None = None) -> tuple[str, ...]:
    """Return a list of texts; a single text is split at the separator."""
    if type(value) is str and separator is None and not value.lstrip().startswith(_LIST_MARKS):
        return (value,)
    return tuple(
        [one if type(one) is str else as_text(one, name) for one in _listed(value, name, separator)]
    )


def chunks(row: Row, *names: str) -> tuple[ImportedChunk, ...] | None:
    """Return passages: texts, or objects with an id and a text under the usual names."""
    found = find(row, *names)
    return None if found is None else as_chunks(found[1], found[0])


def as_chunks(value: object, name: str, separator: str | None = None) -> tuple[ImportedChunk, ...]:
    """Return the passages in a list; a single text is split at the separator.

    An object may be a passage, or hold the passages: by their ids, or in lists, as what a vector
    store returns. A store that was asked one thing in a batch returns a list in a list.
    """
    if isinstance(value, Mapping):
        return _held_chunks(value, name)
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        value = value[0]
    listed = value if isinstance(value, list) else _listed(value, name, separator)
    return tuple(
        [ImportedChunk(None, one) if type(one) is str else chunk_from(one, name) for one in listed]
    )


def _held_chunks(value: Row, name: str) -> tuple[ImportedChunk, ...]:
    texts = next((each for each in _HELD_TEXTS if isinstance(value.get(each), list)), None)
    if texts is not None:
        ids = value.get("ids")
        named = None if ids is None else tuple(one.text or "" for one in as_chunks(ids, "ids"))
        return named_chunks(as_chunks(value[texts], name), named, name) or ()
    is_one = any(each in value for each in (*_CHUNK_IDS, *CHUNK_TEXTS, *_BESIDE_TEXT))
    if value and not is_one and all(isinstance(each, str) for each in value.values()):
        return tuple(ImportedChunk(key, str(each)) for key, each in value.items())
    return (chunk_from(value, name),)


def chunk_from(value: object, name: str) -> ImportedChunk:
    """Return a passage from a text or from an object."""
    if isinstance(value, Mapping):
        chunk = ImportedChunk(text(value, *_CHUNK_IDS), text(value, *CHUNK_TEXTS))
        if chunk == ImportedChunk():
            raise RowProblem("a passage has neither an id nor a text", name)
        return chunk
    if isinstance(value, list):  # The sentences of one passage.
        return ImportedChunk(text="\n".join(chunk_from(one, name).text or "" for one in value))
    return ImportedChunk(text=as_text(value, name))


def named_chunks(
    passages: tuple[ImportedChunk, ...] | None, ids: tuple[str, ...] | None, name: str
) -> tuple[ImportedChunk, ...] | None:
    """Return passages with ids from a separate list."""
    if ids is None:
        return passages
    if passages is None:
        return tuple(ImportedChunk(one) for one in ids)
    if len(ids) != len(passages):
        raise RowProblem(f"there are {len(ids)} ids for {len(passages)} passages", name)
    return tuple(ImportedChunk(one, chunk.text) for one, chunk in zip(ids, passages, strict=True))


def flag(row: Row, *names: str) -> bool | None:
    """Return a boolean."""
    found = find(row, *names)
    return None if found is None else as_flag(found[1], found[0])


def as_flag(value: object, name: str) -> bool:
    """Return a boolean; tables write it as a text or as 0 and 1."""
    word = str(value).strip().lower()
    if word in ("true", "1", "yes", "false", "0", "no"):
        return word in ("true", "1", "yes")
    raise RowProblem("true or false is needed", name)


def scores(row: Row) -> dict[str, ToolScore]:
    """Return the fields of an object that are scores."""
    return {name: score_from(value) for name, value in row.items() if is_score(value)}


def is_score(value: object) -> TypeGuard[ToolScore]:
    """Say whether a field contains a number, a boolean, a short label, or null (not measured).

    Tools add a column for each metric beside their own fields. A longer text is not a score.
    """
    return (
        type(value) is float
        or value is None
        or (isinstance(value, _SCORES) and len(str(value)) <= MAX_LABEL_LENGTH)
    )


def score_from(value: ToolScore) -> ToolScore:
    """Return the score of a metric; in a table it is a text, and nan if the metric failed."""
    if isinstance(value, str):
        word = value.strip().lower()
        if word in ("true", "false"):
            return word == "true"
        try:
            number = float(word)
        except ValueError:
            return value
        return number if isfinite(number) else None
    return value if value is None or isfinite(value) else None


def milliseconds(value: object, per_unit: float = 1.0) -> float | None:
    """Return a time in milliseconds; None if it is not a number from 0 on."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        return None
    return round(value * per_unit, 6)


def rows_in(value: object, name: str) -> list[Row]:
    """Return the objects of a list."""
    if not isinstance(value, list):
        raise RowProblem(f"a list is needed, not {kind_of(value)}", name)
    return [row_in(one, name) for one in value]


def row_in(value: object, name: str) -> Row:
    """Return an object; refuse anything else."""
    if not isinstance(value, Mapping):
        raise RowProblem(f"an object is needed, not {kind_of(value)}", name)
    return value


def kind_of(value: object) -> str:
    """Return the JSON type of a value, for a message."""
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
    if isinstance(value, _LISTS):
        return value
    if isinstance(value, str):
        listed = find_list(value, name)
        if listed is not None:
            return listed
        if separator is None:
            return (value,)
        return value.split(separator) if value else ()
    return (value,)


# A message is an object with a role (or type) and a content, which is a text or a list of parts.
# Parts that are not text (images, tool calls) are ignored.

USER_ROLES: Final = ("user", "human", "HUMAN", "USER")
ASSISTANT_ROLES: Final = ("assistant", "ai", "model", "AI", "ASSISTANT")


def last_text(messages: object, roles: tuple[str, ...]) -> str | None:
    """Return the text of the last message by one of the roles; None if there is none."""
    if not isinstance(messages, list | tuple):
        return None
    for message in reversed(messages):
        if isinstance(message, Mapping) and message.get("role", message.get("type")) in roles:
            text = text_of(message.get("content", message.get("parts")))
            if text:
                return text
    return None


def text_of(content: object) -> str | None:
    """Return the text of a message's content."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        return text_of(content.get("text", content.get("content")))
    if isinstance(content, list | tuple):
        parts = [text for one in content if (text := text_of(one))]
        return "\n".join(parts) if parts else None
    return None


# A recorded input or output is a text, JSON in a text, an object with a usual key, or a
# conversation. Anything else contains no question or answer.

_QUESTION_KEYS: Final = (
    "question",
    "query",
    "user_input",
    "input",
    "prompt",
    "q",
    "text",
    "content",
)
_ANSWER_KEYS: Final = (
    *("answer", "response", "output", "result", "completion", "generated_text", "message"),
    *("choices", "text", "content"),
)


_PASSAGE_KEYS: Final = (
    *("retrieved_contexts", "contexts", "context", "documents", "retrieved_documents"),
    *("source_documents", "sources", "passages", "chunks"),
)


def find_passages(value: object) -> tuple[ImportedChunk, ...] | None:
    """Return the passages in a recorded list, or in an object under a usual name."""
    found = decode_if_json(value)
    if isinstance(found, Mapping):
        name = next((one for one in _PASSAGE_KEYS if found.get(one) is not None), None)
        return None if name is None else as_chunks(found[name], name)
    if not isinstance(found, list | tuple) or _is_conversation(found):
        return None
    return as_chunks(found, "passages")


def _is_conversation(value: Sequence[object]) -> bool:
    return any(isinstance(one, Mapping) and "role" in one for one in value)


def decode_if_json(value: object) -> object:
    """Return the value of a text that is JSON; return anything else unchanged."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "[", '"'):
        try:
            return decode(value.encode())
        except (AffidavitError, UnicodeEncodeError):
            return value
    return value


def find_question(value: object) -> str | None:
    """Return the question in a recorded input."""
    return _find_text(decode_if_json(value), _QUESTION_KEYS, USER_ROLES)


def find_answer(value: object) -> str | None:
    """Return the answer in a recorded output."""
    return _find_text(decode_if_json(value), _ANSWER_KEYS, ASSISTANT_ROLES)


def as_answer(value: object, name: str) -> str:
    """Return an answer: a text, or an object or list that has one; refuse anything else.

    A text that is JSON without an answer in it is the answer itself.
    """
    if isinstance(value, str):
        found = find_answer(value) if value.lstrip().startswith("{") else None
        return found or value
    if not isinstance(value, Mapping | list):
        return as_text(value, name)
    found = find_answer(value)
    if found is None:
        names = ", ".join(_ANSWER_KEYS)
        raise RowProblem(f"no answer is in {kind_of(value)} (looked for {names})", name)
    return found


def _find_text(value: object, keys: tuple[str, ...], roles: tuple[str, ...]) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        said = last_text(value, roles)
        is_alone = said is None and len(value) == 1 and not _is_conversation(value)
        return _find_text(value[0], keys, roles) if is_alone else said
    if not isinstance(value, Mapping):
        return None
    if "messages" in value:
        return last_text(value["messages"], roles)
    if value.get("role") in roles:
        return text_of(value.get("content", value.get("parts")))
    for key in keys:
        if key in value:
            return _find_text(value[key], keys, roles)
    return None
