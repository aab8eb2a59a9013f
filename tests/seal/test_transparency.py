"""Logs: both proofs for every size against the definitions, notes, witnesses, and refusals."""

from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.seal.attesting import (
    LOG_HOLDER,
    LOG_KEY,
    LOG_TRUST,
    THIRD_KEY,
    logged,
    refusal,
    root_of,
    signed,
    signer,
)
from tests.seal.samples import KEY, NOW, OTHER_KEY

from affidavit.seal.bundle.merkle import EMPTY_ROOT, leaf_of, root_from_path
from affidavit.seal.crypto import public_key_from_pem, spki_from_raw, to_base64
from affidavit.seal.dsse import log_entry
from affidavit.seal.keys import public_key_from_pem as key_from_pem
from affidavit.seal.transparency import (
    COSIGNATURE,
    LOG_SIGNATURE,
    PROOF_HEADER,
    Checkpoint,
    ConsistencyProof,
    LogTrust,
    added_tiles,
    check_proof,
    consistency_from,
    consistency_path,
    cosign_checkpoint,
    entries_bytes,
    entries_from,
    inclusion_path,
    note_from,
    note_key,
    note_key_from,
    proof_from,
    require_consistent,
    require_continues,
    require_entry_size,
    root_of_tiles,
    sign_checkpoint,
    signed_checkpoint_from,
    tile_path,
    tiles_of,
    witnesses_of,
)

LEAVES = [leaf_of(b"%d" % at) for at in range(600)]
WITNESS = note_key("witness.example/w1", COSIGNATURE, OTHER_KEY.public.raw)
NOTE = sign_checkpoint(Checkpoint(LOG_KEY.name, 1, b"\1" * 32), LOG_KEY, signer(LOG_HOLDER))


class Tiles:
    """The tiles of a growing tree, in memory."""

    def __init__(self) -> None:
        self.size = 0
        self.held: dict[tuple[int, int], bytes] = {}

    def append(self, count: int) -> None:
        edges = {
            level: self.held[level, index]
            for level, index, width in tiles_of(self.size)
            if width < 256
        }
        new = LEAVES[self.size : self.size + count]
        for level, index, hashes in added_tiles(self.size, edges, new):
            self.held[level, index] = hashes
        self.size += count

    def read(self, level: int, index: int) -> bytes:
        return self.held[level, index]


def test_every_proof_of_every_size() -> None:
    tiles = Tiles()
    assert root_of_tiles(0, tiles.read) == EMPTY_ROOT
    roots = {0: EMPTY_ROOT}
    for count in (*[1] * 40, 215, 1, 1, 255, 1, 87):
        tiles.append(count)
        size = tiles.size
        roots[size] = root_of(LEAVES[:size])
        assert root_of_tiles(size, tiles.read) == roots[size]
        for at in {0, size - 1, size // 2, size // 3}:
            path = inclusion_path(at, size, tiles.read)
            assert root_from_path(LEAVES[at], at, size, path) == roots[size]
    for new in roots:
        for old in roots:
            if old <= new:
                path = consistency_path(old, new, tiles.read)
                first, last = (Checkpoint("log", each, roots[each]) for each in (old, new))
                require_consistent(first, last, path)


def test_a_log_that_did_not_only_append_is_found() -> None:
    tiles = Tiles()
    tiles.append(23)
    new = Checkpoint("log", 23, root_of(LEAVES[:23]))
    for size in range(1, 23):
        path = consistency_path(size, 23, tiles.read)
        old = Checkpoint("log", size, root_of(LEAVES[:size]))
        forked = Checkpoint("log", size, root_of([leaf_of(b"x"), *LEAVES[1:size]]))
        for first, last, steps in (
            (forked, new, path),
            (old, Checkpoint("log", 23, b"\0" * 32), path),
            (old, new, path[:-1]),
            (old, new, (*path, b"\0" * 32)),
            (old, new, (b"\0" * 32, *path[1:])),
            (new, old, ()),
            (Checkpoint("other", size, old.root), new, path),
        ):
            assert refusal(require_consistent, first, last, steps) == "log.consistency"
    same = Checkpoint("log", 23, b"\0" * 32)
    empty = Checkpoint("log", 0, b"\0" * 32)
    assert refusal(lambda: require_consistent(same, new, ())) == "log.consistency"
    assert refusal(lambda: require_consistent(empty, new, ())) == "log.consistency"
    three = Checkpoint("log", 3, b"\0" * 32)
    assert refusal(lambda: require_consistent(three, new, ())) == "log.consistency"


def test_tiles_have_the_paths_of_the_standard() -> None:
    assert tile_path(0, 1234067) == "tile/0/x001/x234/067"
    assert tile_path("entries", 5, 7) == "tile/entries/005.p/7"
    tiles = list(tiles_of(70_000))
    assert len([each for each in tiles if each[0] == 0]) == 274
    assert tiles[-4:] == [(0, 273, 112), (1, 0, 256), (1, 1, 17), (2, 0, 1)]
    assert list(tiles_of(256)) == [(0, 0, 256), (1, 0, 1)]


def test_entries_are_read_back() -> None:
    entries = [b"", b"a", b"b" * 65_535]
    stored = entries_bytes(entries)
    assert entries_from(stored) == entries
    for cut in (1, 3, len(stored) - 1):
        assert refusal(entries_from, stored[:cut]) == "log.format"
    require_entry_size(entries[2])
    assert refusal(lambda: require_entry_size(b"b" * 65_536)) == "log.format"


def test_a_note_of_another_implementation() -> None:
    """The key id and a signature as golang.org/x/mod/sumdb/note computes them."""
    text = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
    key = note_key_from(text, LOG_SIGNATURE)
    assert key.id.hex() == "c74f20a3"
    assert key.text == text


KEYS = {
    "not three parts": "x",
    "not base64": "log+00000000+*",
    "too short": f"log+00000000+{to_base64(b'1')}",
    "another type": WITNESS.text,
    "a weak key": f"log+00000000+{to_base64(bytes([1, 1]) + bytes(31))}",
    "another id": LOG_KEY.text.replace(LOG_KEY.id.hex(), "00000000"),
    "no name": f"+00000000+{to_base64(bytes([1]) + KEY.public.raw)}",
}


@pytest.mark.parametrize("text", KEYS.values(), ids=KEYS.keys())
def test_what_is_no_key_of_a_log(text: str) -> None:
    assert refusal(lambda: note_key_from(text, LOG_SIGNATURE)) == "log.format"


def test_a_name_has_no_spaces() -> None:
    for name in ("", "a b", "a+b", "a\n"):
        assert refusal(note_key, name, LOG_SIGNATURE, KEY.public.raw) == "log.format"
    assert note_key_from(f" {LOG_KEY.text}\n", LOG_SIGNATURE) == LOG_KEY


NOTES = {
    "no signatures": "log\n1\n",
    "an empty list": "log\n1\n\n",
    "no line feed": NOTE.text.rstrip("\n"),
    "no dash": NOTE.text.replace("\N{EM DASH}", "-"),
    "no base64": f"{NOTE.body}\n\N{EM DASH} log *\n",
    "too short": f"{NOTE.body}\n\N{EM DASH} log {to_base64(b'1234')}\n",
    "no name": f"{NOTE.body}\n\N{EM DASH}  {to_base64(b'12345')}\n",
}


@pytest.mark.parametrize("text", NOTES.values(), ids=NOTES.keys())
def test_what_is_no_note(text: str) -> None:
    assert refusal(lambda: note_from(text)) == "log.format"
    assert refusal(lambda: signed_checkpoint_from(text, [LOG_KEY])) == "log.checkpoint"


CHECKPOINTS = {
    "two lines": "log\n1\n",
    "a root that is none": "log\n1\n*\n",
    "a short root": f"log\n1\n{to_base64(b'x')}\n",
    "a size with zeros": f"log\n01\n{to_base64(bytes(32))}\n",
    "a name that is none": f"a b\n1\n{to_base64(bytes(32))}\n",
    "an empty line": f"log\n1\n{to_base64(bytes(32))}\n\nx\n",
}


@pytest.mark.parametrize("body", CHECKPOINTS.values(), ids=CHECKPOINTS.keys())
def test_what_is_no_checkpoint(body: str) -> None:
    key = note_key("log", LOG_SIGNATURE, LOG_HOLDER.public.raw)
    line = f"\N{EM DASH} log {to_base64(key.id + signer(LOG_HOLDER)(body.encode()))}\n"
    found = refusal(lambda: signed_checkpoint_from(f"{body}\n{line}", [key]))
    assert found == "log.checkpoint"


def test_more_lines_of_a_checkpoint_are_for_others() -> None:
    body = f"{NOTE.body}more\n"
    line = (
        f"\N{EM DASH} {LOG_KEY.name} {to_base64(LOG_KEY.id + signer(LOG_HOLDER)(body.encode()))}\n"
    )
    note, checkpoint = signed_checkpoint_from(f"{body}\n{line}", [LOG_KEY])
    assert checkpoint == Checkpoint(LOG_KEY.name, 1, b"\1" * 32)
    assert note_from(note.text) == note


def test_witnesses_are_counted_once_and_not_from_the_future() -> None:
    cosigned = cosign_checkpoint(NOTE, WITNESS, NOW, signer(OTHER_KEY))
    again = cosign_checkpoint(cosigned, WITNESS, NOW, signer(OTHER_KEY))
    assert len(again.signatures) == 2
    assert witnesses_of(again, [WITNESS, WITNESS], NOW) == (WITNESS.name,)
    assert witnesses_of(again, [WITNESS], NOW - timedelta(days=1)) == ()
    false = cosign_checkpoint(NOTE, WITNESS, NOW, signer(THIRD_KEY))
    assert witnesses_of(false, [WITNESS], NOW) == ()
    assert witnesses_of(NOTE, [WITNESS], NOW) == ()
    # Under two names a key is still one witness.
    second = note_key("witness.example/w2", COSIGNATURE, OTHER_KEY.public.raw)
    both = cosign_checkpoint(cosigned, second, NOW, signer(OTHER_KEY))
    assert witnesses_of(both, [WITNESS, second], NOW) == (WITNESS.name,)


def test_a_proof_with_witnesses() -> None:
    entry = b"entry"
    checkpoint = Checkpoint(LOG_KEY.name, 1, leaf_of(entry))
    note = sign_checkpoint(checkpoint, LOG_KEY, signer(LOG_HOLDER))
    cosigned = cosign_checkpoint(note, WITNESS, NOW, signer(OTHER_KEY))
    text = f"{PROOF_HEADER}\nindex 0\n\n{cosigned.text}"
    trust = LogTrust((LOG_KEY,), (WITNESS,), 1)
    assert check_proof(text, entry, trust, NOW).witnesses == (WITNESS.name,)
    bare = f"{PROOF_HEADER}\nindex 0\n\n{note.text}"
    assert refusal(lambda: check_proof(bare, entry, trust, NOW)) == "log.witnesses"
    assert proof_from(text).text == text


PROOFS = {
    "another header": "c2sp.org/tlog-proof@v2\nindex 0\n\nx",
    "no empty line": f"{PROOF_HEADER}\nindex 0\n",
    "no index": f"{PROOF_HEADER}\n\nx",
    "an index with a sign": f"{PROOF_HEADER}\nindex -1\n\nx",
    "extra data that is none": f"{PROOF_HEADER}\nextra *\nindex 0\n\nx",
    "a node that is none": f"{PROOF_HEADER}\nindex 0\n*\n\nx",
    "a short node": f"{PROOF_HEADER}\nindex 0\n{to_base64(b'x')}\n\nx",
}


@pytest.mark.parametrize("text", PROOFS.values(), ids=PROOFS.keys())
def test_what_is_no_proof(text: str) -> None:
    assert refusal(lambda: check_proof(text, b"", LOG_TRUST, NOW)) == "log.format"


def pem_of(der: bytes) -> bytes:
    return f"-----BEGIN PUBLIC KEY-----\n{to_base64(der)}\n-----END PUBLIC KEY-----\n".encode()


def test_public_keys_in_pem() -> None:
    pem = pem_of(spki_from_raw(KEY.public.raw))
    assert key_from_pem(pem) == KEY.public
    assert refusal(lambda: key_from_pem(b"-----BEGIN PUBLIC KEY-----")) == "key.format"
    x25519 = pem_of(bytes.fromhex("302a300506032b656e032100") + KEY.public.raw)
    assert public_key_from_pem(x25519) == "X25519"
    assert refusal(lambda: key_from_pem(x25519)) == "key.algorithm"
    unknown = pem_of(bytes.fromhex("302a300506032b6501032100") + KEY.public.raw)
    assert refusal(lambda: key_from_pem(unknown)) == "key.algorithm"
    weak = pem_of(spki_from_raw(b"\1" + bytes(31)))
    assert refusal(lambda: key_from_pem(weak)) == "key.weak"


def signed_by_log(checkpoint: Checkpoint) -> str:
    return sign_checkpoint(checkpoint, LOG_KEY, signer(LOG_HOLDER)).text


def test_a_log_continues_what_was_seen_of_it() -> None:
    tiles = Tiles()
    tiles.append(23)
    new = Checkpoint(LOG_KEY.name, 23, root_of(LEAVES[:23]))
    for size in range(24):
        root = root_of(LEAVES[:size]) if size else EMPTY_ROOT
        seen = Checkpoint(LOG_KEY.name, size, root)
        path = consistency_path(size, 23, tiles.read)
        made = ConsistencyProof(size, path, signed_by_log(new))
        assert consistency_from(made.text) == made
        other = ConsistencyProof(size + 1, path, signed_by_log(new)).text
        older = ConsistencyProof(size, path, signed_by_log(Checkpoint(LOG_KEY.name, 22, b"1" * 32)))
        require_continues(seen, new, (other, older.text, made.text), (LOG_KEY,))
        if size < 23:
            for proofs in ((), (other,), (older.text,)):
                found = refusal(require_continues, seen, new, proofs, (LOG_KEY,))
                assert found == "log.unproved"
        if 0 < size < 23:
            forked = Checkpoint(LOG_KEY.name, size, b"\0" * 32)
            proofs = (made.text,)
            assert refusal(require_continues, forked, new, proofs, (LOG_KEY,)) == "log.consistency"
    later = Checkpoint(LOG_KEY.name, 24, b"\0" * 32)
    made = ConsistencyProof(24, (), signed_by_log(new))
    assert refusal(require_continues, later, new, (made.text,), (LOG_KEY,)) == "log.unproved"


NO_CONSISTENCY = {
    "nothing": "",
    "another kind of proof": "c2sp.org/tlog-proof@v1\nindex 1\n\nx",
    "no size": "old \n\nx",
    "a size that is none": "old 01\n\nx",
    "no checkpoint": "old 1\n",
    "a path that is none": "old 1\nxx\n\nx",
}


@pytest.mark.parametrize("text", NO_CONSISTENCY.values(), ids=NO_CONSISTENCY.keys())
def test_what_is_no_proof_that_a_log_continues(text: str) -> None:
    assert refusal(consistency_from, text) == "log.format"


def test_what_was_seen_of_another_log_does_not_count() -> None:
    envelope = logged(signed())
    other = Checkpoint("example.org/other", 4, b"\0" * 32)
    forked = Checkpoint(LOG_KEY.name, 5, b"\0" * 32)
    for seen, wanted in ((other, "accept"), (forked, "log.consistency")):
        trust = replace(LOG_TRUST, seen=(seen,))
        proof = envelope.log_proofs[0]
        assert refusal(check_proof, proof, log_entry(envelope), trust, NOW) == wanted
