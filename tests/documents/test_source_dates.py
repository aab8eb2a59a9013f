import pytest

from affidavit.documents.dates import document_date, stated_date

LABELLED = {
    "day first, in words": ("Effective 1 January 2026", "2026-01-01"),
    "month first, in words": ("Last updated: March 3rd, 2026", "2026-03-03"),
    "short month": ("Issued 7 Sept. 2025", "2025-09-07"),
    "with of": ("adopted on the 2nd of May 2024", "2024-05-02"),
    "behind a version": ("Version 2.1, 2025-11-30", "2025-11-30"),
    "only a month": ("Revised October 2023", "2023-10-01"),
    "slashes, year first": ("Date: 2025/02/03", "2025-02-03"),
    "dots, day first": ("Dated 3.4.2025", "2025-04-03"),
    "the day can be told": ("Date: 25/04/2026", "2026-04-25"),
    "the month can be told": ("Date: 04/25/2026", "2026-04-25"),
    "both are the same": ("Date: 05/05/2026", "2026-05-05"),
    "nobody can tell": ("Date: 03/04/2026", None),
    "no such day": ("Effective 31 February 2026", None),
    "of several the latest": (
        "Version 1.0, 2023-01-01\nVersion 2.0, 2025-06-30\nVersion 1.5, 2024-02-02",
        "2025-06-30",
    ),
    "a review that is due is not its date": ("Next revision due: 1 January 2030", None),
    "until is not its date": ("Version valid until 2030-01-01", None),
    "a label far away is none": ("Effective " + "x " * 60 + "1 January 2026", None),
}


@pytest.mark.parametrize(("text", "wanted"), LABELLED.values(), ids=LABELLED.keys())
def test_dates_in_the_text(text: str, wanted: str | None) -> None:
    assert document_date(text, ()) == wanted


ORDER = {
    "a label goes before metadata": ("Effective 2026-01-01", ["2020-01-01"], "2026-01-01"),
    "metadata goes before a bare date": ("On 5 May 2021 it rained", ["2020-01-01"], "2020-01-01"),
    "a date on a line of its own near the top": ("Memo\nZurich, 5 May 2021\nIt", [], "2021-05-05"),
    "what a sentence speaks of is not the document's date": (
        "The office in Lisbon was opened in March 2019.",
        [],
        None,
    ),
    "a bare date far down is none": ("x" * 700 + " 5 May 2021", [], None),
    "metadata that is no date is passed over": ("x", ["soon", "2019-02-03"], "2019-02-03"),
    "nothing": ("x", [], None),
}


@pytest.mark.parametrize(("text", "stated", "wanted"), ORDER.values(), ids=ORDER.keys())
def test_order(text: str, stated: list[str], wanted: str | None) -> None:
    assert document_date(text, stated) == wanted


STATED = {
    "PDF": ("D:20221217024144-00'00'", "2022-12-17"),
    "PDF of a year": ("D:2022", "2022-01-01"),
    "compact": ("20221217", "2022-12-17"),
    "ISO": ("2025-06-07T08:09:10Z", "2025-06-07"),
    "words": ("June 7, 2025", "2025-06-07"),
    "no such day": ("D:20221399", None),
    "nothing": ("", None),
}


@pytest.mark.parametrize(("value", "wanted"), STATED.values(), ids=STATED.keys())
def test_stated(value: str, wanted: str | None) -> None:
    assert stated_date(value) == wanted
