"""View in Document over HTTP: pages as images, quotes with their places, and who may see them."""

import struct
from collections.abc import Iterator

import pytest
from tests.documents.making import docx_of, paragraph, pdf_of
from tests.web.ledger_client import OCTETS, V1, LedgerClient, ledger_client

from affidavit.app import page_views
from affidavit.store.api_keys import ApiKeyScope
from affidavit.store.document_rows import document as stored_document

PDF = pdf_of(
    "#set page(width: 300pt, height: 150pt)\n= Leave\nStaff get 25 days of leave.\n"
    "#pagebreak()\nUnused days may be carried over until March."
)
DOCX = docx_of(
    paragraph("Leave", "H1")
    + paragraph("Staff get 25 days of leave. They may sell 3 of them.")
    + paragraph("Nobody loses a day.")
)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LedgerClient]:
    folder = tmp_path_factory.mktemp("views")
    made = ledger_client(folder, f"sqlite:///{folder}/data/store.db")
    yield made
    assert made.service.ledgers is not None
    made.service.ledgers.pages.close()
    made.store.close()


def put(client: LedgerClient, name: str, data: bytes) -> str:
    made = client.ask("POST", f"/documents?filename={name}", data)
    assert made.status == 200
    client.work()
    return str(made.json["id"])


def size_of(png: bytes) -> tuple[int, int]:
    width, height = struct.unpack(">II", png[16:24])
    return width, height


def test_a_page_is_an_image_of_the_next_width(client: LedgerClient) -> None:
    document = put(client, "leave.pdf", PDF)
    seen = client.ask("GET", f"/documents/{document}/pages/2.png?width=500")
    assert (seen.status, seen.headers["content-type"]) == (200, "image/png"), seen.body
    assert seen.headers["cache-control"] == "private, max-age=3600"
    assert seen.headers["x-content-type-options"] == "nosniff"
    assert size_of(seen.body) == (800, 400)
    assert client.ask("GET", f"/documents/{document}/pages/2.png?width=800").body == seen.body
    usual = client.ask("GET", f"/documents/{document}/pages/1.png")
    assert size_of(usual.body) == (1200, 600)


PAGES = {
    "beyond the last page": ("3.png", 404, "AF880"),
    "before the first page": ("0.png", 404, "AF880"),
    "another format": ("1.svg", 404, "AF880"),
    "no number": ("one.png", 404, "AF880"),
    "digits of another script": ("%D9%A1.png", 404, "AF880"),
    "a huge number": (f"{'9' * 400}.png", 404, "AF880"),
    "too wide": ("1.png?width=5000", 400, "AF511"),
    "no width": ("1.png?width=-1", 400, "AF511"),
    "a path out of the document": ("../../../store.db", 404, "AF505"),
    "an encoded path": ("..%2F..%2Fstore.db", 404, "AF880"),
}


@pytest.mark.parametrize(("page", "status", "code"), PAGES.values(), ids=PAGES.keys())
def test_what_is_no_page_is_refused(
    client: LedgerClient, page: str, status: int, code: str
) -> None:
    document = put(client, "leave.pdf", PDF)
    refused = client.ask("GET", f"/documents/{document}/pages/{page}")
    assert (refused.status, refused.json["code"]) == (status, code)


def test_a_quote_is_found_by_the_offsets_of_a_ledger(client: LedgerClient) -> None:
    document = put(client, "leave.pdf", PDF)
    chunk = client.get(f"/documents/{document}/quote?start=0&end=5")
    text = chunk["quote"] + chunk["after"]
    start = text.index("25 days")
    seen = client.get(f"/documents/{document}/quote?start={start}&end={start + 7}")
    assert (seen["before"][-10:], seen["quote"]) == ("Staff get ", "25 days")
    assert seen["after"].startswith(" of leave.")
    assert (seen["filename"], seen["page_count"]) == ("leave.pdf", 2)
    (page,) = seen["pages"]
    assert (page["page"], page["width"], page["height"]) == (1, 300, 150)
    ((left, top, right, bottom),) = page["boxes"]
    assert 0 < left < right < 0.6
    assert 0 < top < bottom < 1
    # Ledgers know the document by the digest of its bytes.
    content_id = client.store.database.read(
        client.store.workspace("default"),
        lambda scope: stored_document(scope, document).content_id,
    )
    assert client.get(f"/documents/{content_id}/quote?start={start}&end={start + 7}") == seen
    assert client.ask("GET", f"/documents/{content_id}/pages/1.png").status == 200


def test_a_document_without_pages_shows_the_passage_in_its_context(client: LedgerClient) -> None:
    document = put(client, "leave.docx", DOCX)
    whole = client.get(f"/documents/{document}/quote?start=0&end=1")
    text = whole["quote"] + whole["after"]
    start = text.index("They may")
    seen = client.get(f"/documents/{document}/quote?start={start}&end={start + 24}")
    assert seen["quote"] == "They may sell 3 of them."
    assert seen["before"].endswith("Staff get 25 days of leave. ")
    assert "Nobody loses a day." in seen["after"]
    assert (seen["pages"], seen["heading_path"]) == ([], ["Leave"])
    refused = client.ask("GET", f"/documents/{document}/pages/1.png")
    assert (refused.status, refused.json["code"]) == (404, "AF880")


QUOTES = {
    "beyond the end": ("start=99990&end=99999", 422, "AF882"),
    "backwards": ("start=5&end=3", 422, "AF882"),
    "longer than a passage": ("start=0&end=30000", 422, "AF882"),
    "negative": ("start=-1&end=3", 400, "AF511"),
    "no number": ("start=a&end=3", 400, "AF511"),
    "no end": ("start=1", 400, "AF511"),
    "too large for a database": (f"start=0&end={10**30}", 422, "AF882"),
}


@pytest.mark.parametrize(("query", "status", "code"), QUOTES.values(), ids=QUOTES.keys())
def test_what_is_no_passage_is_refused(
    client: LedgerClient, query: str, status: int, code: str
) -> None:
    document = put(client, "leave.docx", DOCX)
    refused = client.ask("GET", f"/documents/{document}/quote?{query}")
    assert (refused.status, refused.json["code"]) == (status, code)


def test_another_workspace_does_not_see_it_even_if_the_image_is_cached(
    client: LedgerClient,
) -> None:
    document = put(client, "leave.pdf", PDF)
    paths = (f"/documents/{document}/pages/1.png", f"/documents/{document}/quote?start=0&end=5")
    other = client.of_workspace("other")
    blind = client.of_workspace("default", ApiKeyScope.ANSWER)
    for path in paths:
        assert client.ask("GET", path).status == 200
        assert (other.ask("GET", path).status, blind.ask("GET", path).status) == (404, 403)
    client.ask("DELETE", f"/documents/{document}")
    assert [client.ask("GET", path).status for path in paths] == [404, 404]


def test_a_document_that_is_not_read_yet_has_no_pages(client: LedgerClient) -> None:
    made = client.service.ask("POST", f"{V1}/documents?filename=a.pdf", PDF + b"\n", OCTETS).json
    refused = client.ask("GET", f"/documents/{made['id']}/pages/1.png")
    assert (refused.status, refused.json["code"]) == (409, "AF857")


def test_a_file_that_was_damaged_is_reported_and_the_next_one_is_shown(
    client: LedgerClient,
) -> None:
    document = put(client, "leave.pdf", PDF)
    path = client.store.blobs.path(client.get(f"/documents/{document}")["digest"])
    whole = path.read_bytes()
    path.write_bytes(b"%PDF-1.7\n")
    refused = client.ask("GET", f"/documents/{document}/pages/2.png?width=2400")
    assert (refused.status, refused.json["code"]) == (422, "AF881")
    path.write_bytes(whole)
    assert client.ask("GET", f"/documents/{document}/pages/1.png").status == 200


def test_few_images_are_kept(client: LedgerClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_views, "MAX_CACHED_BYTES", 1)
    document = put(client, "leave.pdf", PDF)
    one = client.ask("GET", f"/documents/{document}/pages/1.png")
    assert one.body == client.ask("GET", f"/documents/{document}/pages/1.png").body
