"""Files as sources: rows and keys by argument, strict formats, folders."""

import os
from pathlib import Path
from typing import Any

import pytest
from tests.tools.feed_server import SOURCE, request

from affidavit.base.json_values import JsonValue
from affidavit.checks.facts import SourceAnswer
from affidavit.tools.allow_list import AllowList
from affidavit.tools.feed import Feed, SourceFailedError
from affidavit.tools.feed_factory import FeedContext, build_feed
from affidavit.tools.file_feed import MAX_CACHED_FILES, FolderFeed
from affidavit.tools.observation_time import ObservationTime, ObservedAt
from affidavit.tools.settings import FileSource

CSV = 'country,days,note\nde,20,"a, b"\nfr,25,\n\n'
JSON = '{"de": {"days": 20}, "rows": [{"country": "de", "n": 1}, {"country": "fr", "n": null}]}'
YAML = "de: {days: 20}\nno: 3\n"


def made(folder: Path, name: str, text: str | bytes, **settings: Any) -> Feed:
    raw = text if isinstance(text, bytes) else text.encode()
    (folder / name).write_bytes(raw)
    os.utime(folder / name, (1_769_860_000, 1_769_860_000))
    wire = FileSource(path=name, **settings)
    return build_feed(wire, "s", FeedContext(folder, AllowList(), {}))


def said(feed: Feed, **args: JsonValue) -> SourceAnswer:
    return feed.ask(args, request())


SELECTED = {
    "a whole file": ("a.json", "[1]", {}, [1]),
    "a key by argument": ("a.json", JSON, {"select": ("{c}", "days")}, 20),
    "an element by number": ("a.json", JSON, {"select": ("rows", 1, "country")}, "fr"),
    "YAML, where no is a text": ("a.yaml", YAML, {"select": ("no",)}, 3),
    "rows of JSON": (
        "a.json",
        JSON,
        {"select": ("rows",), "where": {"country": "{c}"}},
        {"results": [{"country": "de", "n": 1}]},
    ),
    "rows of CSV are texts": (
        "a.csv",
        CSV,
        {"where": {"country": "{c}"}},
        {"results": [{"country": "de", "days": "20", "note": "a, b"}]},
    ),
    "a number finds its text": (
        "a.csv",
        CSV,
        {"where": {"days": 25}},
        {"results": [{"country": "fr", "days": "25", "note": ""}]},
    ),
    "no row is an answer too": ("a.csv", CSV, {"where": {"country": "xx"}}, {"results": []}),
    "CSV of Excel": ("a.csv", b"\xef\xbb\xbfa\r\n1\r\n", {}, {"results": [{"a": "1"}]}),
    "a format that the name does not tell": ("a.txt", "{}", {"format": "json"}, {}),
}


@pytest.mark.parametrize(("name", "text", "settings", "wanted"), SELECTED.values(), ids=SELECTED)
def test_arguments_select_values(
    name: str, text: str, settings: dict[str, object], wanted: JsonValue, tmp_path: Path
) -> None:
    reply = said(made(tmp_path, name, text, **settings), c="de")
    assert reply.raw == wanted
    assert reply.observed_at == "2026-01-31T11:46:40Z"


SILENT = {
    "a key that is not there": ("a.json", JSON, {"select": ("{c}", "x")}, "missing: the file has"),
    "a step into a text": ("a.json", '"x"', {"select": ("x",)}, "missing: a text of the file"),
    "rows that are none": ("a.json", "{}", {"where": {"a": 1}}, "malformed: the file has an obj"),
    "a column that is not there": ("a.csv", CSV, {"where": {"x": 1}}, "malformed: row 1 has no"),
    "NaN": ("a.json", "[NaN]", {}, "malformed: a.json: the number"),
    "two equal keys": ("a.json", '{"a":1,"a":2}', {}, "malformed: a.json: duplicate key 'a'"),
    "YAML with an alias": (
        "a.yml",
        "a: &x 1\nb: *x",
        {},
        "malformed: a.yml: this is not valid YAML",
    ),
    "a row that is too short": ("a.csv", "a,b\n1\n", {}, "malformed: line 2 has 1 cells"),
    "a header with two equal names": ("a.csv", "a,a\n1,2\n", {}, "malformed: the first line"),
    "a CSV file of nothing": ("a.csv", "", {}, "malformed: the first line"),
    "CSV that is not UTF-8": ("a.csv", b"a\n\xff\n", {}, "malformed: the CSV file is not UTF-8"),
    "CSV with an open quote": ("a.csv", 'a\n"x\n', {}, "malformed: line"),
    "a file that is too large": ("a.json", "[1, 2]", {"max_bytes": 5}, "too-large: a.json"),
    "a result that is too large": (
        "a.csv",
        "x" * 50 + "\n1\n2\n",
        {"max_bytes": 99},
        "too-large: the result has ",
    ),
}


@pytest.mark.parametrize(("name", "text", "settings", "wanted"), SILENT.values(), ids=SILENT)
def test_missing_values_of_a_file_are_reported(
    name: str, text: str, settings: dict[str, object], wanted: str, tmp_path: Path
) -> None:
    with pytest.raises(SourceFailedError) as failure:
        said(made(tmp_path, name, text, **settings), c="de")
    assert str(failure.value).startswith(wanted)


def test_a_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    feed = made(tmp_path, "a.json", "1")
    assert said(feed).raw == 1
    (tmp_path / "a.json").write_text("2", "utf-8")
    assert said(feed).raw == 2
    (tmp_path / "a.json").unlink()
    with pytest.raises(SourceFailedError, match=r"^missing: there is no file a.json"):
        said(feed)


def test_an_unchanged_file_is_decoded_once(tmp_path: Path) -> None:
    feed = made(tmp_path, "a.json", "[1]")
    assert said(feed).raw is said(feed).raw
    os.utime(tmp_path / "a.json", (1_900_000_000, 1_900_000_000))  # after the time of asking
    assert said(feed).raw is not said(feed).raw


def test_a_folder_is_not_read_as_a_file(tmp_path: Path) -> None:
    feed = made(tmp_path, "a.json", "1")
    (tmp_path / "a.json").unlink()
    (tmp_path / "a.json").mkdir()
    with pytest.raises(SourceFailedError, match=r"^missing: a.json: this is a folder, not a file"):
        said(feed)


def folder(root: Path) -> FolderFeed:
    (root / "in").mkdir()
    (root / "in" / "a.json").write_text(JSON, "utf-8")
    (root / "in" / "b.csv").write_text(CSV, "utf-8")
    (root / "in" / "c.txt").write_text("x", "utf-8")
    (root / "out.json").write_text("1", "utf-8")
    (root / "in" / "link.json").symlink_to(root / "out.json")
    return FolderFeed(SOURCE, root / "in", ObservationTime(ObservedAt.NONE), 1_000)


def test_a_file_in_a_folder_is_read(tmp_path: Path) -> None:
    feed = folder(tmp_path)
    assert said(feed, file="a.json", key="de.days").raw == 20
    assert said(feed, file="b.csv", key="results.1.country").raw == "fr"


OUTSIDE = {
    "above it": ("../out.json", "forbidden: "),
    "by its whole name": ("/etc/hosts.json", "forbidden: "),
    "by a link": ("link.json", "forbidden: "),
    "a name that is none": ("a\0.json", "argument: "),
    "another kind of file": ("c.txt", "argument: "),
    "not there": ("d.json", "missing: "),
}


@pytest.mark.parametrize(("name", "wanted"), OUTSIDE.values(), ids=OUTSIDE.keys())
def test_a_folder_source_reads_only_inside_its_folder(
    name: str, wanted: str, tmp_path: Path
) -> None:
    with pytest.raises(SourceFailedError) as failure:
        said(folder(tmp_path), file=name)
    assert str(failure.value).startswith(wanted)


def test_a_missing_key_lists_the_existing_keys(tmp_path: Path) -> None:
    with pytest.raises(
        SourceFailedError, match=r'missing: the result has no key "x", but the keys'
    ):
        said(folder(tmp_path), file="a.json", key="x")


def test_an_argument_names_a_file_and_never_another_folder(tmp_path: Path) -> None:
    (tmp_path / "prices").mkdir()
    (tmp_path / "secret.json").write_text("1")
    for name in ("de", "fr"):
        (tmp_path / "prices" / f"{name}.json").write_text(f'{{"of": "{name}"}}')
    settings = FileSource(path="prices/{country}.json")
    feed = build_feed(settings, "s", FeedContext(tmp_path, AllowList(), {}))
    for name in ("de", "fr", "de"):
        assert said(feed, country=name).raw == {"of": name}
    for name in ("../secret", "..", "a/b", "a\\b", "", ".de", "c:de", "a\0"):
        with pytest.raises(SourceFailedError, match=r"^forbidden: .* is not one name"):
            said(feed, country=name)
    with pytest.raises(SourceFailedError, match=r"^missing: there is no file prices/it\.json"):
        said(feed, country="it")
    for number in range(MAX_CACHED_FILES):
        with pytest.raises(SourceFailedError, match=r"^missing"):
            said(feed, country=f"x{number}")
    assert said(feed, country="de").raw == {"of": "de"}


def test_a_large_integer_is_named_with_its_path(tmp_path: Path) -> None:
    feed = made(tmp_path, "a.json", '{"rows": [{"id": 1},\n {"id": 9007199254740993}]}')
    with pytest.raises(SourceFailedError, match=r"9007199254740993 .* at rows\[1\]\.id \(line 2\)"):
        said(feed)
