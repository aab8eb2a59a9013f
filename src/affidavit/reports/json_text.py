"""Results as indented JSON."""

import json
from dataclasses import fields, is_dataclass
from typing import Any


def json_bytes(value: object) -> bytes:
    """Return a value as JSON, indented; a dataclass or a Struct is the object of its fields.

    A lone surrogate (a file name that is no text) has no UTF-8 and stays an escape.
    """
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False, default=_as_builtin)
    return text.encode("utf-8", "backslashreplace") + b"\n"


def _as_builtin(value: Any) -> object:
    if hasattr(value, "__struct_fields__"):
        import msgspec  # Loaded already: the value is one of its Structs.

        return msgspec.to_builtins(value, str_keys=True)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    raise TypeError(f"{type(value).__name__} has no JSON form")
