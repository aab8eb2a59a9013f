import os
from pathlib import Path

import pytest
from tests.documents.making import write_all

from affidavit.documents.ingest import index_sources
from affidavit.documents.model import DocumentSettings
from affidavit.documents.source_files import list_sources


def test_files_come_in_the_order_of_names_and_nothing_is_left_out_in_silence(
    tmp_path: Path,
) -> None:
    write_all(
        tmp_path,
        {"b.md": b"b", "a/z.txt": b"z", "a/c.txt": b"c", ".git/config": b"x", "a/.hidden": b"x"},
    )
    walk = list_sources([tmp_path])
    assert [file.filename for file in walk.files] == ["a/c.txt", "a/z.txt", "b.md"]
    assert not any(file.named for file in walk.files)
    (hidden,) = walk.findings
    assert (hidden.code, hidden.read) == ("AF214", True)
    assert hidden.message == "2 hidden files and folders were skipped"


def test_named_files_keep_their_short_names(tmp_path: Path) -> None:
    write_all(tmp_path, {"x/a.txt": b"a", "b.txt": b"b"})
    walk = list_sources([tmp_path / "x" / "a.txt", tmp_path / "b.txt"])
    assert [(file.filename, file.named) for file in walk.files] == [
        ("a.txt", True),
        ("b.txt", True),
    ]


def test_files_of_the_same_name_are_named_by_their_paths(tmp_path: Path) -> None:
    write_all(tmp_path, {"x/a.txt": b"1", "y/a.txt": b"2"})
    walk = list_sources([tmp_path / "x", tmp_path / "y"])
    names = [file.filename for file in walk.files]
    assert names == [(tmp_path / "x" / "a.txt").as_posix(), (tmp_path / "y" / "a.txt").as_posix()]


def test_a_file_that_is_named_twice_is_one(tmp_path: Path) -> None:
    write_all(tmp_path, {"a.txt": b"a"})
    assert len(list_sources([tmp_path, tmp_path / "a.txt", tmp_path]).files) == 1


def test_links(tmp_path: Path) -> None:
    write_all(tmp_path, {"in/a.txt": b"a", "in/sub/b.txt": b"b", "out/secret.txt": b"s"})
    inside = tmp_path / "in"
    (inside / "again.txt").symlink_to(inside / "a.txt")
    (inside / "sub2").symlink_to(inside / "sub")
    (inside / "leak.txt").symlink_to(tmp_path / "out" / "secret.txt")
    (inside / "leaks").symlink_to(tmp_path / "out")
    (inside / "loop").symlink_to(inside)
    (inside / "nowhere").symlink_to(inside / "missing")
    walk = list_sources([inside])
    assert [file.filename for file in walk.files] == ["a.txt", "sub/b.txt"]
    assert [(item.file, item.code) for item in walk.findings] == [
        ("leak.txt", "AF213"),
        ("leaks", "AF213"),
        ("nowhere", "AF217"),
    ]


def test_what_is_not_there_and_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    walk = list_sources([tmp_path / "missing", tmp_path / "pipe", tmp_path])
    assert [item.code for item in walk.findings] == ["AF216", "AF217", "AF217"]


def test_a_folder_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_all(tmp_path, {"shut/a.txt": b"a", "b.txt": b"b"})
    listed = Path.iterdir

    def refuse(path: Path) -> object:
        if path.name == "shut":
            raise PermissionError(13, "Permission denied")
        return listed(path)

    monkeypatch.setattr(Path, "iterdir", refuse)
    walk = list_sources([tmp_path])
    assert [file.filename for file in walk.files] == ["b.txt"]
    assert [(item.file, item.code) for item in walk.findings] == [("shut", "AF011")]


def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.txt")).write_bytes(b"Text.")
    found = index_sources([tmp_path], tmp_path / ".kept", DocumentSettings(), jobs=1)
    assert [document.filename for document in found.index.documents] == ["caf\\xe9.txt"]
