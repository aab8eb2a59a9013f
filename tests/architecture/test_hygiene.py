"""The repository has no path, address or huge file of the machine it was written on."""

import os
import re
from urllib.parse import urlsplit

import pytest
from tests.repository import ROOT, files_of_the_repository

HOME_PATH = re.compile(r"(?<![\w.~/-])/(?:home|root|Users|work|opt)/[\w.]")
INDEX_HOSTS = ("files.pythonhosted." + "org", "pypi." + "org", "registry.npmjs." + "org")
MAX_BYTES = 5_000_000
# The files that may be larger, and their limits.
WEIGHTS = {
    "src/affidavit/judge/encoders/fast/model.onnx": 35_000_000,
    "src/affidavit_encoder/model.onnx": 95_000_000,
    "src/affidavit_encoder/words.int8": 25_000_000,
}


def texts() -> dict[str, str]:
    """Return the files of the repository that are UTF-8 text."""
    found = {}
    for path in files_of_the_repository():
        try:
            found[str(path.relative_to(ROOT))] = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue
    return found


def configured_hosts() -> set[str]:
    """Return the hosts of the package indexes that this machine uses."""
    addresses = (os.environ.get(name, "") for name in ("PIP_INDEX_URL", "UV_INDEX_URL"))
    return {host for address in addresses if (host := urlsplit(address).hostname)}


PATHS = {
    "a home": ("see /home/ada/notes", True),
    "the same, quoted": ("'/Users/ada'", True),
    "the administrator's home": ("/root/.cache", True),
    "a route of the web service": ("GET /api/v1/home/x", False),
    "a relative path": ("src/home/x", False),
    "a word": ("home/work balance", False),
}


@pytest.mark.parametrize(("text", "wanted"), PATHS.values(), ids=PATHS.keys())
def test_what_counts_as_a_path_of_a_machine(text: str, wanted: bool) -> None:
    assert bool(HOME_PATH.search(text)) is wanted


def test_no_path_of_a_machine() -> None:
    here = ROOT.parent
    found = [
        name
        for name, text in texts().items()
        if not name.endswith("test_hygiene.py")
        and (HOME_PATH.search(text) or (len(here.parts) > 1 and f"{here}/" in text))
    ]
    assert found == []


def test_no_package_index() -> None:
    hosts = {*INDEX_HOSTS, *configured_hosts()}
    found = [f"{name}: {host}" for name, text in texts().items() for host in hosts if host in text]
    assert found == []


def test_no_file_is_huge() -> None:
    sizes = {
        path.relative_to(ROOT).as_posix(): path.stat().st_size for path in files_of_the_repository()
    }
    for name, most in WEIGHTS.items():
        assert sizes.pop(name, 0) <= most
    assert [name for name, size in sizes.items() if size > MAX_BYTES] == []
