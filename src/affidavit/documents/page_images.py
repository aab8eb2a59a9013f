"""Pages of PDFs for people: an image of a page, and where ranges of the text are on it.

A PDF is a stranger's, so it is opened in a process of its own, `python -m
affidavit.documents.page_images`, which may crash or hang without harm to a service.
"""

import struct
import subprocess
import sys
import zlib
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import evidence as faults
from affidavit.documents.model import LineBox
from affidavit.documents.reader_process import limit_memory, read_message

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage

SECONDS: Final = 20.0
MAX_MEMORY_BYTES: Final = 2 * 1024**3
MAX_PIXELS: Final = 12_000_000
"""A page may be a strip, so that its width says little about its size."""
_COMMAND: Final = (sys.executable, "-P", "-m", "affidavit.documents.page_images")
_GRID: Final = 1_000_000
"""pdfium gives places on a page as whole numbers of pixels."""
_LEVEL: Final = 4
_CHANNELS: Final = 3


class PageTask(Struct, frozen=True, kw_only=True):
    """What to find out about a PDF: the image of a page, or where boxes are on their pages."""

    path: str
    number: int = 0
    width: int = 0
    boxes: tuple[LineBox, ...] = ()


class PagePlaces(Struct, frozen=True, kw_only=True):
    """A page as it is shown, in points, and boxes on it: left, top, right and bottom in [0, 1]."""

    number: int
    width: float
    height: float
    boxes: tuple[tuple[float, float, float, float], ...]


class PageOutcome(Struct, frozen=True, kw_only=True):
    """The answer to a task. `image` is None if there is no such page."""

    image: bytes | None = None
    pages: tuple[PagePlaces, ...] = ()


def page_image(path: Path, number: int, width: int) -> bytes | None:
    """Return a page as PNG, so many pixels wide; None if the PDF has no such page."""
    return _ask(PageTask(path=str(path), number=number, width=width)).image


def page_places(path: Path, boxes: Sequence[LineBox]) -> tuple[PagePlaces, ...]:
    """Return the pages that boxes are on, in order, with the boxes as the page is shown."""
    return _ask(PageTask(path=str(path), boxes=tuple(boxes))).pages if boxes else ()


def _ask(task: PageTask) -> PageOutcome:
    message = msgspec.msgpack.encode(task)
    body = struct.pack(">Q", len(message)) + message
    try:
        done = subprocess.run(  # noqa: S603 - our own module and interpreter
            _COMMAND, input=body, capture_output=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise AffidavitError(faults.DOCUMENT_TIMEOUT, seconds=f"{SECONDS:g}") from None
    if done.returncode or not done.stdout:
        reason = f"exit {done.returncode}"
        raise AffidavitError(faults.DOCUMENT_CRASHED, reason=reason)
    return msgspec.msgpack.decode(done.stdout, type=PageOutcome)


def run_task(task: PageTask) -> PageOutcome:
    """Open the PDF and answer."""
    from pypdfium2 import PdfDocument

    with closing(PdfDocument(Path(task.path))) as document:
        if task.boxes:
            numbers = sorted({box.page for box in task.boxes if 1 <= box.page <= len(document)})
            return PageOutcome(pages=tuple(_places(document, n, task.boxes) for n in numbers))
        if not 1 <= task.number <= len(document):
            return PageOutcome()
        with closing(document[task.number - 1]) as page:
            return PageOutcome(image=_png(page, task.width))


def _places(document: "PdfDocument", number: int, boxes: Sequence[LineBox]) -> PagePlaces:
    with closing(document[number - 1]) as page:
        width, height = page.get_size()
        return PagePlaces(
            number=number,
            width=width,
            height=height,
            boxes=tuple(_as_shown(page, box) for box in boxes if box.page == number),
        )


def _as_shown(page: "PdfPage", box: LineBox) -> tuple[float, float, float, float]:
    """Return a box after the rotation and the crop of its page."""
    corners = [_shown_at(page, x, y) for x in (box.x0, box.x1) for y in (box.y0, box.y1)]
    across, down = [x for x, _ in corners], [y for _, y in corners]
    return min(across), min(down), max(across), max(down)


def _shown_at(page: "PdfPage", x: float, y: float) -> tuple[float, float]:
    from ctypes import byref, c_int

    from pypdfium2 import raw

    across, down = c_int(), c_int()
    raw.FPDF_PageToDevice(page, 0, 0, _GRID, _GRID, 0, x, y, byref(across), byref(down))
    return _share(across.value), _share(down.value)


def _share(pixels: int) -> float:
    return min(1.0, max(0.0, pixels / _GRID))


def _png(page: "PdfPage", width: int) -> bytes:
    across, down = page.get_size()
    scale = min(width / max(across, 1.0), (MAX_PIXELS / max(across * down, 1.0)) ** 0.5)
    bitmap: Any = page.render(scale=scale, rev_byteorder=True, maybe_alpha=False)
    pixels, stride = memoryview(bitmap.buffer).cast("B"), bitmap.stride
    row = bitmap.width * _CHANNELS
    lines = b"".join(
        b"\0" + pixels[at : at + row] for at in range(0, bitmap.height * stride, stride)
    )
    header = struct.pack(">IIBBBBB", bitmap.width, bitmap.height, 8, 2, 0, 0, 0)
    return b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            _part(b"IHDR", header),
            _part(b"IDAT", zlib.compress(lines, _LEVEL)),
            _part(b"IEND", b""),
        )
    )


def _part(name: bytes, content: bytes) -> bytes:
    length = struct.pack(">I", len(content))
    return length + name + content + struct.pack(">I", zlib.crc32(name + content))


def main() -> None:
    """Answer one task."""
    limit_memory(MAX_MEMORY_BYTES)
    message = read_message(sys.stdin.buffer)
    if message is not None:
        outcome = run_task(msgspec.msgpack.decode(message, type=PageTask))
        sys.stdout.buffer.write(msgspec.msgpack.encode(outcome))


if __name__ == "__main__":
    with suppress(KeyboardInterrupt, BrokenPipeError):
        main()
