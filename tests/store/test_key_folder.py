"""Keys kept in a folder: none overwritten, none readable by others, none lost by a crash."""

import json
import stat
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path

import pytest

from affidavit.base.errors import AffidavitError
from affidavit.base.json_values import JsonValue
from affidavit.seal.keys import KeyRegistry, SigningKey, encrypted_pem, plain_pem, signing_key_from
from affidavit.store import signing_keys as module
from affidavit.store.signing_keys import SigningKeyFolder

AT = datetime(2026, 1, 2, tzinfo=UTC)
FIRST, SECOND = (signing_key_from(bytes([number] * 32)) for number in (1, 2))


def keep(folder: SigningKeyFolder, key: SigningKey, pem: bytes | None = None) -> Path:
    pem = pem or plain_pem(key.seed)
    return folder.add(key.public, pem, lambda registry: registry.with_new(key.public, AT))


@pytest.fixture
def folder(tmp_path: Path) -> SigningKeyFolder:
    return SigningKeyFolder(tmp_path / "deep" / "keys")


def fault_of(error: pytest.ExceptionInfo[AffidavitError]) -> str:
    return error.value.fault.name


def test_before_the_first_key_there_is_nothing(folder: SigningKeyFolder, tmp_path: Path) -> None:
    assert folder.registry() == KeyRegistry()
    assert folder.unregistered() == ()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(AffidavitError, match="keys new"):
        folder.signing_key(None)


def test_a_key_is_the_owners_alone(folder: SigningKeyFolder) -> None:
    path = keep(folder, FIRST)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert folder.private_state(FIRST.public.id) == "mode 0600"
    assert folder.signing_key(None) == FIRST
    assert (path.parent / ".gitignore").read_text() == "*.pem\n.lock\n"


def test_the_newest_signs_unless_another_is_named(folder: SigningKeyFolder) -> None:
    keep(folder, FIRST)
    keep(folder, SECOND)
    assert folder.signing_key(None) == SECOND
    assert folder.signing_key(None, FIRST.public.id) == FIRST


def test_a_retired_key_signs_no_more(folder: SigningKeyFolder) -> None:
    keep(folder, FIRST)
    folder.change(lambda registry: registry.with_retired(FIRST.public.id, AT, AT))
    with pytest.raises(AffidavitError, match="signs no more"):
        folder.signing_key(None, FIRST.public.id)
    with pytest.raises(AffidavitError, match="no key to sign with"):
        folder.signing_key(None)


def test_nothing_is_overwritten(folder: SigningKeyFolder) -> None:
    path = keep(folder, FIRST)
    with pytest.raises(AffidavitError, match="already"):
        keep(folder, FIRST)
    # Also where the registry was lost, and where only a broken link stands there.
    folder.registry_path.unlink()
    with pytest.raises(AffidavitError, match="already"):
        keep(folder, FIRST)
    path.unlink()
    path.symlink_to(path.parent / "nowhere")
    with pytest.raises(AffidavitError, match="already"):
        keep(folder, FIRST)


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o610])
def test_a_key_that_others_can_read_is_refused(folder: SigningKeyFolder, mode: int) -> None:
    path = keep(folder, FIRST)
    path.chmod(mode)
    with pytest.raises(AffidavitError) as caught:
        folder.signing_key(None)
    assert fault_of(caught) == "key.permissions"
    assert caught.value.where.file == str(path)
    assert "refused" in folder.private_state(FIRST.public.id)


def test_an_encrypted_key_may_be_seen(folder: SigningKeyFolder) -> None:
    pem = encrypted_pem(FIRST.seed, "long enough", salt=bytes(16), iv=bytes(16))
    keep(folder, FIRST, pem).chmod(0o644)
    assert folder.private_state(FIRST.public.id) == "encrypted"
    assert folder.signing_key("long enough") == FIRST
    for wrong in (None, "something else"):
        with pytest.raises(AffidavitError) as caught:
            folder.signing_key(wrong)
        assert fault_of(caught) == "key.passphrase"
        assert "something" not in str(caught.value)


def test_a_key_with_another_id_is_refused(folder: SigningKeyFolder) -> None:
    path = keep(folder, FIRST)
    path.write_bytes(plain_pem(SECOND.seed))
    with pytest.raises(AffidavitError) as caught:
        folder.signing_key(None)
    assert fault_of(caught) == "key.id_mismatch"
    assert SECOND.seed.hex() not in str(caught.value)


def test_a_private_part_that_is_gone(folder: SigningKeyFolder) -> None:
    keep(folder, FIRST).unlink()
    assert folder.private_state(FIRST.public.id) == "not here"
    with pytest.raises(AffidavitError, match="is not here"):
        folder.signing_key(None)


def test_a_crash_before_the_registry_loses_no_key(
    folder: SigningKeyFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(SigningKeyFolder, "_write", crash)
    with pytest.raises(KeyboardInterrupt):
        keep(folder, FIRST)
    monkeypatch.undo()
    assert folder.registry() == KeyRegistry()
    assert folder.unregistered() == (FIRST.public.id,)


DAMAGED: dict[str, tuple[bytes, str]] = {
    "cut short": (b'{"schema":', "json.syntax"),
    "not a registry": (b"{}", "key.format"),
    "too large": (b" " * 2048, "limit.file_bytes"),
}


@pytest.mark.parametrize(("raw", "name"), DAMAGED.values(), ids=DAMAGED.keys())
def test_the_error_of_a_damaged_registry_names_the_file(
    folder: SigningKeyFolder, raw: bytes, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(folder, FIRST)
    folder.registry_path.write_bytes(raw)
    monkeypatch.setattr(module, "MAX_REGISTRY_BYTES", 1024)
    with pytest.raises(AffidavitError) as caught:
        folder.change(lambda registry: registry)
    assert fault_of(caught) == name
    assert caught.value.where.file == str(folder.registry_path)
    assert folder.registry_path.read_bytes() == raw


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(AffidavitError) as caught:
        keep(SigningKeyFolder(tmp_path / "file" / "keys"), FIRST)
    assert fault_of(caught) == "file.unwritable"


def make_keys(place: Path, first: int) -> None:
    for number in range(first, first + 8):
        keep(SigningKeyFolder(place), signing_key_from(bytes([number] * 32)))


def test_keys_made_at_the_same_time_are_all_kept(tmp_path: Path) -> None:
    context = get_context("spawn")
    makers = [context.Process(target=make_keys, args=(tmp_path, first)) for first in (1, 101)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join(60)
    registry = SigningKeyFolder(tmp_path).registry()
    assert len(registry.records) == registry.revision == 16


def test_the_registry_holds_no_secret(folder: SigningKeyFolder) -> None:
    keep(folder, FIRST)
    text = folder.registry_path.read_text()
    document: JsonValue = json.loads(text)
    assert isinstance(document, dict)
    assert document["active_key_id"] == FIRST.public.id
    private = folder.private_path(FIRST.public.id).read_text().splitlines()[1]
    assert private not in text
