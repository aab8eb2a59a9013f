"""The routes that show evidence: claims with their readings, passages and pages of documents."""

import struct
import zlib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.web.ledger_client import SOURCES, LedgerClient, ledger_client

from affidavit.documents.model import LineBox
from affidavit.documents.page_images import page_image, page_places

WIDTH = 600


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LedgerClient, str]]:
    folder = tmp_path_factory.mktemp("evidence")
    made = ledger_client(folder, f"sqlite:///{folder}/data/store.db")
    yield made, made.checked()
    made.close()


def pixels_of(png: bytes) -> list[bytes]:
    """Return the rows of an image as RGB."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", png[16:24])
    length = struct.unpack(">I", png[33:37])[0]
    assert png[37:41] == b"IDAT"
    raw = zlib.decompress(png[41 : 41 + length])
    size = 1 + width * 3
    assert len(raw) == size * height
    return [raw[at + 1 : at + size] for at in range(0, len(raw), size)]


def has_ink(rows: list[bytes], box: list[float]) -> bool:
    """Whether there is anything dark in a box."""
    left, top, right, bottom = box
    width, height = len(rows[0]) // 3, len(rows)
    part = rows[int(top * height) : int(bottom * height) + 1]
    return any(min(row[int(left * width) * 3 : int(right * width) * 3 + 3]) < 128 for row in part)


def first_claim(client: LedgerClient, session: str) -> Any:
    entry = client.get(f"/sessions/{session}/ledger")["ledger"]["entries"][0]
    return client.get(f"/sessions/{session}/claims/{entry['claim_id']}")


def test_a_claim_has_everything_that_was_read_about_it(
    checked: tuple[LedgerClient, str],
) -> None:
    client, session = checked
    found = first_claim(client, session)
    ids = {each["id"] for each in client.get("/documents")["documents"]}
    assert found["entry"]["claim_key"] == found["judged"]["claim_id"] == "clm_001"
    assert {"readings", "confidence_components", "citations"} <= found["judged"].keys()
    assert set(found["documents"].values()) <= ids
    assert {each["document_id"] for each in found["judged"]["readings"]} <= set(found["documents"])
    missing = client.ask("GET", f"/sessions/{session}/claims/{session}")
    assert (missing.status, missing.json["code"]) == (404, "AF855")


def test_the_quote_of_a_reading_is_where_the_page_has_ink(
    checked: tuple[LedgerClient, str],
) -> None:
    client, session = checked
    found = first_claim(client, session)
    reading = next(r for r in found["judged"]["readings"] if r["filename"].endswith(".pdf"))
    start = reading["chunk_span"]["start"] + reading["snippet_span"]["start"]
    end = reading["chunk_span"]["start"] + reading["snippet_span"]["end"]
    document = found["documents"][reading["document_id"]]
    passage = client.get(f"/documents/{document}/passage?start={start}&end={end}")
    assert passage["text"] == reading["snippet"]
    assert passage["page_number"] == reading["page_number"]
    (page,) = passage["pages"]
    assert page["number"] == reading["page_number"]
    image = client.ask("GET", f"/documents/{document}/pages/{page['number']}?width={WIDTH}")
    assert image.headers["content-type"] == "image/png"
    rows = pixels_of(image.body)
    assert len(rows[0]) // 3 == WIDTH
    assert len(rows) == pytest.approx(WIDTH * page["height"] / page["width"], abs=1)
    assert page["boxes"]
    for box in page["boxes"]:
        assert has_ink(rows, box), box
        # A line above the first one of the page is empty.
    assert not has_ink(rows, [0.0, 0.0, 1.0, 0.01])


def test_a_passage_has_its_context(checked: tuple[LedgerClient, str]) -> None:
    client, _ = checked
    document = next(
        each["id"] for each in client.get("/documents")["documents"] if each["page_count"] is None
    )
    whole = client.get(f"/documents/{document}/passage?start=0&end=600")
    part = client.get(f"/documents/{document}/passage?start=100&end=200")
    assert part["pages"] == []
    assert part["before"] + part["text"] == whole["text"][:200]
    assert whole["text"].endswith(part["after"][:300]) or part["after"][:300] in whole["text"]


REFUSED = {
    "an end before the start": ("passage?start=9&end=3", 422, "AF867"),
    "far too long": ("passage?start=0&end=900000", 422, "AF867"),
    "no number": ("passage?start=x&end=3", 400, "AF511"),
    "beyond the text": ("passage?start=9000000&end=9000001", 404, "AF855"),
    "no such page": ("pages/900", 404, "AF855"),
    "page zero": ("pages/0", 400, "AF511"),
    "a page that is no number": ("pages/one", 400, "AF511"),
    "too wide": ("pages/1?width=99999", 400, "AF511"),
}


@pytest.mark.parametrize(("path", "status", "code"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_shown_is_refused(
    path: str, status: int, code: str, checked: tuple[LedgerClient, str]
) -> None:
    client, _ = checked
    document = next(
        each["id"] for each in client.get("/documents")["documents"] if each["page_count"]
    )
    reply = client.ask("GET", f"/documents/{document}/{path}")
    assert (reply.status, reply.json["code"]) == (status, code), reply.body


def test_a_document_that_is_not_read_yet_has_no_pages(tmp_path: Path) -> None:
    client = ledger_client(tmp_path, f"sqlite:///{tmp_path}/data/store.db")
    made = client.upload(SOURCES[0])["id"]
    for path in ("pages/1", "passage?start=0&end=9"):
        reply = client.ask("GET", f"/documents/{made}/{path}")
        assert (reply.status, reply.json["code"]) == (409, "AF857")
    client.close()


def test_decisions_since_a_number_are_listed(tmp_path: Path) -> None:
    client = ledger_client(tmp_path, f"sqlite:///{tmp_path}/data/store.db")
    session = client.checked()
    entries = client.get(f"/sessions/{session}/ledger")["ledger"]["entries"]
    for entry in entries[:2]:
        body = {"importance": "minor", "reason": "it is an aside"}
        client.ask("PATCH", f"/sessions/{session}/claims/{entry['claim_id']}", body)
    every = client.get(f"/sessions/{session}/decisions")["decisions"]
    assert [each["claim_id"] for each in every] == [each["claim_id"] for each in entries[:2]]
    since = client.get(f"/sessions/{session}/decisions?after={every[0]['number']}")["decisions"]
    assert since == every[1:]
    client.close()


def test_other_gates_decide_without_a_change(tmp_path: Path) -> None:
    client = ledger_client(tmp_path, f"sqlite:///{tmp_path}/data/store.db")
    session = client.checked()
    path = f"/sessions/{session}/gates"
    own = client.get(f"/sessions/{session}/ledger")["ledger"]["gates"]
    assert client.get(path) == own
    strict = client.get(f"{path}?gate=coverage%3E%3D1.0")
    assert strict["decision"] == "no_ship"
    assert strict != own
    wrong = client.ask("GET", f"{path}?gate=coverage")
    assert wrong.status == 422
    assert client.get(f"/sessions/{session}/ledger")["ledger"]["gates"] == own
    client.close()


def rotated_pdf(folder: Path, turn: int) -> Path:
    """Write a page with one word near its lower left corner, turned and cropped."""
    content = b"BT /F1 24 Tf 72 72 Td (Corner) Tj ET"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /CropBox [36 36 576 756]"
        b" /Rotate %d /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>" % turn,
        b"<< /Length %d >> stream\n%b\nendstream" % (len(content), content),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    parts, offsets = [b"%PDF-1.4\n"], []
    for number, each in enumerate(objects, 1):
        offsets.append(sum(map(len, parts)))
        parts.append(b"%d 0 obj\n%b\nendobj\n" % (number, each))
    table = sum(map(len, parts))
    parts.append(b"xref\n0 6\n0000000000 65535 f \n")
    parts.extend(b"%010d 00000 n \n" % at for at in offsets)
    parts.append(b"trailer << /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % table)
    path = folder / f"turned{turn}.pdf"
    path.write_bytes(b"".join(parts))
    return path


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_boxes_follow_the_rotation_and_the_crop_of_a_page(turn: int, tmp_path: Path) -> None:
    path = rotated_pdf(tmp_path, turn)
    box = LineBox(page=1, x0=72, y0=66, x1=160, y1=92)
    (page,) = page_places(path, [box])
    image = page_image(path, 1, 400)
    assert image is not None
    rows = pixels_of(image)
    (place,) = page.boxes
    assert has_ink(rows, list(place))
    # The word is all that the page has, so there is no ink outside of the box.
    left, top, right, bottom = place
    outside = [[0, 0, 1, top - 0.01], [0, bottom + 0.01, 1, 1], [0, 0, left - 0.01, 1]]
    outside.append([right + 0.01, 0, 1, 1])
    for each in outside:
        if each[0] < each[2] and each[1] < each[3]:
            assert not has_ink(rows, [max(0.0, x) for x in each]), each
    assert (page.width < page.height) is (turn % 180 == 0)
    assert all(len(a) == len(b) for a, b in pairwise(rows))
