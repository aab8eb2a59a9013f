"""The wheel contains the whole product and nothing else, and every build has the same bytes.

These tests need no network. `make dist-check` installs the wheel into an empty environment with
the locked core and checks its size, which needs a package index.
"""

import os
import subprocess
import sys
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest
from tests.repository import ROOT, SOURCE


def build(kind: str, folder: Path) -> Path:
    """Build with the locked backend, without build isolation and without network."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    (made,) = folder.iterdir()
    return made


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture(scope="module")
def metadata(unpacked: Path) -> Message:
    (found,) = unpacked.glob("affidavit-*.dist-info/METADATA")
    return message_from_bytes(found.read_bytes())


def contents(folder: Path) -> set[str]:
    """Return the files below a folder, without bytecode caches."""
    files = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {path.as_posix() for path in files if "__pycache__" not in path.parts}


def test_it_holds_the_whole_product_and_nothing_else(unpacked: Path) -> None:
    pages = {f"docs/{name}" for name in contents(ROOT / "docs")}
    assert contents(unpacked / "affidavit") == contents(SOURCE) | pages
    assert len(list(unpacked.iterdir())) == 2, "the package and its metadata"


def test_it_is_typed_and_licensed(unpacked: Path, metadata: Message) -> None:
    assert (unpacked / "affidavit" / "py.typed").is_file()
    assert metadata["License-Expression"] == "Apache-2.0"
    assert list(unpacked.glob("affidavit-*.dist-info/licenses/LICENSE"))


def test_it_names_its_extras(metadata: Message) -> None:
    extras = ["all", "hf", "langchain", "ledger", "llama-index", "mcp", "otel", "parquet", "pdf"]
    extras += ["server", "spark"]
    assert sorted(metadata.get_all("Provides-Extra", [])) == extras


def test_all_has_every_extra_but_spark(metadata: Message) -> None:
    needs = metadata.get_all("Requires-Dist", [])
    extras: dict[str, set[str]] = {}
    for need in needs:
        library, _, marker = need.partition("; extra == ")
        extras.setdefault(marker.strip("'\""), set()).add(library)
    assert extras["spark"].isdisjoint(extras["all"])
    bundled = ("ledger", "otel", "parquet", "pdf", "server")
    assert extras["all"] == set().union(*(extras[name] for name in bundled))


def test_a_second_build_has_the_same_bytes(wheel: Path, tmp_path: Path) -> None:
    assert build("wheel", tmp_path).read_bytes() == wheel.read_bytes()


@pytest.mark.parametrize(
    "arguments", [("--version",), ("--help",), ("doctor",), ("help", "checks")], ids=" ".join
)
def test_the_program_in_it_runs(arguments: tuple[str, ...], unpacked: Path, tmp_path: Path) -> None:
    program = (
        "import affidavit, sys\n"
        "from affidavit.cli.main import main\n"
        "assert affidavit.__file__.startswith(sys.argv.pop(1)), affidavit.__file__\n"
        "main()\n"
    )
    path = os.pathsep.join([str(unpacked), os.environ["PYTHONPATH"]])
    # Coverage counts the source, not a copy of it.
    environment = {name: value for name, value in os.environ.items() if "COVERAGE" not in name}
    run = subprocess.run(
        [sys.executable, "-c", program, str(unpacked), *arguments],
        cwd=tmp_path,
        env={**environment, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "affidavit" in run.stdout.lower()
