"""The built-in tool software_version: installed, pinned and latest versions."""

import platform
from importlib import metadata
from pathlib import Path

import pytest
from tests.faulty_server import answers, serving
from tests.tools.feed_server import ASKED_AT, request

from affidavit.base.json_values import JsonValue
from affidavit.tools.allow_list import AllowList, allow_list_from
from affidavit.tools.feed import SourceFailedError
from affidavit.tools.feed_factory import FeedContext, build_feed
from affidavit.tools.observation_time import ObservedAt
from affidavit.tools.settings import IndexSource, InstalledSource, LockSource
from affidavit.tools.software_version import find_latest

NOWHERE = FeedContext(Path(), AllowList(), {})


@pytest.mark.parametrize(
    ("product", "version"),
    [
        ("python", platform.python_version()),
        ("msgspec", metadata.version("msgspec")),
        ("PyYAML", metadata.version("pyyaml")),
    ],
)
def test_installed_versions_are_found(product: str, version: str) -> None:
    reply = build_feed(InstalledSource(), "s", NOWHERE).ask({"product": product}, request())
    row = {"product": product, "version": version, "installed_version": version}
    assert reply.raw == {"results": [row]}
    assert reply.observed_at == ASKED_AT


def test_no_time_is_stated_if_the_setting_is_none() -> None:
    feed = build_feed(InstalledSource(observed_at=ObservedAt.NONE), "s", NOWHERE)
    assert feed.ask({"product": "python"}, request()).observed_at is None


@pytest.mark.parametrize("product", ["no-such-thing-here", "", "../x"])
def test_packages_that_are_not_installed_are_reported(product: str) -> None:
    with pytest.raises(SourceFailedError, match=r"^missing: no package"):
        build_feed(InstalledSource(), "s", NOWHERE).ask({"product": product}, request())


REQUIREMENTS = """
# a comment
click==8.1.7 \\
    --hash=sha256:00
Ruamel.Yaml[x] == 0.18  ; python_version > "3"
loose>=1
star==1.*
twice==1 ; sys_platform == "win32"
twice==2 ; sys_platform != "win32"
"""
TOML = '[[package]]\nname = "click"\nversion = "8.1.7"\n[[package]]\nname = "x"\n'
PYLOCK = '[[packages]]\nname = "click"\nversion = "8.1.7"\n'
NPM = (
    '{"packages": {"": {"version": "1"}, "node_modules/click": {"version": "8.1.7"}, '
    '"node_modules/y/node_modules/click": {"version": "7"}}}'
)
OLD_NPM = '{"dependencies": {"click": {"version": "8.1.7"}, "z": 1}}'

PINNED = {
    "requirements": ("requirements.txt", REQUIREMENTS, "click", "8.1.7"),
    "names have many spellings": ("requirements.txt", REQUIREMENTS, "ruamel_yaml", "0.18"),
    "uv": ("uv.lock", TOML, "Click", "8.1.7"),
    "poetry": ("poetry.lock", TOML, "click", "8.1.7"),
    "PEP 751": ("pylock.toml", PYLOCK, "click", "8.1.7"),
    "npm, the one that the code gets": ("package-lock.json", NPM, "click", "8.1.7"),
    "npm of old": ("package-lock.json", OLD_NPM, "click", "8.1.7"),
}


@pytest.mark.parametrize(("name", "text", "product", "wanted"), PINNED.values(), ids=PINNED)
def test_pinned_versions_are_found(
    name: str, text: str, product: str, wanted: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    around = FeedContext(tmp_path, AllowList(), {})
    reply = build_feed(LockSource(path=name), "s", around).ask({"product": product}, request())
    row = {"product": product, "version": wanted, "locked_version": wanted}
    assert reply.raw == {"results": [row]}
    assert reply.observed_at is not None


UNPINNED = {
    "a range": ("requirements.txt", REQUIREMENTS, "loose", "missing: "),
    "a star": ("requirements.txt", REQUIREMENTS, "star", "missing: "),
    "two versions": ("requirements.txt", REQUIREMENTS, "twice", "malformed: the lock file pins"),
    "no version": ("uv.lock", TOML, "x", "missing: "),
    "only below another": ("package-lock.json", NPM, "y", "missing: "),
    "not TOML": ("uv.lock", "=", "x", "malformed: uv.lock is not TOML"),
    "not JSON": ("package-lock.json", "{", "x", "malformed: package-lock.json"),
    "not UTF-8": ("requirements.txt", "\udcff", "x", "malformed: the lock file is not UTF-8"),
}


@pytest.mark.parametrize(("name", "text", "product", "wanted"), UNPINNED.values(), ids=UNPINNED)
def test_products_without_a_pin_are_reported(
    name: str, text: str, product: str, wanted: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    feed = build_feed(LockSource(path=name), "s", FeedContext(tmp_path, AllowList(), {}))
    with pytest.raises(SourceFailedError) as failure:
        feed.ask({"product": product}, request())
    assert str(failure.value).startswith(wanted)


LATEST: dict[str, tuple[JsonValue, str | None]] = {
    "Python's JSON": ({"info": {"version": "3.13.1"}}, "3.13.1"),
    "npm": ({"dist-tags": {"latest": "5.0.0"}}, "5.0.0"),
    "npm, one version": ({"name": "x", "version": " 5.0.0 "}, "5.0.0"),
    "crates": ({"crate": {"max_stable_version": "1.2.3"}}, "1.2.3"),
    "a list, by number and not by letter": ({"versions": ["1.9", "1.10", "2.0rc1"]}, "1.10"),
    "a list of pre-releases": ({"versions": ["2.0rc1", 5]}, None),
    "something else": ([1], None),
    "no text": ({"version": 5}, None),
}


@pytest.mark.parametrize(("answer", "wanted"), LATEST.values(), ids=LATEST.keys())
def test_the_latest_version_is_found(answer: JsonValue, wanted: str | None) -> None:
    assert find_latest(answer) == wanted


def test_an_index_is_queried_at_the_configured_url() -> None:
    with serving(answers(200, b'{"info": {"version": "2.0"}}'), answers(200, b"{}")) as server:
        around = FeedContext(Path(), allow_list_from((f"127.0.0.1:{server.port}",)), {})
        index = build_feed(IndexSource(url=f"{server.url()}/{{product}}/json"), "s", around)
        row = {"product": "a/b", "version": "2.0", "latest_version": "2.0"}
        assert index.ask({"product": "a/b"}, request()).raw == {"results": [row]}
        assert server.paths == ["/0/a%2Fb/json"]
        other = build_feed(IndexSource(url=f"{server.url(1)}/{{product}}"), "s", around)
        with pytest.raises(SourceFailedError, match=r"^malformed: the index answered"):
            other.ask({"product": "x"}, request())
