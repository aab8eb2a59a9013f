"""The HTML and PDF reports, from the seed's own example."""

import re
import shutil
import subprocess
from os import environ
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.ledger.examples import CARRYOVER, JUDGE, ledger_of, seed_ledger
from tests.ledger.small_ledgers import ledger as small

from affidavit.ledger.model import Span
from affidavit.reports.ledger_page import ledger_html, ledger_pdf, ledger_view

VERSION = "1.2.3"


def test_the_pieces_of_the_answer_make_the_answer() -> None:
    ledger = seed_ledger()
    pieces = ledger_view(ledger, VERSION)["answer"]
    assert "".join(piece["text"] for piece in pieces) == ledger.answer
    assert [piece["claim_id"] for piece in pieces if piece["claim_id"]] == [
        entry.claim_id for entry in ledger.entries
    ]


def test_a_quote_stands_in_its_context() -> None:
    ledger = seed_ledger()
    third = ledger.entries[2]
    passage = f"Before it. {CARRYOVER} {'After it. ' * 200}"
    start = passage.index(CARRYOVER)
    span = Span(start, start + len(CARRYOVER))
    best = replace(third.readings[0], snippet_span=span, passage=passage)
    moved = replace(third, readings=(best,))
    context = ledger_view(replace(ledger, entries=(moved,)), VERSION)["entries"][0]["context"]
    assert context["before"] == "Before it. "
    assert context["quote"] == CARRYOVER
    assert context["after"].endswith("…")
    assert len(context["after"]) < 700


def test_no_claims_at_all_is_a_report_too() -> None:
    ledger = ledger_of("Hello! Can I help?", {})
    view = ledger_view(ledger, VERSION)
    assert view["entries"] == []
    assert [tile["value"] for tile in view["tiles"]] == ["–", "–", "0", "–"]
    assert "Could not tell" in ledger_html(ledger, VERSION)
    assert ledger_pdf(ledger, VERSION).startswith(b"%PDF")


def test_html_is_one_file_that_asks_nobody() -> None:
    page = ledger_html(seed_ledger(), VERSION)
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", page)
    assert "url(" not in page
    assert "default-src 'none'" in page


def test_html_escapes_what_came_from_outside() -> None:
    hostile = '<script>alert(1)</script> & "quotes" say that the maximum carryover is 5 days.'
    ledger = ledger_of(hostile, {})
    ledger = replace(ledger, query="</title><img src=x onerror=1>")
    page = ledger_html(ledger, VERSION)
    assert "<script>alert" not in page
    assert "<img" not in page


def test_pdf_holds_what_an_auditor_looks_for_and_is_the_same_every_time() -> None:
    from pypdfium2 import PdfDocument

    ledger = seed_ledger()
    data = ledger_pdf(ledger, VERSION)
    assert data == ledger_pdf(ledger, VERSION)
    document = PdfDocument(data)
    text = " ".join(page.get_textpage().get_text_bounded() for page in document)
    document.close()
    text = re.sub(r"[\s\u200b\ufffe\u00ad]+", " ", text)
    for wanted in ("Evidence ledger", "Do not ship", "75%", "Risk flags", "Appendix: digests"):
        assert wanted in text
    for entry in ledger.entries:
        assert entry.claim_text in text
    assert ledger.answer_digest[-20:] in text.replace(" ", "")


CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None and environ.get("CI") != "true",
    reason="no Chromium here; `make browser` installs it",
)


def rendered(page: str, folder: Path, fragment: str = "") -> str:
    """Return the document as Chromium has it after the page's script ran."""
    assert CHROMIUM is not None, "CI needs Chromium; `make browser` installs it"
    file = folder / "report.html"
    file.write_text(page, encoding="utf-8")
    flags = (
        *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"),
        *("--disable-background-networking", "--disable-component-update", "--disable-quic"),
    )
    command = [CHROMIUM, *flags, f"--user-data-dir={folder / 'profile'}", "--dump-dom"]
    done = subprocess.run(
        [*command, f"{file.as_uri()}{fragment}"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout


def test_the_tiles_show_what_the_gates_measure() -> None:
    ledger = small("material: A full 0.9 \u2016 material: A against 0.9 \u2016 minor:")
    tiles = {tile["label"]: tile["value"] for tile in ledger_view(ledger, VERSION)["tiles"]}
    assert tiles["unsupported"] == "50%"
    assert tiles["unsupported, minor claims"] == "100%"
    assert ledger.summary.unsupported_rate == 0.5
    measured = {row["words"]: row["measured"] for row in ledger_view(ledger, VERSION)["gates"]}
    assert measured["Critical and material claims unsupported"] == "50%"
    assert measured["Minor claims unsupported"] == "100%"


def test_claims_to_review_come_first_and_keep_their_numbers() -> None:
    ledger = seed_ledger()
    review, answer = (ledger_view(ledger, VERSION, order) for order in ("review", "answer"))
    assert [entry["number"] for entry in review["entries"]] == [4, 3, 1, 2]
    assert [entry["number"] for entry in answer["entries"]] == [1, 2, 3, 4]
    assert [entry["review_rank"] for entry in answer["entries"]] == [3, 4, 2, 1]
    assert [piece["number"] for piece in review["answer"] if piece["claim_id"]] == [1, 2, 3, 4]


@needs_chromium
def test_the_order_can_be_switched_in_the_browser(tmp_path: Path) -> None:
    page = ledger_html(seed_ledger(), VERSION)

    def order_after(act: str) -> list[str]:
        dom = rendered(page.replace("</body>", f"<script>{act}</script></body>"), tmp_path)
        return re.findall(r'<tr class="entry" id="clm_00(\d)"', dom)

    choose = "const s = document.getElementById('order'); const e = new Event('input');"
    by_answer = f"{choose} s.value = 'number'; s.dispatchEvent(e);"
    assert order_after("") == ["4", "3", "1", "2"]
    assert order_after(by_answer) == ["1", "2", "3", "4"]
    back = f"{by_answer} s.value = 'reviewRank'; s.dispatchEvent(e);"
    assert order_after(back) == ["4", "3", "1", "2"]


@needs_chromium
def test_a_link_to_a_claim_opens_its_evidence(tmp_path: Path) -> None:
    dom = rendered(ledger_html(seed_ledger(), VERSION), tmp_path, "#clm_003")
    assert re.search(r'<tr class="detail" id="detail-clm_003">', dom)
    assert re.search(r'<tr class="detail" id="detail-clm_001" hidden="">', dom)
    assert "4 of 4 shown" in dom


@needs_chromium
def test_sorting_and_filtering_in_the_browser(tmp_path: Path) -> None:
    act = """<script>
      document.querySelector('th[data-key=confidence] button').click();
      document.querySelector('input[value=supported]').click();
    </script></body>"""
    page = ledger_html(seed_ledger(), VERSION).replace("</body>", act)
    dom = rendered(page, tmp_path)
    order = re.findall(r'<tr class="entry" id="(clm_\d+)"', dom)
    assert order == ["clm_004", "clm_003", "clm_002", "clm_001"]
    assert "2 of 4 shown" in dom
    assert len(re.findall(r'<tr class="entry"[^>]*hidden=""', dom)) == 2


def test_the_report_names_its_judge_and_rules() -> None:
    facts = {
        fact["label"]: fact["value"] for fact in ledger_view(seed_ledger(), VERSION)["provenance"]
    }
    assert facts["Judge digest"] == JUDGE.digest
    assert facts["Judge"] == "table 1 (re-derivable)"
    changed = replace(seed_ledger(), judge=replace(JUDGE, rederivable=False))
    facts = {fact["label"]: fact["value"] for fact in ledger_view(changed, VERSION)["provenance"]}
    assert facts["Judge"] == "table 1 (signed only, not re-derivable)"
