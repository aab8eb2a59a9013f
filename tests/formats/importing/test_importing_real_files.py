"""Files that the real tools wrote about the same four questions; interop/importers.sh makes them.

Set AFFIDAVIT_IMPORT_FILES to a folder to read fresh ones.
"""

import os
from pathlib import Path

import pytest
from tests.gates.making import profile

from affidavit.formats.importing import Format, ImportedRow, detect, read_rows
from affidavit.gates.rag_rows import gold_from_value, trace_from_value

FILES = Path(os.environ.get("AFFIDAVIT_IMPORT_FILES") or Path(__file__).parent / "files")

# For each of the questions: what became of it, then C, H and whether all was retrieved that is
# relevant; `+` holds, `-` fails, `?` was not measured.
FULL = ("shipped ++ +", "shipped ++ +", "shipped -? +", "refused ?? ?")
REAL = {
    "ragas.csv": (Format.RAGAS, FULL),
    "ragas.jsonl": (Format.RAGAS, FULL),
}
SIGNS = {True: "+", False: "-", None: "?"}


def rows_of(name: str) -> list[ImportedRow]:
    return list(read_rows(FILES / name))


def test_every_file_is_in_the_table() -> None:
    assert sorted(path.name for path in FILES.iterdir()) == sorted(REAL)


@pytest.mark.parametrize("name", REAL)
def test_a_file_is_known_by_its_content(name: str, tmp_path: Path) -> None:
    renamed = tmp_path / "data.bin"
    renamed.write_bytes((FILES / name).read_bytes())
    assert detect(renamed) is REAL[name][0]


def came_out(row: ImportedRow, name: str) -> str:
    gold = gold_from_value(row.gold, row.line, name)
    trace = None if row.trace is None else trace_from_value(row.trace, row.line, name)
    made = profile(gold, trace)
    return "{} {}{} {}".format(
        made.seen, *(SIGNS[held] for held in (made.contains, made.cites, made.recalls))
    )


@pytest.mark.parametrize("name", REAL)
def test_the_gates_take_what_was_imported(name: str) -> None:
    assert tuple(came_out(row, name) for row in rows_of(name)) == REAL[name][1]
