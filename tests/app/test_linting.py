"""Bundles from files: linted in one pass or refused with a code; and how packs are found."""

import os
from pathlib import Path
from typing import Any

import pytest
from tests.packs.test_builtin_packs import GOOD
from tests.seal.bundle_making import AT, sealed

from affidavit.app.lint import (
    exit_for,
    lint_bundle,
    lint_bundles,
    lint_report,
)
from affidavit.app.pack_files import (
    built_in_pack,
    create_pack,
    load_pack,
    load_packs,
    pack_folder,
    packs_in,
)
from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit
from affidavit.base.files import digest_file
from affidavit.packs.lint import BundleLint
from affidavit.packs.model import Severity
from affidavit.seal.bundle.container import DEFAULT_LIMITS, BundleLimits
from affidavit.seal.bundle.writer import EventDraft
from affidavit.seal.verification import UnreadableInput

STARTER = (built_in_pack("cicd-starter"),)


def drafts_of(events: list[dict[str, Any]]) -> list[EventDraft]:
    return [
        EventDraft(each["type"], AT, each["data"], personal_data=each["assaypii"])
        for each in events
    ]


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    path = tmp_path / "run.tar.gz"
    path.write_bytes(sealed(drafts_of(GOOD)))
    return path


def test_a_bundle_is_linted_with_its_digest(bundle: Path) -> None:
    done = lint_bundle(bundle, STARTER, DEFAULT_LIMITS, 500)
    assert done.digest == digest_file(bundle)
    assert done.result.events == len(GOOD)
    assert done.result.findings == ()
    assert done.run_id == "run-1"


def test_lines_keep_their_numbers_in_large_bundles(tmp_path: Path) -> None:
    drafts = [EventDraft("note", AT, {"n": at, "text": "x" * 200}) for at in range(1500)]
    drafts[1233] = EventDraft("note", AT, {"mail": "ada@mail.org"}, personal_data=True)
    path = tmp_path / "large.tar.gz"
    path.write_bytes(sealed(drafts))
    result = lint_bundle(path, STARTER, DEFAULT_LIMITS, 500).result
    assert result.events == 1500
    places = [each.location for each in result.findings if each.rule_id == "AFFIDAVIT-P001"]
    assert [place and place.line for place in places] == [1234]


def test_a_tampered_bundle_is_not_linted(bundle: Path) -> None:
    raw = bytearray(bundle.read_bytes())
    raw[-20] ^= 1
    bundle.write_bytes(raw)
    (outcome,) = lint_bundles([bundle], STARTER, DEFAULT_LIMITS, 500)
    assert isinstance(outcome, UnreadableInput)
    assert str(bundle) in str(outcome.error)
    assert exit_for([outcome], Severity.ERROR) in (Exit.INPUT, Exit.TAMPERED)


def test_the_limits_hold(bundle: Path) -> None:
    with pytest.raises(AffidavitError) as caught:
        lint_bundle(bundle, STARTER, BundleLimits(max_events=2), 500)
    assert caught.value.fault.exit is Exit.INPUT


def test_the_worst_outcome_decides(bundle: Path, tmp_path: Path) -> None:
    (linted,) = lint_bundles([bundle], STARTER, DEFAULT_LIMITS, 500)
    (missing,) = lint_bundles([tmp_path / "no.tar.gz"], STARTER, DEFAULT_LIMITS, 500)
    assert isinstance(linted, BundleLint)
    assert exit_for([linted], Severity.INFO) is Exit.YES
    assert exit_for([linted, missing], Severity.INFO) is Exit.INPUT
    assert exit_for([], Severity.INFO) is Exit.UNKNOWN


THRESHOLDS = {
    "an info fails at info": (Severity.INFO, Exit.NO),
    "an info does not fail at warning": (Severity.WARNING, Exit.YES),
    "nothing fails at none": (None, Exit.YES),
}


@pytest.mark.parametrize(("fail_on", "wanted"), THRESHOLDS.values(), ids=THRESHOLDS.keys())
def test_the_severity_threshold(fail_on: Severity | None, wanted: Exit, tmp_path: Path) -> None:
    path = tmp_path / "b.tar.gz"
    kept = [each for each in GOOD if each["type"] not in ("affidavit.ledger", "affidavit.verdict")]
    path.write_bytes(sealed(drafts_of(kept)))
    outcomes = list(lint_bundles([path], STARTER, DEFAULT_LIMITS, 500))
    assert exit_for(outcomes, fail_on) is wanted


def test_a_report_is_the_same_every_time(bundle: Path) -> None:
    reports = [
        lint_report(list(lint_bundles([bundle], STARTER, DEFAULT_LIMITS, 500)), STARTER, None, 500)
        for _ in range(2)
    ]
    assert reports[0] == reports[1]
    assert reports[0].fail_on == "none"


PACK = (
    "name: mine\nversion: '1'\nkind: quality\ndescription: d\nauthor: a\nlicense: l\nrules:\n"
    + ("- {id: A, severity: info, description: d, check: {type: event_count, min: 1}}\n")
)


def test_a_pack_is_a_path_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.yaml").write_text(PACK)
    assert load_pack(str(tmp_path / "mine.yaml"), None).name == "mine"
    folder = tmp_path / "cicd-starter"
    folder.mkdir()
    (folder / "pack.yaml").write_text(PACK)
    monkeypatch.chdir(tmp_path)
    assert load_pack("cicd-starter", None).name == "mine"


def test_a_pack_is_found_by_built_in_name_or_in_the_config_folder(tmp_path: Path) -> None:
    (tmp_path / "cicd-starter.yaml").write_text(PACK)
    (tmp_path / "mine.yaml").write_text(PACK)
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "pack.yaml").write_text(PACK)
    (tmp_path / "notes.txt").write_text("")
    assert load_pack("cicd-starter", tmp_path).name == "cicd-starter"
    assert load_pack("mine", tmp_path).source == str(tmp_path / "mine.yaml")
    assert load_pack("deep", tmp_path).name == "mine"
    assert packs_in(tmp_path) == ("cicd-starter", "deep", "mine")
    assert packs_in(tmp_path / "nowhere") == packs_in(None) == ()


def test_a_pack_outside_of_the_config_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real.yaml").write_text(PACK)
    config = tmp_path / "config"
    config.mkdir()
    (config / "sly.yaml").symlink_to(tmp_path / "real.yaml")
    with pytest.raises(AffidavitError) as caught:
        load_pack("sly", config)
    assert caught.value.fault.code == "AF659"


NOT_FOUND = {
    "a name that is nearly right": ("cicd-startr", "AF657", "did you mean cicd-starter?"),
    "a name with a null character": ("a\0b", "AF657", "known ones are"),
    "a path that is not there": ("no/such.yaml", "AF010", "no/such.yaml"),
    "a folder without a pack": (".", "AF658", "pack.yaml"),
}


@pytest.mark.parametrize(("name", "code", "words"), NOT_FOUND.values(), ids=NOT_FOUND.keys())
def test_a_pack_that_is_not_found(
    name: str, code: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AffidavitError) as caught:
        load_pack(name, tmp_path)
    assert caught.value.fault.code == code
    assert words in str(caught.value)


def test_packs_that_collide_are_not_run(tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(PACK)
    with pytest.raises(AffidavitError, match=r"a\.yaml and .*b\.yaml"):
        load_packs([str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml")], None)


def test_the_starter_pack_is_valid(tmp_path: Path) -> None:
    path = tmp_path / "ours.yaml"
    pack = create_pack("ours", path)
    assert (pack.remarks, load_pack(str(path), None)) == ((), pack)
    with pytest.raises(AffidavitError) as caught:
        create_pack("ours", path)
    assert caught.value.fault.code == "AF660"
    with pytest.raises(AffidavitError) as caught:
        create_pack("Not a name", tmp_path / "x.yaml")
    assert caught.value.fault.code == "AF650"
    assert not (tmp_path / "x.yaml").exists()


FOLDERS = {
    "the config folder": ({"XDG_CONFIG_HOME": "/c", "HOME": "/h"}, "/c/affidavit/packs"),
    "the home": ({"HOME": "/h"}, "/h/.config/affidavit/packs"),
    "a relative one is ignored": (
        {"XDG_CONFIG_HOME": "c", "HOME": "/h"},
        "/h/.config/affidavit/packs",
    ),
    "neither": ({}, None),
}


@pytest.mark.parametrize(("environment", "wanted"), FOLDERS.values(), ids=FOLDERS.keys())
def test_the_pack_folder_of_the_user(environment: dict[str, str], wanted: str | None) -> None:
    found = pack_folder(environment)
    assert (None if found is None else os.fspath(found)) == wanted
