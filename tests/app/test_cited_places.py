"""The place that an answer cites is read first, and never instead of the others."""

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.cli.running import run
from tests.judge.reading import chunk_of
from tests.repository import ROOT

from affidavit.base.digest import chunk_digest
from affidavit.judge.standard.judge import StandardJudge

MNESIA = ROOT / "tests" / "spec" / "page_questions" / "documents" / "mnesia-user-guide.pdf"
# The sections on bicycles have more words of the claim than the section on vacation.
CLAIM = "Staff who take leave are paid for fifteen days"
VACATION = "Every employee receives fifteen days of vacation with full salary."
FILLER = "\n\n".join(
    f"## 9.{number} Bicycles\n\nStaff who take leave from shed {number} are paid for days."
    for number in range(1, 13)
)
POLICY = f"""# Policy

## 2.4 Notice

A notice is given in writing, four weeks before the end.

## 2.5 Vacation

{VACATION}

### 2.5.1 Calendar

The vacation year is the calendar year.

## 2.6 Travel

Trains are booked by the travel desk.

{FILLER}
"""
# Numbered paragraphs, as contracts have them: no headings.
TERMS = "Terms of the shed\n\n" + "\n\n".join(
    f"{number}.{part} Staff who take leave by bicycle {number}{part} are paid for days."
    for number in range(1, 6)
    for part in range(1, 4)
).replace("3.2 Staff who take leave by bicycle 32 are paid", "3.2 Vacation lasts fifteen days")


def readings(
    answer: str, sources: Path, folder: Path, *more: str, judge: str = "lexical"
) -> list[dict[str, Any]]:
    """The readings of the only claim of an answer, through the CLI, in their order."""
    (folder / "answer.md").write_text(answer, encoding="utf-8")
    # Beside the sources, so that their index is built once for all tests.
    project = str(sources.parent / "project")
    common = ("--project", project, "--at", "2026-11-01", "--judge", judge)
    shown = run(
        "check", str(folder / "answer.md"), "--sources", str(sources), *common, *more, "--json"
    )
    assert shown.exit_code in (0, 1, 3), shown.output
    (entry,) = json.loads(shown.stdout)["entries"]
    found: list[dict[str, Any]] = entry["readings"]
    return found


def titles(found: list[dict[str, Any]]) -> list[str]:
    """The nearest headings of the readings."""
    return [each["heading_path"][-1] if each["heading_path"] else "" for each in found]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cited") / "sources"
    folder.mkdir()
    (folder / "policy.md").write_text(POLICY, encoding="utf-8")
    (folder / "terms.txt").write_text(TERMS, encoding="utf-8")
    (folder / "mnesia-user-guide.pdf").write_bytes(MNESIA.read_bytes())
    return folder


LISTED = f"{CLAIM}{{}}.\n\nSources:\n1. terms.txt\n2. policy.md, section 2.5"
FORMS = {
    "a section": f"{CLAIM} (§2.5).",
    "a name and a section": f"{CLAIM} (policy §2.5).",
    "a file and a section": f"{CLAIM} (policy.md, section 2.5).",
    "a number of a list": LISTED.format(" [2]"),
    "lenticular brackets": LISTED.format("【2】"),
    "lenticular brackets of a search": f"{CLAIM}【4:0†policy.md, section 2.5】.",
    "a source in words": LISTED.format(" [Source 2]"),
    "a raised digit": LISTED.format("²"),
    "a footnote": f"{CLAIM}[^a].\n\n[^a]: policy.md, section 2.5",
    "a lead-in": f"According to policy.md, section 2.5, {CLAIM}.",
}


@pytest.mark.parametrize("answer", FORMS.values(), ids=FORMS.keys())
def test_the_cited_section_is_read_first_in_every_form(
    answer: str, sources: Path, tmp_path: Path
) -> None:
    found = readings(answer, sources, tmp_path, "--top-k", "4")
    inside = [title.startswith("2.5") for title in titles(found)]
    assert inside[0]
    assert inside == sorted(inside, reverse=True)
    assert inside.count(False) == 4


def test_without_the_citation_the_section_is_not_read(sources: Path, tmp_path: Path) -> None:
    found = readings(f"{CLAIM}.", sources, tmp_path, "--top-k", "4")
    assert [each["snippet"] for each in found if VACATION in (each["passage"] or "")] == []
    assert len(found) == 4


def test_a_numbered_paragraph_is_a_section(sources: Path, tmp_path: Path) -> None:
    found = readings(f"{CLAIM} (terms.txt, clause 3.2).", sources, tmp_path, "--top-k", "2")
    assert found[0]["filename"].endswith("terms.txt")
    assert "Vacation lasts fifteen days" in found[0]["passage"]


PAGES = {
    "a page": ("p. 30", range(30, 31)),
    "pages": ("pp. 60-61", range(60, 62)),
    "a page on which a passage of the page before ends": ("page 19", range(19, 20)),
}


@pytest.mark.parametrize(("cited", "pages"), PAGES.values(), ids=PAGES.keys())
def test_the_passages_of_the_cited_page_of_a_pdf_are_read_first(
    cited: str, pages: range, sources: Path, tmp_path: Path
) -> None:
    answer = f"Tables can be moved to another machine (mnesia-user-guide.pdf, {cited})."
    found = readings(answer, sources, tmp_path, "--top-k", "4")
    inside = [each["page_number"] in pages for each in found]
    assert inside[0]
    assert inside.count(False) >= 3
    assert all(inside[: inside.index(False)])


def test_a_page_that_the_source_does_not_have_is_the_whole_source(
    sources: Path, tmp_path: Path
) -> None:
    found = readings(f"{CLAIM} (mnesia-user-guide.pdf, p. 900).", sources, tmp_path, "--top-k", "4")
    assert [each["filename"].endswith(".pdf") for each in found] == [True] * 3 + [False] * 4


def test_a_source_without_a_word_of_the_claim_is_read_too(tmp_path: Path) -> None:
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "a.md").write_text(POLICY, encoding="utf-8")
    (sources / "b.md").write_text("# Trains\n\nSeats are green.", encoding="utf-8")
    found = readings(f"{CLAIM} [1].\n\n[1] b.md", sources, tmp_path, "--top-k", "2")
    assert [each["filename"] for each in found] == ["b.md", "a.md", "a.md"]


def test_a_passage_cited_by_its_hash_or_number_is_read_first(sources: Path, tmp_path: Path) -> None:
    text = f"2.5 Vacation\n\n{VACATION}"
    by_hash = readings(f"{CLAIM} [cite:{chunk_digest(text)[:8]}].", sources, tmp_path)
    by_number = readings(f"{CLAIM} (policy.md#2).", sources, tmp_path)
    for found in (by_hash, by_number):
        assert titles(found)[0] == "2.5 Vacation"
        assert len(found) == 9


def test_several_citations_take_turns(sources: Path, tmp_path: Path) -> None:
    answer = f"{CLAIM} (policy.md, section 9; policy.md, section 2.5)."
    found = readings(answer, sources, tmp_path, "--top-k", "1")
    first, second, *_ = titles(found)
    assert first.startswith("9.")
    assert second.startswith("2.5")


def test_what_contradicts_the_claim_elsewhere_is_read_too(tmp_path: Path) -> None:
    policy = "# A\n\n## 1 Leave\n\nStaff get leave.\n\n## 2 Days\n\nStaff get 15 days of leave."
    (tmp_path / "policy.md").write_text(policy, encoding="utf-8")
    found = readings("Staff get 20 days of leave (§1).", tmp_path / "policy.md", tmp_path)
    assert [each["contradicts"] for each in found] == [False, True]


def test_the_encoder_reads_a_cited_passage_whatever_others_say() -> None:
    judge = StandardJudge()
    most = judge.combiner.table.most_passages
    others = [chunk_of(f"{CLAIM} from shed {n}.", n, f"d{n}") for n in range(most + 2)]
    place = chunk_of(VACATION, 90, "d90")
    for cited in (True, False):
        (reading, *_) = judge.read(f"{CLAIM}.", [replace(place, cited=cited), *others])
        assert ("entails" in dict(reading.scores)) is cited
