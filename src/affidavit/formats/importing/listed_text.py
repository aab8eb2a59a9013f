"""Lists that were written into one cell of a table.

Three writers are known: JSON, Python's `repr` of a list (what pandas puts into a CSV), and NumPy's
of an array, which leaves out the commas. Python itself would read the last as one text, glued
together, so the elements are found by their quotes.
"""

import ast
import re
from typing import Final

from affidavit.base.errors import AffidavitError
from affidavit.base.strict_json import decode
from affidavit.formats.importing.model import RowProblem

_QUOTED: Final = r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+\""""
_ELEMENT: Final = re.compile(rf"\s*+(?:({_QUOTED})|(-?[\w.+-]+))\s*+(,?)", re.DOTALL)
_ARRAY: Final = re.compile(r"array\((\[.*\])(?:,\s*dtype=\w+)?\)", re.DOTALL)


def is_list(cell: str) -> bool:
    """Tell whether a cell looks like a list."""
    text = cell.strip()
    return (text.startswith("[") and text.endswith("]")) or text.startswith("array([")


def list_from_text(cell: str, name: str) -> list[object]:
    """Return the elements of a list that stands in a cell, or say that it is cut or broken."""
    text = cell.strip()
    try:
        value = decode(text.encode())
    except (AffidavitError, UnicodeEncodeError):
        return _python_list(text, name)
    if not isinstance(value, list):
        raise _broken(name)
    return list(value)


def _python_list(text: str, name: str) -> list[object]:
    array = _ARRAY.fullmatch(text)
    inner = (array[1] if array else text).removeprefix("[").removesuffix("]").strip()
    found: list[object] = []
    at = 0
    while at < len(inner):
        element = _ELEMENT.match(inner, at)
        if element is None:
            raise _broken(name)
        found.append(_text_of(element[1], name) if element[1] else element[2])
        at = element.end()
    return found


def _text_of(quoted: str, name: str) -> str:
    try:
        return str(ast.literal_eval(quoted.replace("\r", "\\r").replace("\n", "\\n")))
    except (ValueError, SyntaxError):
        raise _broken(name) from None


def _broken(name: str) -> RowProblem:
    return RowProblem("this is not a whole list", name)
