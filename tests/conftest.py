"""Rules for every test: no network, golden files, repeatable property tests.

See also `[tool.pytest.ini_options]` in pyproject.toml: there warnings become errors.
"""

import os
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings
from tests.golden_files import Golden

# Child processes import the guard by the same name, so that no process is guarded twice.
OFFLINE = str(Path(__file__).parent / "offline")
sys.path.insert(0, OFFLINE)
import loopback_only  # noqa: E402 - found on the path that the line above extends

# A deadline would measure the machine, not the code. In CI the examples are the same in every run,
# so that a red build is caused by the change; elsewhere they differ, so that new ones are found.
settings.register_profile("home", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "home")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="rewrite the golden files (see `make golden`)"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "leaves_the_machine: the network guard must fire")
    if config.getoption("--update-golden") and os.environ.get("CI"):
        raise pytest.UsageError("--update-golden is refused in CI: golden files are read by people")
    guard_children()


def guard_children() -> None:
    """Make every Python process that a test starts load the network guard first."""
    others = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if OFFLINE not in others:
        os.environ["PYTHONPATH"] = os.pathsep.join([OFFLINE, *filter(None, others)])


def stays_on_the_machine(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a test that tried to leave the machine, even if its code caught the error."""
    before = len(loopback_only.REFUSED)
    result = yield
    refused = loopback_only.REFUSED[before:]
    if refused and item.get_closest_marker("leaves_the_machine") is None:
        pytest.fail(f"the test tried to leave this machine: {', '.join(refused)}")
    return result


pytest_runtest_setup = pytest.hookimpl(wrapper=True)(stays_on_the_machine)
pytest_runtest_call = pytest.hookimpl(wrapper=True)(stays_on_the_machine)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Return the golden files of the test's folder."""
    folder = Path(__file__).parent / "golden" / request.path.parent.name
    return Golden(folder, request.config.getoption("--update-golden"))
