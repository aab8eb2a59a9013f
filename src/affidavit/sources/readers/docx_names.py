"""Names in the XML of a DOCX, told apart by local name: two namespaces are in use for one format.

Transitional files use schemas.openxmlformats.org, strict ones purl.oclc.org (ECMA-376 parts 1, 4).
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.etree import _Element


def local_name(element: "_Element") -> str:
    """Return an element's name without its namespace."""
    return str(element.tag).rpartition("}")[2]


def attribute(element: "_Element | None", name: str) -> str | None:
    """Return an attribute by its local name."""
    if element is None:
        return None
    return next(
        (str(value) for key, value in element.items() if str(key).rpartition("}")[2] == name), None
    )


def children(element: "_Element | None", name: str) -> Iterator["_Element"]:
    """Yield the direct children of this local name."""
    return (child for child in (() if element is None else element) if local_name(child) == name)


def child(element: "_Element | None", *path: str) -> "_Element | None":
    """Return the first element down a path of local names."""
    for name in path:
        element = next(children(element, name), None)
    return element


def value_of(element: "_Element | None", *path: str) -> str | None:
    """Return the `val` of the element down a path, which is how OOXML writes most properties."""
    return attribute(child(element, *path), "val")


def integer(text: str | None) -> int | None:
    """Return a small whole number, or None for what is none."""
    if text is None or not text.lstrip("-").isdecimal() or len(text) > 9:
        return None
    return int(text)


def is_on(element: "_Element | None", *path: str) -> bool:
    """Tell whether a switch is set: present, and not switched off by its value."""
    found = child(element, *path)
    return found is not None and attribute(found, "val") not in {"0", "false", "off", "none"}
