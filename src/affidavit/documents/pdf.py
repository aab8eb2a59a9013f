"""PDF through pypdfium2: the text in reading order, with pages, headings, title and dates."""

from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Final

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import evidence as faults
from affidavit.documents.model import DocumentLimits, ParsedDocument, ReaderWarning
from affidavit.documents.pdf_layout import Bookmark, PageLines, analyse_layout, build_blocks
from affidavit.documents.pdf_lines import lines_of, rules_of
from affidavit.documents.pdf_turns import PageTurn, text_direction, turn_page
from affidavit.documents.text_builder import TextBuilder, clean_line

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage

_PASSWORD_NEEDED: Final = 4  # FPDF_ERR_PASSWORD of fpdfview.h
_SECURITY_UNKNOWN: Final = 5  # FPDF_ERR_SECURITY
_IMAGE_OBJECT: Final = 3  # FPDF_PAGEOBJ_IMAGE of fpdf_edit.h
_MAX_BOOKMARKS: Final = 20_000
_MAX_PAGES_NAMED: Final = 12


def read_pdf(data: bytes, limits: DocumentLimits) -> ParsedDocument:
    """Read a PDF. A page that cannot be loaded damages the document; a page without text does not.

    Pages are counted from 1 in file order, whatever number is printed on them.
    """
    with closing(open_pdf(data)) as document:
        page_count = len(document)
        if page_count > limits.max_pages:
            raise AffidavitError(faults.DOCUMENT_TOO_LARGE, what="pages", limit=limits.max_pages)
        turns: dict[int, PageTurn] = {}
        pages = tuple(_pages(document, turns))
        pictures = tuple(page.number for page in pages if page.is_picture)
        if not any(page.lines for page in pages):
            fault = faults.DOCUMENT_SCANNED if pictures else faults.DOCUMENT_EMPTY
            raise AffidavitError(fault, pages=page_count)
        builder = TextBuilder(limits)
        layout = analyse_layout(pages, tuple(_bookmarks(document, turns)))
        build_blocks(layout, builder)
        metadata = document.get_metadata_dict()
    return ParsedDocument(
        text=builder.text(),
        blocks=builder.blocks(),
        title=_plausible_title(clean_line(metadata.get("Title", ""))) or layout.title,
        page_count=page_count,
        page_marks=builder.page_marks(),
        line_boxes=tuple(
            (at, turns[box.page].back(box) if box.page in turns else box)
            for at, box in builder.line_boxes()
        ),
        stated_dates=tuple(
            filter(None, (metadata.get(key) for key in ("ModDate", "CreationDate")))
        ),
        warnings=_scanned_pages_warning(pictures, page_count),
    )


def open_pdf(data: bytes) -> "PdfDocument":
    """Return the PDF of some bytes, or raise why it cannot be opened."""
    from pypdfium2 import PdfDocument, PdfiumError

    try:
        return PdfDocument(data)
    except PdfiumError as error:
        if error.err_code in {_PASSWORD_NEEDED, _SECURITY_UNKNOWN}:
            raise AffidavitError(faults.DOCUMENT_ENCRYPTED) from None
        raise AffidavitError(faults.DOCUMENT_CORRUPT, reason="it is not a whole PDF") from None


def _pages(document: "PdfDocument", turns: dict[int, PageTurn]) -> Iterator[PageLines]:
    from pypdfium2 import PdfiumError

    for index in range(len(document)):
        try:
            if turn := _turned(document, index):
                turns[index + 1] = turn
            with closing(document[index]) as page, closing(page.get_textpage()) as text_page:
                lines = lines_of(text_page)
                is_picture = not lines and _has_image(page)
                # A running head alone has two parts.
                has_gaps = sum(bool(line.words) for line in lines) > 2
                rules = rules_of(page) if has_gaps else ()
        except PdfiumError:
            reason = f"page {index + 1} cannot be loaded"
            raise AffidavitError(faults.DOCUMENT_CORRUPT, reason=reason) from None
        yield PageLines(index + 1, lines, is_picture, rules)


def _turned(document: "PdfDocument", index: int) -> PageTurn | None:
    """Turn a page whose text does not run to the right, or that is not shown as it is drawn."""
    with closing(document[index]) as page, closing(page.get_textpage()) as text_page:
        quarters = text_direction(text_page)
        if quarters or page.get_rotation():
            return turn_page(page, quarters)
        return None


def _has_image(page: "PdfPage") -> bool:
    return any(item.type == _IMAGE_OBJECT for item in page.get_objects(max_depth=3))


def _bookmarks(document: "PdfDocument", turns: dict[int, PageTurn]) -> Iterator[Bookmark]:
    for count, mark in enumerate(document.get_toc()):
        destination = mark.get_dest()
        index = destination.get_index() if destination else None
        if count >= _MAX_BOOKMARKS:
            return
        if destination is None or index is None:
            continue
        view = destination.get_view()[1]
        # Only the views XYZ (left, top, zoom) and FitH (top) have a height on the page.
        top = view[1] if len(view) == 3 else view[0] if len(view) == 1 else None
        top = None if index + 1 in turns else top
        yield Bookmark(index + 1, top, clean_line(mark.get_title()), mark.level + 1)


def _plausible_title(title: str) -> str:
    """Return the metadata's title unless a program put its own words there."""
    machine_made = title.lower().startswith(("microsoft word", "untitled", "powerpoint"))
    is_filename = title.lower().endswith((".doc", ".docx", ".pdf", ".tex", ".dvi", ".indd"))
    return "" if machine_made or is_filename else title


def _scanned_pages_warning(pictures: tuple[int, ...], page_count: int) -> tuple[ReaderWarning, ...]:
    if not pictures:
        return ()
    more = ", ..." if len(pictures) > _MAX_PAGES_NAMED else ""
    which = ", ".join(map(str, pictures[:_MAX_PAGES_NAMED])) + more
    values = {"count": len(pictures), "pages": page_count, "which": which}
    return (ReaderWarning(faults.DOCUMENT_PARTLY_SCANNED, values),)
