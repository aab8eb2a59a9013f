"""Lists that were written into one cell of a table.

Three writers are known: JSON, Python's `repr` of a list (what pandas puts into a CSV), and NumPy's
of an array, which leaves out the commas. Python itself would read the last as one text, glued
together, so the elements are found by their quotes.
"""

import re
from typing import Final

from orjson import JSONDecodeError, loads

from affidavit.base.errors import AffidavitError
from affidavit.base.strict_json import decode
from affidavit.formats.importing.model import RowProblem

_QUOTED: Final = r"""'[^'\\]*+(?:\\.[^'\\]*+)*+'|"[^"\\]*+(?:\\.[^"\\]*+)*+\""""
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED: Final = {"n": "\n", "r": "\r", "t": "\t", "'": "'", '"': '"', "\\": "\\"}
_ELEMENT: Final = re.compile(rf"\s*+(?:({_QUOTED})|([\w.+-]+))\s*+,?\s*+", re.DOTALL)
_ARRAY: Final = re.compile(r"array\((\[.*\])(?:,\s*dtype=\w+)?\)", re.DOTALL)
_SURELY: Final = re.compile(r"(?:array\()?\[\s*['\"]")


def find_list(cell: str, name: str) -> list[object] | None:
    """Return the elements of a list that stands in a cell; None if the cell is a plain text.

    A text may begin with a bracket too. But what begins as a list of texts and is not one was cut.
    """
    text = cell.strip()
    if not text.startswith(("[", "array([")):
        return None
    found = None if text.startswith("['") else _json_list(text)
    if found is None:
        found = _python_list(text)
    if found is None and _SURELY.match(text):
        raise RowProblem("this is not a whole list", name)
    return found


def _json_list(text: str) -> list[object] | None:
    try:
        loads(text)  # To find out what is wrong takes long, and most lists are Python's.
        value = decode(text.encode())
    except (JSONDecodeError, AffidavitError):
        return None
    return list(value) if isinstance(value, list) else None


def _python_list(text: str) -> list[object] | None:
    array = _ARRAY.fullmatch(text)
    whole = array[1] if array else text
    if not (whole.startswith("[") and whole.endswith("]")):
        return None
    inner = whole[1:-1]
    found: list[object] = []
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


def _text_of(quoted: str) -> str:
    inner = quoted[1:-1]
    if "\\" not in inner:
        return inner
    try:
        return _ESCAPE.sub(lambda escape: _ESCAPED[escape[1]], inner)
    except KeyError:  # One of the rarer escapes: Python itself knows them all.
        import ast
    return str(ast.literal_eval(quoted.replace("\r", "\\r").replace("\n", "\\n")))
