"""What it costs to turn a manual into an index, beside pypdfium2's bare text extraction.

Each side runs in a process of its own and is charged for everything but the start of Python and the
imports; ours for reading, headings, passages, hashes, words and files on disk, without workers
(`jobs=0`). A worker adds what starting Python with these imports costs, once, some 0.2 s.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.figure import Figure
from benchmarks.manuals import unpack_manuals

_BARE = """
import json, sys, time
import pypdfium2
start = time.process_time()
document = pypdfium2.PdfDocument(sys.argv[1])
for page in document:
    text_page = page.get_textpage()
    text_page.get_text_range()
    text_page.close()
    page.close()
print(json.dumps({"seconds": time.process_time() - start}))
"""
_OURS = """
import json, resource, sys, time
from pathlib import Path
import lxml.etree, markdown_it, nupunkt, pypdfium2, selectolax.lexbor, tantivy
from affidavit.documents.ingest import index_sources
from affidavit.documents.model import DocumentSettings
start = time.process_time()
found = index_sources([Path(sys.argv[1])], Path(sys.argv[2]), DocumentSettings(), jobs=0)
seconds = time.process_time() - start
assert not found.findings, found.findings
# ru_maxrss would do, but a child inherits its parent's peak; the peak of the memory map is its own.
status = Path("/proc/self/status")
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
if status.exists():
    peak = int(status.read_text().partition("VmHWM:")[2].split()[0])
print(json.dumps({
    "seconds": seconds,
    "megabytes": peak / 1024,
    "documents": len(found.index.documents),
    "pages": sum(document.page_count or 0 for document in found.index.documents),
}))
"""
_COPIES = 6  # Of 193 pages: 1,158.


def measure(quick: bool = False) -> list[Figure]:
    """Return the cost of the Debian policy manual, and the memory for a thousand pages."""
    with tempfile.TemporaryDirectory() as place:
        scratch = Path(place)
        manual = unpack_manuals(scratch, "policy.pdf") / "policy.pdf"
        return [_cost(scratch, manual, rounds=3 if quick else 15), _memory(scratch, manual)]


def _cost(scratch: Path, manual: Path, rounds: int) -> Figure:
    bare, ours = float("inf"), float("inf")
    for turn in range(rounds):
        bare = min(bare, _run(_BARE, manual)["seconds"])
        found = _run(_OURS, manual, scratch / f"kept-{turn}")
        ours = min(ours, found["seconds"])
    return Figure(
        name="ingest: the Debian policy manual to indexed chunks, over bare text extraction",
        target="at most 2x",
        ratio=ours / bare,
        better="lower",
        limit=2.0,
        detail=f"{ours:.3f} s over {bare:.3f} s CPU; {found['pages']:g} pages,"
        f" {found['documents']:g} documents",
    )


def _memory(scratch: Path, manual: Path) -> Figure:
    folder = scratch / "thousand"
    folder.mkdir()
    data = manual.read_bytes()
    for number in range(_COPIES):
        # Bytes behind the end of a PDF are not read; they make each copy a document of its own.
        (folder / f"{number}.pdf").write_bytes(data + b"\n%% copy %d\n" % number)
    found = _run(_OURS, folder, scratch / "kept-thousand")
    return Figure(
        name="ingest: memory for 1,000 PDF pages",
        target="under 400 MB",
        ratio=found["megabytes"],
        better="lower",
        limit=400.0,
        detail=f"{found['pages']:g} pages in {_COPIES} documents, {found['seconds']:.2f} s CPU",
    )


def _run(program: str, *paths: Path) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, paths)],
        check=True,
        capture_output=True,
        text=True,
    )
    result: dict[str, float] = json.loads(done.stdout)
    return result
