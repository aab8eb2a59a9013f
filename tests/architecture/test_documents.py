"""Commands, links and paths in the documents exist; decision records have their parts."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.repository import ROOT

PAGES = (
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")),
    ROOT / "tests" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
)
RECORDS = sorted((ROOT / "docs" / "adr").glob("*.md"))
BLOCK = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
TARGET = re.compile(r"^([a-z][a-z-]*):(?!=)", re.MULTILINE)


def blocks(page: Path, *languages: str) -> Iterator[str]:
    """Yield the fenced blocks of a page in one of some languages."""
    for match in BLOCK.finditer(page.read_text("utf-8")):
        if match["language"] in languages:
            yield match["text"]


def command_lines(program: str) -> set[str]:
    """Return the command lines of a program that the pages show, without comments."""
    lines = (
        line.removeprefix("$ ").partition("  #")[0].strip()
        for page in PAGES
        for block in blocks(page, "sh", "console")
        for line in block.splitlines()
    )
    return {line for line in lines if line.split(" ")[0] == program}


def affidavit(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line, with both output streams in one."""
    return subprocess.run(
        [sys.executable, "-m", "affidavit", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def test_every_make_target_on_a_page_exists() -> None:
    asked = {word for line in command_lines("make") for word in line.split()[1:] if "=" not in word}
    prose = (re.findall(r"`make ([a-z-]+)`", page.read_text("utf-8")) for page in PAGES)
    exist = set(TARGET.findall((ROOT / "Makefile").read_text("utf-8")))
    assert asked
    assert asked.union(*prose) - exist == set()


def test_every_make_target_with_a_description_is_phony() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8").replace("\\\n", " ")
    (phony,) = re.findall(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)
    described = set(re.findall(r"^([a-z-]+):.*## ", makefile, re.MULTILINE))
    assert described - set(phony.split()) == set()


def test_every_affidavit_command_on_a_page_exists() -> None:
    typed = {
        tuple(word for word in shlex.split(line)[1:] if re.fullmatch(r"[a-z][a-z-]*", word))[:1]
        for line in command_lines("affidavit")
        # The console blocks show mistakes too; test_pages_run.py compares their output.
        if not any(f"$ {line}\n" in block for block in consoles())
    }
    assert typed
    assert [words for words in sorted(typed) if affidavit(*words, "--help").returncode] == []


def consoles() -> list[str]:
    """Return the blocks of the README that show a command with its output."""
    return list(blocks(ROOT / "README.md", "console"))


def test_the_readme_has_the_exit_codes_of_the_product() -> None:
    from affidavit.base.exits import EXIT_MEANINGS

    rows = "".join(f"| {code:d} | {meaning} |\n" for code, meaning in EXIT_MEANINGS.items())
    assert rows in (ROOT / "README.md").read_text("utf-8")
    assert rows in (ROOT / "docs" / "adr" / "0005-exit-codes.md").read_text("utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    prose = re.sub(r"`[^`]*`", "", BLOCK.sub("", page.read_text("utf-8")))
    links = re.findall(r"\]\(([^)\s#]+)[^)]*\)", prose)
    local = [link for link in links if "://" not in link]
    assert [link for link in local if not (page.parent / link).exists()] == []


ANCHOR = re.compile(r"\]\(([^)\s#:]*)#([^)\s]+)\)")


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page, as forges derive them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", text).strip().lower().replace(" ", "-") for text in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_anchor_of_a_link_is_a_heading(page: Path) -> None:
    links = ANCHOR.findall(page.read_text("utf-8"))
    targets = [(page.parent / name if name else page, anchor) for name, anchor in links]
    assert [anchor for target, anchor in targets if anchor not in anchors(target)] == []


FILE = re.compile(r"\b(?:docs|tools|tests|interop|benchmarks)/[\w/.-]+\.(?:py|md|sh)\b")


def test_every_file_that_the_code_names_exists() -> None:
    code = [*(ROOT / "src").rglob("*.py"), *(ROOT / "tools").rglob("*.py"), ROOT / "Makefile"]
    named = {(file, name) for file in code for name in FILE.findall(file.read_text("utf-8"))}
    assert len(named) > 20
    assert [name for _, name in sorted(named) if not (ROOT / name).exists()] == []


PATH = re.compile(r"`((?:[a-z_]+/)+[\w.]*|[a-z_]+\.py)`")


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "tests/README.md"])
def test_every_path_that_a_map_names_exists(name: str) -> None:
    paths = PATH.findall((ROOT / name).read_text("utf-8"))
    roots = (ROOT, ROOT / "src" / "affidavit", ROOT / "tests")
    assert len(paths) > 5
    assert [path for path in paths if not any((root / path).exists() for root in roots)] == []


def test_the_map_of_the_tests_names_every_folder() -> None:
    text = (ROOT / "tests" / "README.md").read_text("utf-8")
    folders = [path.name for path in (ROOT / "tests").iterdir() if any(path.glob("*.*"))]
    assert sorted(name for name in folders if f"`{name}`" not in text) == []


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.stem)
def test_a_decision_record_has_its_parts_on_one_page(record: Path) -> None:
    text = record.read_text("utf-8")
    headings = re.findall(r"^#+ .*$", text, re.MULTILINE)
    assert headings[0].startswith(f"# {int(record.stem[:4])}. ")
    assert headings[1:] == ["## Context", "## Decision", "## Consequences"]
    assert re.search(r"^Status: (accepted|superseded by \d{4})$", text, re.MULTILINE)
    assert len(text.splitlines()) <= 60


def test_decision_records_are_numbered_without_a_gap_and_listed() -> None:
    assert [record.stem[:4] for record in RECORDS] == [
        f"{number:04}" for number in range(1, len(RECORDS) + 1)
    ]
    index = (ROOT / "docs" / "README.md").read_text("utf-8")
    assert [record.name for record in RECORDS if f"(adr/{record.name})" not in index] == []
