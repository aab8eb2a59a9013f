"""The audit log: its chain, its export, and every way in which one can be forged."""

import json
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from affidavit.base.digest import digest_of
from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit
from affidavit.seal.audit import (
    BEGINNING,
    AuditEntry,
    export_text,
    is_audit_log,
    verify_audit_log,
)
from affidavit.seal.keys import (
    KeyRegistry,
    TrustedKeys,
    registry_document,
    signing_key_from,
    trusted_keys_from,
)

AT = datetime(2026, 3, 1, tzinfo=UTC)
KEY = signing_key_from(bytes(range(32)))
STRANGER = signing_key_from(bytes(range(1, 33)))
REGISTRY = KeyRegistry().with_new(KEY.public, AT)
TRUSTED = trusted_keys_from([registry_document(REGISTRY)])


def entries(count: int, said: str = "weak") -> list[bytes]:
    made: list[bytes] = []
    for number in range(1, count + 1):
        entry = AuditEntry(
            number=number,
            at="2026-03-01T00:00:00Z",
            by="user ada",
            action="claim.decide",
            subject="claim 1",
            detail={"to": said, "reason": "see the annex: “1,5 €”"},
            previous=digest_of(made[-1]) if made else BEGINNING,
        )
        made.append(entry.text())
    return made


def exported(lines: list[bytes] | None = None) -> bytes:
    return export_text("default", entries(3) if lines is None else lines, KEY, AT)


def codes(raw: bytes, trusted: TrustedKeys = TRUSTED, *earlier: bytes) -> tuple[Exit, list[str]]:
    found = verify_audit_log(raw, trusted, earlier)
    return found.exit, [f"{step.number} {step.code}" for step in found.steps if step.code]


def test_what_was_exported_is_valid() -> None:
    for count in (0, 1, 3):
        raw = exported(entries(count))
        found = verify_audit_log(raw, TRUSTED)
        assert (found.exit, found.entries, found.workspace) == (Exit.YES, count, "default")
        assert [step.name for step in found.steps] == ["format", "chain", "signature", "key"]
        assert is_audit_log(raw)


def changed(line: int, old: bytes, new: bytes) -> Callable[[list[bytes]], list[bytes]]:
    def change(lines: list[bytes]) -> list[bytes]:
        assert old in lines[line]
        return [*lines[:line], lines[line].replace(old, new), *lines[line + 1 :]]

    return change


def rechained(lines: list[bytes]) -> list[bytes]:
    """Change an entry and digest everything again, which only the signature tells."""
    return [lines[0], *entries(3, "supported"), lines[-1]]


FORGED: dict[str, tuple[Callable[[list[bytes]], list[bytes]], Exit, list[str]]] = {
    "a changed word": (changed(1, b"weak", b"good"), Exit.TAMPERED, ["2 AF553"]),
    "another author": (changed(2, b"user ada", b"user eve"), Exit.TAMPERED, ["2 AF553"]),
    "the last entry changed": (changed(3, b"weak", b"good"), Exit.TAMPERED, ["2 AF553"]),
    "an entry left out": (lambda x: [x[0], x[2], *x[3:]], Exit.TAMPERED, ["2 AF553"]),
    "the last entry cut off": (lambda x: [*x[:3], x[4]], Exit.TAMPERED, ["2 AF553"]),
    "two entries exchanged": (
        lambda x: [x[0], x[2], x[1], *x[3:]],
        Exit.TAMPERED,
        ["2 AF553"],
    ),
    "an entry twice": (lambda x: [*x[:2], *x[1:]], Exit.TAMPERED, ["2 AF553"]),
    "spaces within an entry": (changed(1, b'{"action"', b'{ "action"'), Exit.TAMPERED, ["2 AF553"]),
    "every digest made again": (rechained, Exit.TAMPERED, ["2 AF553"]),
    "another workspace": (changed(0, b"default", b"other"), Exit.TAMPERED, ["3 AF554"]),
    "another time of export": (changed(4, b"2026", b"2027"), Exit.TAMPERED, ["3 AF554"]),
    "another count": (
        changed(4, b'"entries":3', b'"entries":2'),
        Exit.TAMPERED,
        [
            "2 AF553",
            "3 AF554",
        ],
    ),
}


@pytest.mark.parametrize(("change", "exit", "wanted"), FORGED.values(), ids=FORGED.keys())
def test_a_forged_log_is_found(
    change: Callable[[list[bytes]], list[bytes]], exit: Exit, wanted: list[str]
) -> None:
    lines = change(exported().splitlines())
    assert codes(b"".join(line + b"\n" for line in lines)) == (exit, wanted)


def outcome_of(raw: bytes) -> Exit:
    try:
        return verify_audit_log(raw, TRUSTED).exit
    except AffidavitError as error:
        return error.fault.exit


def test_every_changed_byte_is_found() -> None:
    raw = exported(entries(2))
    for at in range(len(raw)):
        changed_byte = raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :]
        assert outcome_of(changed_byte) is not Exit.YES, at


def test_a_new_chain_with_a_new_end_needs_the_key() -> None:
    forged = export_text("default", entries(3, "supported"), STRANGER, AT)
    assert codes(forged) == (Exit.UNKNOWN, ["3 AF555", "4 AF555"])
    named = forged.replace(STRANGER.public.id.encode(), KEY.public.id.encode())
    assert codes(named) == (Exit.TAMPERED, ["3 AF554"])


def test_an_earlier_export_has_to_be_continued() -> None:
    early, late = exported(entries(2)), exported(entries(3))
    assert codes(late, TRUSTED, early) == (Exit.YES, [])
    # The service itself signed another past: only a kept export tells.
    assert codes(exported(entries(3, "supported")), TRUSTED, early) == (Exit.TAMPERED, ["5 AF553"])
    assert codes(early, TRUSTED, late) == (Exit.TAMPERED, ["5 AF553"])
    elsewhere = export_text("other", entries(2), KEY, AT)
    assert codes(late, TRUSTED, elsewhere) == (Exit.TAMPERED, ["5 AF553"])


def test_a_compromised_key_is_not_believed() -> None:
    registry = REGISTRY.with_compromised(KEY.public.id, AT, "stolen", AT)
    trusted = trusted_keys_from([registry_document(registry)])
    assert codes(exported(), trusted) == (Exit.UNKNOWN, ["4 AF555"])


MALFORMED = {
    "nothing": b"",
    "a head only": b'{"schema":"affidavit-audit/v1","workspace":"default"}\n',
    "an unfinished last line": exported()[:-1],
    "another schema": exported().replace(b"audit/v1", b"audit/v2"),
    "an unknown member": exported().replace(b'"detail"', b'"details"'),
    "a member twice": exported().replace(b'{"action"', b'{"by":"x","action"'),
    "no JSON": b"a\nb\nc\n",
}


@pytest.mark.parametrize("raw", MALFORMED.values(), ids=MALFORMED.keys())
def test_what_is_no_audit_log_is_refused(raw: bytes) -> None:
    with pytest.raises(AffidavitError) as refused:
        verify_audit_log(raw, TRUSTED)
    assert refused.value.fault.exit is Exit.INPUT


def test_entries_are_canonical_json() -> None:
    (entry,) = entries(1)
    assert json.loads(entry)["number"] == 1
    assert entry.decode() == json.dumps(
        json.loads(entry), sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
