"""Makes the screenshots of README and docs from the sample documents: docs/images/*.png.

Run it by hand when the pages have changed: `python -m tools.screenshots`. It starts `affidavit ui`
in an empty folder and needs Chromium.
"""

import struct
import sys
import time
import zlib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
IMAGES: Final = ROOT / "docs" / "images"
MAX_BYTES: Final = 150_000
SIZE: Final = (1240, 720)
ZOOM: Final = 0.8
SCROLL_SECONDS: Final = 1.0
_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_FRAME: Final = 12
"""Bytes of a chunk beside its content: length, kind and checksum."""


def main() -> None:
    """Make every image; end with 1 if one is too large."""
    sys.path.insert(0, str(ROOT))
    from tests.chromium import open_browser
    from tests.web.pages_client import check_an_answer, open_claim, served

    IMAGES.mkdir(parents=True, exist_ok=True)
    with (
        TemporaryDirectory() as project,
        TemporaryDirectory() as profile,
        served(Path(project)) as address,
        open_browser(Path(profile)) as page,
    ):
        page.call("Page.enable")
        page.show_as(*SIZE, zoom=ZOOM)
        page.visit(check_an_answer(page, address))
        page.screenshot(IMAGES / "answer.png")
        open_claim(page, "clm_003")
        time.sleep(SCROLL_SECONDS)
        page.screenshot(IMAGES / "claim.png")
        page.evaluate("document.querySelector('#detail-clm_003 button.view').click()")
        page.wait("document.querySelector('#viewer-body img')?.naturalWidth > 0")
        time.sleep(SCROLL_SECONDS)
        page.screenshot(IMAGES / "document.png")
    too_large = False
    for path in sorted(IMAGES.glob("*.png")):
        path.write_bytes(packed(path.read_bytes()))
        size = path.stat().st_size
        too_large = too_large or size > MAX_BYTES
        sys.stdout.write(f"{path.relative_to(ROOT)}: {size} bytes\n")
    sys.exit(too_large)


def packed(png: bytes) -> bytes:
    """Return the same image, compressed more: Chromium prefers to be quick."""
    parts, body, at = [], b"", len(_SIGNATURE)
    while at < len(png):
        (size,) = struct.unpack(">I", png[at : at + 4])
        kind, content = png[at + 4 : at + 8], png[at + 8 : at + 8 + size]
        if kind == b"IDAT":
            body += content
        else:
            parts.append((kind, content))
        at += size + _FRAME
    parts.insert(-1, (b"IDAT", zlib.compress(zlib.decompress(body), 9)))
    return _SIGNATURE + b"".join(
        struct.pack(">I", len(content))
        + kind
        + content
        + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in parts
    )


if __name__ == "__main__":
    main()
