"""Ledgers kept in a folder."""

import os
from pathlib import Path

import pytest

from affidavit.base.errors import AffidavitError
from affidavit.store.sessions import SessionFolder

FIRST, SECOND = "ses_00000000000000aa", "ses_00000000000000bb"


@pytest.fixture
def kept(tmp_path: Path) -> SessionFolder:
    sessions = SessionFolder(tmp_path / "sessions")
    for age, session in enumerate((FIRST, SECOND)):
        stored = sessions.save(session, session.encode())
        os.utime(stored.path, ns=(age, age))
    return sessions


def test_a_folder_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    assert SessionFolder(tmp_path / "none").all() == ()


def test_the_newest_is_first(kept: SessionFolder) -> None:
    assert [each.id for each in kept.all()] == [SECOND, FIRST]
    assert kept.find("last").id == SECOND


def test_what_is_saved_is_loaded(kept: SessionFolder) -> None:
    assert kept.load(FIRST) == FIRST.encode()
    kept.save(FIRST, b"again")
    assert kept.load(FIRST) == b"again"


def test_the_start_of_an_id_is_enough_if_only_one_begins_so(kept: SessionFolder) -> None:
    assert kept.find("ses_00000000000000a").id == FIRST


REFUSED = {
    "a start that several share": ("ses_0", "session.ambiguous"),
    "an id that nobody has": ("ses_ff", "session.unknown"),
    "a path instead of an id": ("../../etc/passwd", "session.unknown"),
}


@pytest.mark.parametrize(("reference", "name"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(kept: SessionFolder, reference: str, name: str) -> None:
    with pytest.raises(AffidavitError) as caught:
        kept.find(reference)
    assert caught.value.fault.name == name


def test_the_last_of_nothing_is_unknown(tmp_path: Path) -> None:
    with pytest.raises(AffidavitError) as caught:
        SessionFolder(tmp_path).find("last")
    assert caught.value.fault.name == "session.unknown"


def test_an_id_that_is_a_path_is_not_written(kept: SessionFolder, tmp_path: Path) -> None:
    with pytest.raises(AffidavitError):
        kept.save("ses_../../evil", b"")
    assert not list(tmp_path.rglob("*evil*"))


def test_other_files_are_passed_over(kept: SessionFolder, tmp_path: Path) -> None:
    (tmp_path / "sessions" / "ses_notes.json").write_text("{}")
    assert len(kept.all()) == 2


def test_deleted_is_gone(kept: SessionFolder) -> None:
    kept.delete(FIRST)
    assert [each.id for each in kept.all()] == [SECOND]
