"""The zip archive of a DOCX, read as hostile input.

Refused before anything is unpacked: more members or bytes than the limits, a compression ratio no
word processor reaches, names that climb out of the archive, two members of one name. Refused before
anything is parsed: a document type declaration, which is what entity expansion and external
entities need, and which no DOCX has (ECMA-376 part 2, 8.1.4 forbids it).
"""

import zipfile
import zlib
from io import BytesIO
from posixpath import normpath
from typing import TYPE_CHECKING, Final

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import evidence as faults
from affidavit.documents.model import DocumentLimits

if TYPE_CHECKING:
    from lxml.etree import _Element

_DECLARATIONS: Final = tuple(
    word.encode(encoding)
    for word in ("<!DOCTYPE", "<!ENTITY")
    for encoding in ("utf-8", "utf-16-le", "utf-16-be")
)
_MAIN_PART: Final = "word/document.xml"
_SMALL: Final = 1024 * 1024
"""A run of spaces compresses 1,000 to 1; below this size that is harmless."""
_ENCRYPTED: Final = 0x1


class DocxArchive:
    """The parts of a DOCX by name, each read at most once and within the limits."""

    def __init__(self, data: bytes, limits: DocumentLimits) -> None:
        try:
            self._zip = zipfile.ZipFile(BytesIO(data))
        except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError):
            raise _corrupt("its zip archive is broken") from None
        _refuse_unsafe_archive(self._zip.infolist(), len(data), limits)
        self._names = frozenset(self._zip.namelist())

    def main_part(self) -> str:
        """Return the name of the part with the text."""
        relations = self.xml("_rels/.rels")
        for relation in () if relations is None else relations:
            if str(relation.get("Type", "")).endswith("/officeDocument"):
                return str(relation.get("Target", "")).lstrip("/")
        return _MAIN_PART

    def required_xml(self, name: str) -> "_Element":
        """Return the root of a required part."""
        root = self.xml(name)
        if root is None:
            raise _corrupt(f"its part {name} is missing")
        return root

    def xml(self, name: str) -> "_Element | None":
        """Return the root element of a part, or None if the archive has no such part."""
        from lxml import etree

        if name not in self._names:
            return None
        data = self._bytes(name)
        if any(word in data for word in _DECLARATIONS):
            raise _unsafe("a document type declaration in its XML")
        parser = etree.XMLParser(
            resolve_entities=False,
            no_network=True,
            load_dtd=False,
            remove_comments=True,
            remove_pis=True,
        )
        try:
            root = etree.fromstring(data, parser)
        except etree.XMLSyntaxError:
            raise _corrupt(f"its part {name} is not well-formed") from None
        if root.getroottree().docinfo.internalDTD is not None:
            raise _unsafe("a document type declaration in its XML")
        return root

    def _bytes(self, name: str) -> bytes:
        try:
            return self._zip.read(name)
        except (
            zipfile.BadZipFile,
            zlib.error,
            EOFError,
            NotImplementedError,
            RuntimeError,
            OSError,
        ):
            raise _corrupt(f"its part {name} cannot be unpacked") from None


def _refuse_unsafe_archive(
    members: list[zipfile.ZipInfo], archive_bytes: int, limits: DocumentLimits
) -> None:
    if len(members) > limits.max_members:
        raise _unsafe(f"more than {limits.max_members} parts")
    if len({member.filename for member in members}) != len(members):
        raise _unsafe("two parts of one name")
    for member in members:
        _refuse_unsafe_member(member, limits.max_compression_ratio)
    total = sum(member.file_size for member in members)
    if total > limits.max_unpacked_bytes:
        raise _unsafe(f"unpacks to more than {limits.max_unpacked_bytes} bytes")
    if total > max(64 * _SMALL, limits.max_compression_ratio * archive_bytes):
        raise _unsafe(f"unpacks to more than {limits.max_compression_ratio} times its size")


def _refuse_unsafe_member(member: zipfile.ZipInfo, max_ratio: int) -> None:
    if member.flag_bits & _ENCRYPTED:
        raise AffidavitError(faults.DOCUMENT_ENCRYPTED)
    if _escapes_archive(member.filename):
        raise _unsafe("a part whose name leads out of the archive")
    if member.file_size > max(_SMALL, max_ratio * member.compress_size):
        raise _unsafe(f"a part that unpacks to more than {max_ratio} times its size")


def _escapes_archive(name: str) -> bool:
    plain = normpath(name.replace("\\", "/"))
    return plain.startswith(("/", "../")) or plain == ".." or "\0" in name or name[1:2] == ":"


def _corrupt(reason: str) -> AffidavitError:
    return AffidavitError(faults.DOCUMENT_CORRUPT, reason=reason)


def _unsafe(reason: str) -> AffidavitError:
    return AffidavitError(faults.DOCUMENT_UNSAFE, reason=reason)
