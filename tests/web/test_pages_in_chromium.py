"""The pages in a real Chromium, against the real `affidavit ui` with its worker."""

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import sleep

import pytest
from tests.chromium import Page, open_browser
from tests.web.pages_client import check_an_answer, open_claim, served

from affidavit.app.bundles import open_bundle
from affidavit.app.judge_scoring import row_from_value, row_lines, row_value

VERDICT_OF = "document.querySelector('#{key} td.verdict').innerText"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with TemporaryDirectory() as folder, served(Path(folder)) as found:
        yield found


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    with open_browser(tmp_path / "profile") as found:
        for domain in ("Log", "Network", "Page"):
            found.call(f"{domain}.enable")
        found.show_as(1280, 900)
        yield found


@pytest.fixture(scope="module")
def ledger(address: str) -> str:
    """The address of a ledger that a person made with the pages alone."""
    with TemporaryDirectory() as folder, open_browser(Path(folder)) as page:
        for domain in ("Log", "Network", "Page"):
            page.call(f"{domain}.enable")
        page.visit(f"{address}/")
        assert "See what an answer rests on" in page.evaluate("document.body.innerText")
        found = check_an_answer(page, address)
        assert page.problems() == []
        assert only_to(page, address)
        return found


def only_to(page: Page, address: str) -> bool:
    """Tell whether no request left for another address; a date picker has an icon of its own."""
    return all(each.startswith((f"{address}/", "data:", "blob:")) for each in page.requested())


def text_of(page: Page, selector: str) -> str:
    return str(page.evaluate(f"document.querySelector({json.dumps(selector)}).innerText"))


def decide(page: Page, key: str, verdict: str, reason: str) -> None:
    form = f"document.querySelector('#detail-{key} form.decide')"
    page.evaluate(f"{form}.elements.verdict.value = '{verdict}'")
    page.evaluate(f"{form}.elements.reason.value = {json.dumps(reason)}")
    page.evaluate(f"{form}.requestSubmit()")


def test_a_claim_shows_its_evidence_in_the_document(ledger: str, page: Page, address: str) -> None:
    page.visit(ledger)
    page.evaluate("document.querySelector('.answer a.claim').click()")
    page.wait("!!document.querySelector('#detail-clm_001 .claim-detail')")
    detail = text_of(page, "#detail-clm_001")
    assert "All permanent employees shall receive 15 days" in detail
    assert "Good confidence" in detail
    assert page.evaluate("document.querySelectorAll('#detail-clm_001 .meter .level').length") == 4
    page.evaluate("document.querySelector('#detail-clm_001 button.view').click()")
    page.wait("document.querySelector('#viewer-body img')?.naturalWidth > 0")
    assert page.evaluate("document.querySelectorAll('#viewer-body rect').length") == 2
    page.press("Escape")
    open_claim(page, "clm_002")  # Its source is a DOCX, which has no pages.
    page.evaluate("document.querySelector('#detail-clm_002 button.view').click()")
    page.wait("!!document.querySelector('#viewer-body mark')")
    assert "14 calendar days" in text_of(page, "#viewer-body mark")
    assert "portal" in text_of(page, "#viewer-body .passage")
    assert page.problems() == []
    assert only_to(page, address)


def test_the_keyboard_alone_is_enough(ledger: str, page: Page) -> None:
    page.visit(ledger)
    first = page.evaluate("document.querySelector('tr.entry').id")
    page.press("j")
    assert page.evaluate("document.activeElement.closest('tr').id") == first
    page.press("j")
    page.press("k")
    page.press("Enter")
    page.wait(f"!!document.querySelector('#detail-{first} .claim-detail')")
    page.press("Enter")
    assert page.evaluate(f"document.getElementById('detail-{first}').hidden")
    page.press("?")
    assert page.evaluate("document.getElementById('help').open")
    page.press("Escape")
    page.press("/")
    assert page.evaluate("document.activeElement.id") == "search"


def test_filters_are_part_of_the_address(ledger: str, page: Page) -> None:
    page.visit(ledger)
    page.evaluate(
        "search.value = 'CARRYOVER'; search.dispatchEvent(new Event('input', {bubbles: true}))"
    )
    assert text_of(page, "#shown") == "1 of 4 shown"
    page.evaluate("document.querySelector('input[value=not_found]').click()")
    assert text_of(page, "#shown") == "0 of 4 shown"
    address = page.evaluate("location.href")
    page.visit("about:blank")
    page.visit(address)
    assert text_of(page, "#shown") == "0 of 4 shown"
    page.evaluate("document.querySelector('input[value=not_found]').click()")
    assert text_of(page, "#shown") == "1 of 4 shown"


def test_two_people_review_at_once(ledger: str, page: Page, tmp_path: Path) -> None:
    draft = "document.querySelector('#detail-{} form').elements.reason.value"
    with open_browser(tmp_path / "other") as other:
        for each in (page, other):
            each.visit(ledger)
            open_claim(each, "clm_004")
        other.evaluate(draft.format("clm_004") + " = 'A draft.'")
        decide(page, "clm_004", "contradicted", "The board decided otherwise in May.")
        page.wait(f"{VERDICT_OF.format(key='clm_004')}.includes('Contradicted')")
        page.wait("document.querySelector('#detail-clm_004').innerText.includes('The judge said')")
        assert "The board decided otherwise in May." in text_of(page, "#aside")

        # The other page learns of it by itself, and what is being written there stays.
        other.wait(f"{VERDICT_OF.format(key='clm_004')}.includes('Contradicted')")
        assert other.evaluate(draft.format("clm_004")) == "A draft."
        assert "Somebody else decided" in text_of(other, "#detail-clm_004 .problem")

        # Two decisions at the same moment: the later one is refused, and its text is kept.
        open_claim(other, "clm_003")
        form = "document.querySelector('#detail-clm_003 form')"
        other.evaluate(f"{form}.dataset.verdict = 'contradicted'")
        decide(other, "clm_003", "weak", "Only at discretion.")
        other.wait(f"{form}.innerText.includes('Your text is kept')")
        assert "Somebody else has decided since" in text_of(other, "#detail-clm_003 .problem")
        assert other.evaluate(draft.format("clm_003")) == "Only at discretion."


def downloaded(page: Page, folder: Path, name: str, selector: str) -> bytes:
    """Click, and return the file that is saved."""
    folder.mkdir(exist_ok=True)
    page.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    page.evaluate(f"document.querySelector({json.dumps(selector)}).click()")
    for _ in range(600):
        if (folder / name).exists():
            return (folder / name).read_bytes()
        sleep(0.1)
    raise TimeoutError(f"{name}: {text_of(page, 'body')}")


def test_a_review_is_exported(ledger: str, page: Page, tmp_path: Path, address: str) -> None:
    page.visit(ledger)
    open_claim(page, "clm_001")
    decide(page, "clm_001", "supported", "I read the policy.")
    page.wait("document.getElementById('aside').innerText.includes('I read the policy.')")
    page.evaluate("document.querySelector('[data-approval=rejected]').click()")
    page.evaluate("document.getElementById('approval-reason').value = 'One claim is made up.'")
    page.evaluate("document.getElementById('approval-form').requestSubmit()")
    page.wait("document.querySelector('.outcome').innerText.includes('Rejected')")

    folder = tmp_path / "downloads"
    said = ("confirmed the verdict of claim 1: Supported", "rejected the answer", "is made up.")
    for name, ending in (("markdown", "md"), ("html", "html")):
        content = downloaded(page, folder, f"ledger.{ending}", f"[data-export={name}]")
        assert [words for words in said if words not in content.decode()] == []
    review = json.loads(downloaded(page, folder, "ledger.json", "[data-export=json]"))["review"]
    assert review["decisions"][-1]["to_value"] == "rejected"
    assert downloaded(page, folder, "ledger.pdf", "[data-export=pdf]").startswith(b"%PDF")

    downloaded(page, folder, "session.tar.gz", "a[href$=bundle]")
    with open_bundle(folder / "session.tar.gz") as opened:
        kinds = [event["type"] for _, event in opened.events()]
    assert kinds.count("affidavit.human.approval") >= 2

    page.visit(f"{address}/")
    assert "✗ Rejected" in text_of(page, "main")
    downloaded(page, folder, "labels.jsonl", 'a[href="/labels.jsonl"]')
    # They are read as `judge calibrate` reads them.
    lines = row_lines(folder / "labels.jsonl")
    rows = {row.claim: row for row in (row_from_value(row_value(line), line) for line in lines)}
    row = rows["Employees are entitled to 15 days of annual leave"]
    assert row.label == "supported"
    assert any("15 days of paid annual leave" in text for text in row.evidence)


WIDTHS = {
    "a phone": (360, 1.0, False),
    "a phone in the dark": (360, 1.0, True),
    "200% zoom": (640, 2.0, False),
}


@pytest.mark.parametrize(("width", "zoom", "dark"), WIDTHS.values(), ids=WIDTHS.keys())
def test_nothing_is_wider_than(
    ledger: str, page: Page, address: str, width: int, zoom: float, dark: bool
) -> None:
    page.show_as(width, 740, dark=dark, zoom=zoom)
    for place in (f"{address}/", f"{address}/new", ledger, f"{address}/sessions/none"):
        page.visit(place)
        if place == ledger:
            open_claim(page, "clm_001")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, place


def test_a_problem_is_a_page_for_people(page: Page, address: str) -> None:
    page.visit(f"{address}/sessions/00000000-0000-0000-0000-000000000000")
    assert "This workspace has no session" in text_of(page, "h1")
    assert page.evaluate("document.querySelector('main a[href=\"/\"]').innerText")
