"""Typed forms: how a value that JSON cannot hold is recorded, and what stands for one that is lost.

A typed form is an object with one member whose name begins with `$`; docs/telemetry.md lists them.
What could not be kept at all is `{"$unrecorded": {"reason": ...}}`, which counts as no content.
"""

import base64
import dataclasses
import math
from collections.abc import Callable, Mapping, Set
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any, Final
from uuid import UUID

import orjson
from msgspec import Struct, structs

from affidavit.base.canonical import jcs
from affidavit.base.digest import digest_of
from affidavit.base.json_values import MAX_INTEGER, JsonValue
from affidavit.packs.pointers import UNRECORDED

MAX_DEPTH: Final = 32
MAX_REPR: Final = 2000
_FORM: Final = "$"
_EXPONENT_FROM: Final = 1e21


def unrecorded(reason: str, **details: JsonValue) -> dict[str, JsonValue]:
    """Return what stands for a value that could not be kept."""
    return {UNRECORDED: {"reason": reason, **details}}


def recordable(value: Any, depth: int = 0) -> JsonValue:
    """Return a value as strict JSON. It never raises, whatever the value does."""
    try:
        return _recordable(value, depth)
    except RecursionError:
        return unrecorded("too_deep")
    except Exception as error:
        return unrecorded("it raised", type=type(value).__name__, error=type(error).__name__)


def _recordable(value: Any, depth: int) -> JsonValue:
    kind = type(value)
    if kind is str:
        return _text(value)
    if value is None or value is True or value is False:
        return value
    if kind is int:
        return value if -MAX_INTEGER <= value <= MAX_INTEGER else {"$int": str(value)}
    if kind is float:
        # RFC 8785 writes these as integers that no reader takes.
        is_long = MAX_INTEGER < abs(value) < _EXPONENT_FROM
        return value if math.isfinite(value) and not is_long else {"$float": str(value)}
    if depth >= MAX_DEPTH:
        return unrecorded("too_deep", type=kind.__name__)
    if isinstance(value, Mapping):
        return _mapping(value, depth + 1)
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return [recordable(one, depth + 1) for one in value]
    return _other(value, depth + 1)


def _text(value: str) -> JsonValue:
    try:
        value.encode()
    except UnicodeEncodeError:
        return {"$text": value.encode("utf-8", "backslashreplace").decode()}
    return value


def _mapping(value: Mapping[Any, Any], depth: int) -> JsonValue:
    """Return an object, or a list of pairs if it would not be what it was."""
    is_plain = all(type(key) is str and key.isascii() for key in value)
    is_form = len(value) == 1 and str(next(iter(value))).startswith(_FORM)
    if is_plain and not is_form:
        return {key: recordable(held, depth) for key, held in value.items()}
    names = [_text(key) for key in value] if all(type(key) is str for key in value) else []
    if names and not is_form and all(isinstance(name, str) for name in names):
        # Two keys that look the same in another normal form are refused by readers.
        from unicodedata import normalize

        if len({normalize("NFC", str(name)) for name in names}) == len(names):
            return {key: recordable(held, depth) for key, held in value.items()}
    return {
        "$map": [[recordable(key, depth), recordable(held, depth)] for key, held in value.items()]
    }


_SCALARS: Final[tuple[tuple[type | tuple[type, ...], Callable[[Any], JsonValue]], ...]] = (
    (Enum, lambda value: recordable(value.value)),
    (str, lambda value: _text(str.__str__(value))),
    (bool, bool),
    (int, lambda value: recordable(int(value))),
    (float, lambda value: recordable(float(value))),
    ((bytes, bytearray, memoryview), lambda value: {"$bytes": _base64(bytes(value))}),
    (datetime, lambda value: {"$datetime": value.isoformat()}),
    (date, lambda value: {"$date": value.isoformat()}),
    (time, lambda value: {"$time": value.isoformat()}),
    (timedelta, lambda value: {"$timedelta": str(value / timedelta(microseconds=1)) + "us"}),
    (Decimal, lambda value: {"$decimal": str(value)}),
    (UUID, lambda value: {"$uuid": str(value)}),
    (complex, lambda value: {"$complex": str(value)}),
    (PurePath, lambda value: {"$path": str(value)}),
    (BaseException, lambda value: {"$error": f"{type(value).__name__}: {value}"[:MAX_REPR]}),
)


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _other(value: Any, depth: int) -> JsonValue:
    for kind, convert in _SCALARS:
        if isinstance(value, kind):
            return convert(value)
    if isinstance(value, Set):
        held = [recordable(one, depth) for one in value]
        return {
            "$set": sorted(held, key=lambda one: orjson.dumps(one, option=orjson.OPT_SORT_KEYS))
        }
    fields = _fields_of(value)
    if fields is not None:
        return {"$object": {"type": type(value).__name__, "fields": _mapping(fields, depth)}}
    listed = getattr(value, "tolist", None)
    if callable(listed):  # Arrays and numbers of numpy, torch and pandas.
        return recordable(listed(), depth)
    return {"$repr": str(_text(repr(value)[:MAX_REPR]))}


def _fields_of(value: Any) -> Mapping[str, Any] | None:
    """Return the fields of a record: a dataclass, a Struct, a named tuple, a pydantic model."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
    if isinstance(value, Struct):
        return structs.asdict(value)
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        named: Mapping[str, Any] = value._asdict()
        return named
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        dumped = dump()
        return dumped if isinstance(dumped, Mapping) else None
    return None


def size_of(value: JsonValue) -> int:
    """Return how many bytes a value has as JSON."""
    return len(orjson.dumps(value))


def fitted(data: dict[str, JsonValue], limit: int) -> tuple[dict[str, JsonValue], tuple[str, ...]]:
    """Return the data of an event within a size, and the fields that a mark stands for.

    The largest fields go first; a mark has the digest of what it stands for.
    """
    sizes = {name: size_of(value) for name, value in data.items()}
    left = sum(sizes.values())
    cut: list[str] = []
    kept = dict(data)
    for name in sorted(sizes, key=lambda one: (-sizes[one], one)):
        if left <= limit:
            break
        raw = orjson.dumps(data[name], option=orjson.OPT_SORT_KEYS)
        kept[name] = unrecorded("too_large", size_bytes=len(raw), digest=digest_of(raw))
        left -= sizes[name] - size_of(kept[name])
        cut.append(name)
    return kept, tuple(cut)


BLOB_BYTES: Final = 128 * 1024
"""A larger body goes to events of its own; a line of a log has about a mebibyte."""
_PART_CHARACTERS: Final = 128 * 1024
MAX_BLOB_BYTES: Final = 64 * 1024 * 1024


def split_blobs(
    data: dict[str, JsonValue],
) -> tuple[dict[str, JsonValue], dict[str, list[dict[str, JsonValue]]]]:
    """Return data with a reference for each large field, and the parts of these by their digest.

    A part is a piece of the canonical JSON of the field; the digest is that of the whole.
    """
    if size_of(data) <= BLOB_BYTES:
        return data, {}
    kept: dict[str, JsonValue] = {}
    blobs: dict[str, list[dict[str, JsonValue]]] = {}
    for name, value in data.items():
        size = size_of(value)
        if size <= BLOB_BYTES:
            kept[name] = value
            continue
        raw = jcs(value)
        digest = digest_of(raw)
        if len(raw) > MAX_BLOB_BYTES:
            kept[name] = unrecorded("too_large", size_bytes=len(raw), digest=digest)
            continue
        text = raw.decode()
        pieces = [
            text[start : start + _PART_CHARACTERS]
            for start in range(0, len(text), _PART_CHARACTERS)
        ]
        blobs[digest] = [
            {"digest": digest, "part": number, "parts": len(pieces), "text": piece}
            for number, piece in enumerate(pieces, 1)
        ]
        kept[name] = {"$blob": {"digest": digest, "size_bytes": len(raw), "parts": len(pieces)}}
    return kept, blobs
