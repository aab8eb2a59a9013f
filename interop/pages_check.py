"""Runs axe-core on every page of `affidavit ui`, and prints what it finds."""

import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.chromium import Page, open_browser
from tests.web.pages_client import check_an_answer, open_claim, served

LOOKS = ((1280, False), (1280, True), (360, False), (360, True))
SERIOUS = ("serious", "critical")
RUN = "axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']})"


def violations(page: Page, axe: str) -> list[dict[str, Any]]:
    """Return what axe-core finds on the page that is open."""
    page.evaluate(f"{axe}; 0")
    found: list[dict[str, Any]] = page.evaluate(f"{RUN}.then((result) => result.violations)")
    return found


def states(page: Page, address: str, ledger: str) -> Iterator[str]:
    """Bring the browser to one page after another."""
    for path in ("/", "/new", "/sessions/none", "/sign-in", "/users"):
        page.visit(address + path)
        yield path
    page.visit(ledger)
    open_claim(page, "clm_003")
    yield "a ledger with a claim opened"
    page.evaluate("document.querySelector('button.view').click()")
    page.wait("document.querySelector('#viewer-body img')?.naturalWidth > 0")
    yield "the page of a document"
    page.press("Escape")
    page.press("?")
    yield "the help"
    page.press("Escape")
    page.evaluate("document.querySelector('[data-approval=approved]').click()")
    yield "the approval"
    page.press("Escape")


def main(axe: str) -> int:
    """Check every page in every look; return how many serious faults there are."""
    serious = 0
    with (
        TemporaryDirectory() as project,
        TemporaryDirectory() as profile,
        served(Path(project)) as address,
        open_browser(Path(profile)) as page,
    ):
        page.call("Page.enable")
        page.visit(address)
        ledger = check_an_answer(page, address)
        for width, dark in LOOKS:
            page.show_as(width, 800, dark=dark)
            for name in states(page, address, ledger):
                for each in violations(page, axe):
                    serious += each["impact"] in SERIOUS
                    places = "; ".join(node["html"][:120] for node in each["nodes"][:3])
                    look = f"{width} px {'dark' if dark else 'light'}"
                    sys.stdout.write(f"{each['impact']}: {name}, {look}: {each['id']}: {places}\n")
        # The check must be able to fail.
        page.evaluate("document.body.append(document.createElement('img'))")
        if not any(each["id"] == "image-alt" for each in violations(page, axe)):
            sys.stdout.write("an image without a text was accepted\n")
            serious += 1
    sys.stdout.write(f"Pages: {serious} serious faults of accessibility\n")
    return serious


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).read_text("utf-8")) > 0)
