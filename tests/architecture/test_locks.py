"""Lock files pin every dependency exactly, with hashes and without an index address."""

import re
import tomllib
from collections.abc import Iterator

import pytest
from tests.repository import ROOT

LOCKS = (
    *("core.txt", "all.txt", "dev.txt", "fuzz.txt", "chat.txt", "mcp.txt", "schemathesis.txt"),
    *("importers.txt", "importers-more.txt", "importers-no-deps.txt"),
)
PIN = re.compile(r"^(?P<name>[a-z0-9]+(?:-[a-z0-9]+)*)==(?P<version>[^\s;]+)(?: ; [^\\]+)?$")
HASH = re.compile(r"^--hash=sha256:[0-9a-f]{64}$")
ADDRESS = re.compile(r"://|--index-url|--extra-index-url|--find-links|--trusted-host| @ ")


def faults(lock: str) -> Iterator[str]:
    """Yield the faults of a lock file."""
    if address := ADDRESS.search(lock):
        yield f"names an address: {address[0].strip()}"
    for requirement in lock.replace("\\\n", " ").splitlines():
        head, *hashes = re.split(r"\s+(?=--hash)", requirement.strip())
        if not head or head.startswith("#"):
            continue
        if not PIN.match(head.strip()):
            yield f"not an exact pin: {head}"
        if not hashes or not all(HASH.match(entry.strip()) for entry in hashes):
            yield f"not hashed: {head}"


def pins(name: str) -> set[str]:
    """Return the names and versions that a lock file pins."""
    lock = (ROOT / "requirements" / name).read_text("utf-8")
    return {match[0] for match in re.finditer(r"^[a-z0-9-]+==[^\s;\\]+", lock, re.MULTILINE)}


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_is_exact_and_hashed(name: str) -> None:
    assert list(faults((ROOT / "requirements" / name).read_text("utf-8"))) == []


def test_the_smaller_locks_are_parts_of_the_larger() -> None:
    assert pins("core.txt") <= pins("all.txt") <= pins("dev.txt")
    assert pins("core.txt") <= pins("mcp.txt")


def test_every_direct_dependency_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    asked = {re.split(r"[\[<>=!~ ;]", entry)[0].lower() for entry in project["dependencies"]}
    assert asked <= {pin.partition("==")[0] for pin in pins("core.txt")}


DIGEST = "a" * 64
BAD_LOCKS = {
    "no hash": "click==8.2.0\n",
    "a range": f"click>=8.2 \\\n    --hash=sha256:{DIGEST}\n",
    "a weak hash": "click==8.2.0 \\\n    --hash=md5:0123456789abcdef0123456789abcdef\n",
    "a cut hash": f"click==8.2.0 \\\n    --hash=sha256:{DIGEST[:-1]}\n",
    "an index": f"--index-url https://x/simple\nclick==8.2.0 \\\n    --hash=sha256:{DIGEST}\n",
    "a direct address": f"click @ https://x/c.whl \\\n    --hash=sha256:{DIGEST}\n",
}


@pytest.mark.parametrize("lock", BAD_LOCKS.values(), ids=BAD_LOCKS.keys())
def test_a_bad_lock_is_refused(lock: str) -> None:
    assert list(faults(lock)) != []


def test_a_good_lock_passes() -> None:
    marked = f"click==8.2.0 ; sys_platform == 'win32' \\\n    --hash=sha256:{DIGEST}\n"
    assert list(faults(marked)) == []
