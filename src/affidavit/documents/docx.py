"""DOCX through zipfile and lxml: headings by style, lists, tables, notes, title and dates."""

import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from posixpath import normpath
from typing import TYPE_CHECKING, Final, NamedTuple

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import evidence as faults
from affidavit.documents.model import DocumentLimits, ParsedDocument, TextBlockKind
from affidavit.documents.tables import TableCell, table_lines
from affidavit.documents.text_builder import TextBuilder, clean_line

if TYPE_CHECKING:
    from lxml.etree import _Element


# The zip archive of a DOCX, read as hostile input.
#
# Refused before anything is unpacked: more members or bytes than the limits, a compression ratio
# no word processor reaches, names that climb out of the archive, two members of one name. Refused
# before anything is parsed: a document type declaration, which is what entity expansion and
# external entities need, and which no DOCX has (ECMA-376 part 2, 8.1.4 forbids it).

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


# Styles and list numbering of a DOCX: heading levels, lists, and the numbers that a word processor
# prints.

# Names in the XML of a DOCX, told apart by local name: two namespaces are in use for one format.
#
# Transitional files use schemas.openxmlformats.org, strict ones purl.oclc.org (ECMA-376 parts 1,
# 4).


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


def property_value(element: "_Element | None", *path: str) -> str | None:
    """Return the `val` of the element down a path, which is how OOXML writes most properties."""
    return attribute(child(element, *path), "val")


def integer(text: str | None) -> int | None:
    """Return a small whole number, or None if the text is not one."""
    if text is None or not text.lstrip("-").isdecimal() or len(text) > 9:
        return None
    return int(text)


def is_enabled(element: "_Element | None", *path: str) -> bool:
    """Tell whether a property is on: present, and not switched off by its value."""
    found = child(element, *path)
    return found is not None and attribute(found, "val") not in {"0", "false", "off", "none"}


# Styles of paragraphs: heading level, list, title, table of contents.

_HEADING_NAME: Final = re.compile(r"heading (\d)$", re.I)
_CONTENTS_NAME: Final = re.compile(r"(toc|table of figures)\b", re.I)
_LONGEST_CHAIN: Final = 20


class ParagraphStyle(NamedTuple):
    """What a paragraph is. `level` is 0 for body text; `number` and `depth` name its list."""

    level: int = 0
    number: str | None = None
    depth: int = 0
    is_title: bool = False
    is_contents: bool = False


BODY_TEXT: Final = ParagraphStyle()


class DocxStyles:
    """The styles of a document by id, with inherited properties."""

    def __init__(self, root: "_Element | None") -> None:
        self._elements = {
            attribute(style, "styleId") or "": style
            for style in children(root, "style")
            if attribute(style, "type") in {"paragraph", None}
        }
        self._known: dict[str, ParagraphStyle] = {}

    def of_paragraph(self, properties: "_Element | None") -> ParagraphStyle:
        """Return what a paragraph is; its own properties override those of its style."""
        name = property_value(properties, "pStyle")
        style = BODY_TEXT if name is None else self._named(name)
        return _refined(style, properties)

    def _named(self, name: str) -> ParagraphStyle:
        if name not in self._known:
            self._known[name] = self._resolved(name)
        return self._known[name]

    def _resolved(self, name: str) -> ParagraphStyle:
        chain: list[_Element] = []
        at: str | None = name
        while at is not None and at in self._elements and len(chain) < _LONGEST_CHAIN:
            chain.append(self._elements[at])
            at = property_value(chain[-1], "basedOn")
        style = BODY_TEXT
        for element in reversed(chain):
            title = property_value(element, "name") or ""
            heading = _HEADING_NAME.match(title)
            style = style._replace(
                level=int(heading[1]) if heading else style.level,
                is_title=style.is_title or title.lower() == "title",
                is_contents=style.is_contents or bool(_CONTENTS_NAME.match(title)),
            )
            style = _refined(style, child(element, "pPr"))
        return style


def _refined(style: ParagraphStyle, properties: "_Element | None") -> ParagraphStyle:
    if properties is None:
        return style
    outline = integer(property_value(properties, "outlineLvl"))
    if outline is not None:
        # Level 9 is body text (17.3.1.20).
        style = style._replace(level=outline + 1 if 0 <= outline < 9 else 0)
    number = property_value(properties, "numPr", "numId")
    depth = integer(property_value(properties, "numPr", "ilvl"))
    if number is not None:
        style = style._replace(number=None if number == "0" else number)
    return style if depth is None else style._replace(depth=depth)


# The numbers that a word processor prints before headings and list items, but does not store.
#
# Origin: ECMA-376 part 1, 17.9. Covered: levels, starts and their overrides, the common formats. A
# bullet of any kind is "-".

_LEVELS: Final = 9
_ROMAN: Final = (
    *((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc")),
    *((50, "l"), (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i")),
)


class _NumberingLevel(NamedTuple):
    form: str
    text: str
    start: int


class DocxNumbering:
    """Counts paragraphs: call it once for each numbered paragraph, in document order."""

    def __init__(self, root: "_Element | None") -> None:
        abstract = {
            attribute(item, "abstractNumId"): _levels(item)
            for item in children(root, "abstractNum")
        }
        self._levels: dict[str, dict[int, _NumberingLevel]] = {}
        self._family: dict[str, str] = {}
        for item in children(root, "num"):
            number, family = attribute(item, "numId"), property_value(item, "abstractNumId")
            if number and family:
                overrides = _levels_overridden(item, abstract.get(family, {}))
                self._levels[number] = abstract.get(family, {}) | overrides
                # A restarted list has its own count; other lists of its family continue.
                self._family[number] = f"{family}/{number}" if overrides else family
        self._counts: dict[str, list[int | None]] = {}

    def label(self, number: str, level: int) -> str:
        """Return the text before the paragraph: "-" for a bullet, "" for nothing."""
        levels = self._levels.get(number)
        if levels is None or not 0 <= level < _LEVELS or level not in levels:
            return ""
        form = levels[level].form
        counts = self._counts.setdefault(self._family[number], [None] * _LEVELS)
        current = counts[level]
        counts[level] = levels[level].start if current is None else current + 1
        counts[level + 1 :] = [None] * (_LEVELS - level - 1)
        if form in {"bullet", "none"}:
            return "-" if form == "bullet" else ""
        return self._text(levels, counts, level)

    def _text(
        self, levels: dict[int, _NumberingLevel], counts: list[int | None], level: int
    ) -> str:
        text = levels[level].text
        for index in range(level, -1, -1):
            shape = levels.get(index, _NumberingLevel("decimal", "", 1))
            count = counts[index]
            number = shape.start if count is None else count
            text = text.replace(f"%{index + 1}", _formatted(number, shape.form))
        return text.strip()


def _levels(item: "_Element") -> dict[int, _NumberingLevel]:
    levels: dict[int, _NumberingLevel] = {}
    for element in children(item, "lvl"):
        index = integer(attribute(element, "ilvl"))
        if index is not None:
            start = integer(property_value(element, "start"))
            form = property_value(element, "numFmt") or "decimal"
            text = property_value(element, "lvlText") or ""
            levels[index] = _NumberingLevel(form, text[:100], 1 if start is None else start)
    return levels


def _levels_overridden(
    item: "_Element", levels: dict[int, _NumberingLevel]
) -> dict[int, _NumberingLevel]:
    overridden: dict[int, _NumberingLevel] = {}
    for override in children(item, "lvlOverride"):
        index = integer(attribute(override, "ilvl"))
        if index is None:
            continue
        written = _levels(override).get(index) or levels.get(index)
        start = integer(property_value(override, "startOverride"))
        if written is not None:
            overridden[index] = written if start is None else written._replace(start=start)
    return overridden


def _formatted(number: int, form: str) -> str:
    if form in {"lowerLetter", "upperLetter"} and 0 < number <= 26 * 30:
        letters = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
        return letters if form == "lowerLetter" else letters.upper()
    if form in {"lowerRoman", "upperRoman"} and 0 < number < 4000:
        roman = _roman(number)
        return roman if form == "lowerRoman" else roman.upper()
    return f"{number:02}" if form == "decimalZero" else str(number)


def _roman(number: int) -> str:
    letters = ""
    for value, sign in _ROMAN:
        letters += sign * (number // value)
        number %= value
    return letters


_SEPARATE_NOTES: Final = frozenset({"separator", "continuationSeparator", "continuationNotice"})
_SPACES: Final = frozenset({"tab", "br", "cr", "ptab"})
# Deleted and moved text is not in the document; a fallback repeats the content before it.
_NOT_TEXT: Final = frozenset({"del", "moveFrom", "Fallback", "pPr", "instrText", "txbxContent"})
_WRAPPERS: Final = frozenset({"sdt", "sdtContent", "ins", "moveTo", "customXml", "smartTag"})
_FIRST_ROW: Final = 0x0020  # Of the bit field w:tblLook@w:val (17.4.55).


def read_docx(data: bytes, limits: DocumentLimits) -> ParsedDocument:
    """Read a DOCX with all changes accepted. It has no pages."""
    archive = DocxArchive(data, limits)
    main = archive.main_part()
    folder = main.rpartition("/")[0]
    body = child(archive.required_xml(main), "body")
    builder = TextBuilder(limits)
    walk = _DocxWalker(
        builder,
        DocxStyles(archive.xml(f"{folder}/styles.xml")),
        DocxNumbering(archive.xml(f"{folder}/numbering.xml")),
    )
    walk.over(() if body is None else body)
    for notes in ("footnotes", "endnotes"):
        root = archive.xml(f"{folder}/{notes}.xml")
        for note in () if root is None else root:
            if attribute(note, "type") not in _SEPARATE_NOTES:
                walk.over_note(note)
    core = archive.xml("docProps/core.xml")
    return ParsedDocument(
        text=builder.text(),
        blocks=builder.blocks(),
        title=clean_line(_core_property(core, "title")) or walk.title,
        stated_dates=tuple(
            filter(None, (_core_property(core, "modified"), _core_property(core, "created")))
        ),
    )


def _core_property(core: "_Element | None", name: str) -> str:
    found = child(core, name)
    return "" if found is None else str(found.text or "")


class _DocxWalker:
    """Walks the blocks of a story (body, notes, text boxes) in order."""

    def __init__(self, builder: TextBuilder, styles: DocxStyles, numbering: DocxNumbering) -> None:
        self._builder = builder
        self._styles = styles
        self._numbering = numbering
        self.title = ""

    def over(self, elements: Iterable["_Element"]) -> None:
        for element in _unwrapped(elements):
            name = local_name(element)
            if name == "p":
                self._paragraph(element)
            elif name == "tbl":
                self._table(element)

    def over_note(self, note: Iterable["_Element"]) -> None:
        """Add a footnote or an endnote as one block, behind the text."""
        paragraphs = (element for element in _unwrapped(note) if local_name(element) == "p")
        text = " ".join("".join(_inline_text(paragraph)) for paragraph in paragraphs)
        self._builder.add(TextBlockKind.NOTE, clean_line(text))

    def _paragraph(self, paragraph: "_Element") -> None:
        style = self._styles.of_paragraph(child(paragraph, "pPr"))
        text = clean_line("".join(_inline_text(paragraph)))
        label = self._numbering.label(style.number, style.depth) if style.number else ""
        numbered = f"{label} {text}".strip() if text else ""
        if style.is_title and not self.title:
            self.title = text
        if style.is_contents:
            self._builder.add(TextBlockKind.CONTENTS, text)
        elif style.level or style.is_title:
            heading = text if label == "-" else numbered
            self._builder.add(TextBlockKind.HEADING, heading, max(style.level, 1))
        elif label:
            self._builder.add(TextBlockKind.ITEM, numbered, style.depth)
        else:
            self._builder.add(TextBlockKind.PARAGRAPH, text)
        for box in _text_boxes(paragraph):
            self.over(box)

    def _table(self, table: "_Element") -> None:
        elements = [row for row in _unwrapped(table) if local_name(row) == "tr"]
        rows: list[list[TableCell]] = []
        for element in elements:
            rows.append(list(_row_cells(element, rows[-1] if rows else ())))
        if all(len(row) <= 1 for row in rows):
            for row in rows:
                for cell in row:
                    self._builder.add(TextBlockKind.PARAGRAPH, cell.text)
            return
        header_rows = 0
        while header_rows < len(rows) and _is_header(table, elements[header_rows], header_rows):
            header_rows += 1
        self._builder.add_rows(table_lines(rows, header_rows))


def _unwrapped(elements: Iterable["_Element"]) -> Iterator["_Element"]:
    """Yield blocks, including those in content controls and accepted changes."""
    stack = [iter(elements)]
    while stack:
        element = next(stack[-1], None)
        if element is None:
            stack.pop()
        elif local_name(element) in _WRAPPERS:
            stack.append(iter(element))
        else:
            yield element


def _inline_text(element: "_Element") -> Iterator[str]:
    """Yield the text under an element that a reader of the printed page would see."""
    stack = [iter(element)]
    while stack:
        part = next(stack[-1], None)
        if part is None:
            stack.pop()
            continue
        name = local_name(part)
        if name == "t":
            yield part.text or ""
        elif name in _SPACES:
            yield " "
        elif name == "noBreakHyphen":
            yield "-"
        elif name not in _NOT_TEXT and not (name == "r" and is_enabled(part, "rPr", "vanish")):
            stack.append(iter(part))
            if name == "p":
                yield " "


def _text_boxes(paragraph: "_Element") -> Iterator["_Element"]:
    for box in paragraph.iter("{*}txbxContent"):
        if not any(local_name(above) == "Fallback" for above in box.iterancestors()):
            yield box


def _row_cells(row: "_Element", above: Sequence[TableCell]) -> Iterator[TableCell]:
    column = integer(property_value(row, "trPr", "gridBefore")) or 0
    for element in _unwrapped(row):
        if local_name(element) != "tc":
            continue
        merge = child(element, "tcPr", "vMerge")
        text = clean_line("".join(_inline_text(element)))
        if merge is not None and attribute(merge, "val") != "restart":
            text = text or next((cell.text for cell in above if cell.column == column), "")
        span = min(max(integer(property_value(element, "tcPr", "gridSpan")) or 1, 1), 64)
        yield TableCell(text, column, span)
        column += span


def _is_header(table: "_Element", row: "_Element", index: int) -> bool:
    if is_enabled(row, "trPr", "tblHeader"):
        return True
    look = child(table, "tblPr", "tblLook")
    first_row = attribute(look, "firstRow")
    if first_row is None:
        bits = attribute(look, "val") or "0"
        first_row = str(int(bits, 16) & _FIRST_ROW) if _is_hex(bits) else "0"
    return index == 0 and first_row not in {"0", "false", "off"}


def _is_hex(text: str) -> bool:
    return len(text) <= 8 and all(letter in "0123456789abcdefABCDEF" for letter in text)
