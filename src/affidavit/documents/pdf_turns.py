"""Pages whose text does not run from left to right: they are turned before they are read.

A landscape table is often drawn from the bottom to the top of a page that is shown rotated, and
pdfium tells the places of letters on the page as it is drawn. The page is turned in memory, so that
all rules about lines, columns and tables hold; the places of lines are turned back.
"""

from collections import Counter
from math import pi
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from affidavit.documents.model import LineBox

if TYPE_CHECKING:
    from pypdfium2 import PdfPage, PdfTextPage

_SAMPLE: Final = 64
"""So many letters of a page tell in which direction its text runs."""


class PageTurn(Struct, frozen=True):
    """How a page was turned: by quarters of a circle, within its box."""

    quarters: int
    left: float
    bottom: float
    right: float
    top: float

    def back(self, box: LineBox) -> LineBox:
        """Return a box of the turned page as it is on the page of the file."""
        corners = [self._back(box.x0, box.y0), self._back(box.x1, box.y1)]
        (x0, x1), (y0, y1) = (sorted(each) for each in zip(*corners, strict=True))
        return LineBox(
            page=box.page, x0=round(x0, 1), y0=round(y0, 1), x1=round(x1, 1), y1=round(y1, 1)
        )

    def _back(self, x: float, y: float) -> tuple[float, float]:
        if self.quarters == 1:
            return self.right - y, x + self.bottom
        if self.quarters == 2:
            return self.right - x, self.top - y
        return y + self.left, self.top - x


def text_direction(text_page: "PdfTextPage") -> int:
    """Return in which direction most text of a page runs: 0 to the right, 1 upwards, and so on."""
    from pypdfium2 import raw

    # pdfium tells angles clockwise.
    count = text_page.count_chars()
    step = max(1, count // _SAMPLE)
    quarters = Counter(
        round(-raw.FPDFText_GetCharAngle(text_page.raw, at) / (pi / 2)) % 4
        for at in range(0, count, step)
        if chr(raw.FPDFText_GetUnicode(text_page.raw, at)).isalnum()
    )
    found, letters = (quarters.most_common(1) or [(0, 0)])[0]
    return found if letters > quarters.total() / 2 else 0


def turn_page(page: "PdfPage", quarters: int) -> PageTurn | None:
    """Turn a page so that its text runs to the right and it is shown as it is drawn.

    The page has to be loaded again. Of a page whose text runs to the right already, only the
    rotation changes.
    """
    from pypdfium2 import PdfMatrix, raw

    page.set_rotation(0)
    if not quarters:
        return None
    turn = PageTurn(quarters, *page.get_bbox())
    width, height = turn.right - turn.left, turn.top - turn.bottom
    matrix = {
        1: (0, -1, 1, 0, -turn.bottom, turn.right),
        2: (-1, 0, 0, -1, turn.right, turn.top),
        3: (0, 1, -1, 0, turn.top, -turn.left),
    }[quarters]
    shown = (width, height) if quarters == 2 else (height, width)
    everything = raw.FS_RECTF(left=-1e6, bottom=-1e6, right=1e6, top=1e6)
    raw.FPDFPage_TransFormWithClip(page.raw, PdfMatrix(*matrix).to_raw(), everything)
    page.set_mediabox(0, 0, *shown)
    page.set_cropbox(0, 0, *shown)
    return turn
