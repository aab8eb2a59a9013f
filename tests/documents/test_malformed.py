"""200 documents that are broken in every way: each ends as a document or as one coded finding."""

import random
from pathlib import Path

from tests.documents.making import pdf_of, picture_pdf, write_all
from tests.repository import ROOT

from affidavit.base.faults import CATALOG
from affidavit.base.files import digest_file
from affidavit.documents.model import DocumentLimits, DocumentSettings, RefusedDocument
from affidavit.documents.reader_pool import read_in_processes
from affidavit.documents.reader_process import ReadingTask

SOURCES = ROOT / "samples" / "leave" / "sources"
GOOD = {
    "pdf": (SOURCES / "HR_Policy.pdf").read_bytes(),
    "docx": (SOURCES / "Leave_Guidelines.docx").read_bytes(),
    "html": b"<html><head><title>x</title></head><body><h1>A</h1><table><tr><td>1<td>2</table>"
    b"<ul><li>a<li>b</ul><pre>code</pre></body></html>" * 5,
    "md": b"# A\n\n- a\n- b\n\n| x | y |\n|---|---|\n| 1 | 2 |\n\n```\ncode\n```\n\n> q [l](u)\n"
    * 9,
    "txt": "A heading\n=========\n\nSome text. \u00e9\u00e8 More of it.\n\n* a\n* b\n".encode() * 9,
    "scan.pdf": picture_pdf(),
    "small.pdf": pdf_of("= Leave\nFifteen days of *leave*."),
}
COUNT = 200


def broken(data: bytes, chance: random.Random) -> bytes:
    """Flip, cut out, repeat or insert bytes, one to eight times."""
    bad = bytearray(data)
    for _ in range(chance.randint(1, 8)):
        at, length = chance.randrange(len(bad) + 1), chance.randint(1, 400)
        match chance.randrange(6):
            case 0:
                bad[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                del bad[at : at + length]
            case 2:
                bad[at:at] = bad[at : at + length] * 3
            case 3:
                bad[at:at] = chance.randbytes(length)
            case 4:
                bad[at:at] = b"0123456789" * 3
            case _:
                del bad[max(at, 1) :]
    return bytes(bad)


def test_none_of_them_crashes_or_hangs(tmp_path: Path) -> None:
    chance = random.Random(20260103)
    kinds = sorted(GOOD)
    files = {
        f"{number:03}.{kinds[number % len(kinds)]}": broken(
            GOOD[kinds[number % len(kinds)]], chance
        )
        for number in range(COUNT)
    }
    write_all(tmp_path, files)
    tasks = [
        ReadingTask(bytes(tmp_path / name), name, False, digest_file(tmp_path / name))
        for name in files
    ]
    settings = DocumentSettings(limits=DocumentLimits(seconds_per_document=600))
    outcomes = list(read_in_processes(tasks, settings, 2))
    assert len(outcomes) == COUNT
    refused = [item.finding for item in outcomes if isinstance(item, RefusedDocument)]
    assert len(refused) > 20
    codes = {finding.code for finding in refused}
    assert codes <= CATALOG.keys()
    assert not codes & {"AF208", "AF209"}
