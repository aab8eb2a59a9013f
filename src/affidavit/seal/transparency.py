"""Append-only logs: signed notes, checkpoints, cosignatures, proofs, and the tiles of the tree.

Origin: RFC 6962, section 2.1, for the tree and both proofs; C2SP's signed-note, tlog-checkpoint,
tlog-cosignature, tlog-proof and tlog-tiles for the texts and the files. Only Ed25519 is supported.
A checkpoint says what the whole log is. Two that do not fit together prove that it was rewritten.

Not covered: whether the keeper of a log shows the same log to everybody; witnesses are for that.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import reduce
from typing import Final

from msgspec import Struct

from affidavit.base.digest import sha256_hex
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import attestation as faults
from affidavit.base.text import excerpt
from affidavit.base.timestamps import MAX_CLOCK_SKEW
from affidavit.seal import crypto
from affidavit.seal.bundle.merkle import (
    DIGEST_BYTES,
    EMPTY_ROOT,
    joined_parents,
    leaf_of,
    node_of,
    root_from_path,
)
from affidavit.seal.crypto import find_base64, is_valid_signature, to_base64

Sign = Callable[[bytes], bytes]
"""Returns the Ed25519 signature of a message."""

LOG_SIGNATURE: Final = 1
COSIGNATURE: Final = 4
PROOF_HEADER: Final = "c2sp.org/tlog-proof@v1"
CONSISTENCY_START: Final = "old "
_DASH: Final = "\N{EM DASH}"
_KEY_ID_BYTES: Final = 4
_TIME_BYTES: Final = 8
_NAME: Final = re.compile(r"[^\s+\x00-\x20\x7f]{1,255}")
_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,17}")


class NoteKey(Struct, frozen=True):
    """A key that signs notes under a name: of a log, or of a witness that cosigns."""

    name: str
    kind: int
    raw: bytes

    @property
    def id(self) -> bytes:
        """The four bytes that name the key in a signature line."""
        prefix = self.name.encode() + b"\n" + bytes([self.kind])
        return hashlib.sha256(prefix + self.raw).digest()[:_KEY_ID_BYTES]

    @property
    def text(self) -> str:
        """The key as others are given it (a "vkey")."""
        return f"{self.name}+{self.id.hex()}+{to_base64(bytes([self.kind]) + self.raw)}"


def note_key(name: str, kind: int, raw: bytes) -> NoteKey:
    """Return a key; raise if its name cannot stand in a note."""
    if _NAME.fullmatch(name) is None:
        raise _malformed("name of a log", f"{excerpt(name)!r} has spaces, a plus sign or nothing")
    return NoteKey(name, kind, raw)


def note_key_from(text: str, kind: int) -> NoteKey:
    """Return the key of a text; raise if it is weak, or of another kind."""
    name, _, rest = text.strip().partition("+")
    hint, _, encoded = rest.partition("+")
    data = find_base64(encoded)
    what = "key of a log or a witness"
    if data is None or len(data) != 1 + crypto.KEY_BYTES:
        raise _malformed(what, f"{excerpt(text)!r} is not NAME+ID+KEY")
    if data[0] != kind:
        raise _malformed(what, f"it has the type {data[0]}, not {kind}")
    if crypto.is_weak_key(data[1:]):
        raise _malformed(what, "the key is weak")
    key = note_key(name, kind, data[1:])
    if key.id.hex() != hint:
        raise _malformed(what, f"its id is {key.id.hex()}, not {excerpt(hint)!r}")
    return key


class Checkpoint(Struct, frozen=True):
    """What a log says it is: its name, its size, and its root."""

    origin: str
    size: int
    root: bytes

    @property
    def body(self) -> str:
        """The text that is signed."""
        return f"{self.origin}\n{self.size}\n{to_base64(self.root)}\n"


class SignedNote(Struct, frozen=True):
    """A text with signature lines: the name, the id of the key, and the signature of each."""

    body: str
    signatures: tuple[tuple[str, bytes, bytes], ...]

    @property
    def text(self) -> str:
        """The whole note."""
        lines = (f"{_DASH} {name} {to_base64(id + raw)}\n" for name, id, raw in self.signatures)
        return f"{self.body}\n{''.join(lines)}"


def note_from(text: str) -> SignedNote:
    """Return a note. A line that is no signature makes it malformed; unknown signers are kept."""
    body, blank, rest = text.rpartition("\n\n")
    lines = rest.splitlines(keepends=True)
    if not blank or not lines or not all(line.endswith("\n") for line in lines):
        raise _malformed("signed note", "it has no signatures after an empty line")
    found = []
    for line in lines:
        dash, _, signature = line[:-1].partition(" ")
        name, _, encoded = signature.partition(" ")
        raw = find_base64(encoded)
        if dash != _DASH or not _NAME.fullmatch(name) or raw is None or len(raw) <= _KEY_ID_BYTES:
            raise _malformed("signed note", f"{excerpt(line[:-1])!r} is not a signature")
        found.append((name, raw[:_KEY_ID_BYTES], raw[_KEY_ID_BYTES:]))
    return SignedNote(f"{body}\n", tuple(found))


def checkpoint_from(body: str) -> Checkpoint:
    """Return the checkpoint of the text of a note; lines after the third are for others."""
    lines = body.split("\n")
    root = find_base64(lines[2]) if len(lines) > 3 else None
    if root is None or len(root) != DIGEST_BYTES:
        raise _malformed("checkpoint", "it has no root")
    if not _NAME.fullmatch(lines[0]) or not _NUMBER.fullmatch(lines[1]) or "" in lines[3:-1]:
        raise _malformed("checkpoint", "it has no name and size")
    return Checkpoint(lines[0], int(lines[1]), root)


def sign_checkpoint(checkpoint: Checkpoint, key: NoteKey, sign: Sign) -> SignedNote:
    """Return a checkpoint, signed by its log."""
    signature = sign(checkpoint.body.encode())
    return SignedNote(checkpoint.body, ((key.name, key.id, signature),))


def cosign_checkpoint(note: SignedNote, key: NoteKey, at: datetime, sign: Sign) -> SignedNote:
    """Return a checkpoint with the cosignature of a witness; an earlier one of it is replaced."""
    seconds = int(at.timestamp())
    signature = seconds.to_bytes(_TIME_BYTES, "big") + sign(_cosigned(seconds, note.body))
    others = tuple(each for each in note.signatures if each[:2] != (key.name, key.id))
    return SignedNote(note.body, (*others, (key.name, key.id, signature)))


def _cosigned(seconds: int, body: str) -> bytes:
    return f"cosignature/v1\ntime {seconds}\n{body}".encode()


def signed_checkpoint_from(text: str, keys: Iterable[NoteKey]) -> tuple[SignedNote, Checkpoint]:
    """Return a checkpoint that one of these logs signed; raise if none did."""
    try:
        note = note_from(text)
        checkpoint = checkpoint_from(note.body)
    except AffidavitError as error:
        raise _not_believed(error.message) from None
    known = [key for key in keys if key.name == checkpoint.origin]
    if not known:
        raise _not_believed(f"nobody named {excerpt(checkpoint.origin)!r} as a log to trust")
    signed = {(name, id): raw for name, id, raw in note.signatures}
    for key in known:
        raw = signed.get((key.name, key.id))
        if raw is not None and is_valid_signature(key.raw, raw, note.body.encode()):
            return note, checkpoint
    raise _not_believed(f"{excerpt(checkpoint.origin)!r} did not sign it with a trusted key")


def witnesses_of(note: SignedNote, keys: Iterable[NoteKey], at: datetime) -> tuple[str, ...]:
    """Return the witnesses that cosigned a checkpoint, each once; none from the future counts."""
    found: dict[bytes, str] = {}
    latest = int((at + MAX_CLOCK_SKEW).timestamp())
    for key in keys:
        for name, id, raw in note.signatures:
            seconds = int.from_bytes(raw[:_TIME_BYTES], "big")
            if (name, id) != (key.name, key.id) or seconds > latest:
                continue
            if is_valid_signature(key.raw, raw[_TIME_BYTES:], _cosigned(seconds, note.body)):
                found.setdefault(key.raw, key.name)
    return tuple(found.values())


class LogProof(Struct, frozen=True, kw_only=True):
    """A proof that an entry is in a log, with the checkpoint that it leads to.

    `entry` is the extra data of the format. It is compared with the entry that the envelope gives.
    """

    index: int
    path: tuple[bytes, ...]
    checkpoint: str
    entry: bytes | None = None

    @property
    def text(self) -> str:
        """The proof as a file."""
        extra = "" if self.entry is None else f"extra {to_base64(self.entry)}\n"
        path = "".join(f"{to_base64(node)}\n" for node in self.path)
        return f"{PROOF_HEADER}\n{extra}index {self.index}\n{path}\n{self.checkpoint}"


def proof_from(text: str) -> LogProof:
    """Return a proof; raise if it is not in the format."""
    head, blank, checkpoint = text.partition("\n\n")
    header, *lines = head.split("\n")
    what = "proof of a log"
    if header != PROOF_HEADER or not blank:
        raise _malformed(what, f"it does not begin with {PROOF_HEADER}")
    entry = None
    if lines and lines[0].startswith("extra "):
        entry = find_base64(lines.pop(0).removeprefix("extra "))
        if entry is None:
            raise _malformed(what, "its extra data is not base64")
    number = lines.pop(0).removeprefix("index ") if lines else ""
    if not _NUMBER.fullmatch(number):
        raise _malformed(what, "it has no index")
    path = _path_from(lines, what)
    return LogProof(index=int(number), path=path, checkpoint=checkpoint, entry=entry)


class ConsistencyProof(Struct, frozen=True):
    """A proof that a log only appended since it had `old` entries, with its newer checkpoint.

    Origin of the text: C2SP's tlog-witness, the body of `add-checkpoint`.
    """

    old: int
    path: tuple[bytes, ...]
    checkpoint: str

    @property
    def text(self) -> str:
        """The proof as a file."""
        path = "".join(f"{to_base64(node)}\n" for node in self.path)
        return f"{CONSISTENCY_START}{self.old}\n{path}\n{self.checkpoint}"


def consistency_from(text: str) -> ConsistencyProof:
    """Return a proof; raise if it is not in the format."""
    head, blank, checkpoint = text.partition("\n\n")
    first, *lines = head.split("\n")
    what, number = "proof that a log continues", first.removeprefix(CONSISTENCY_START)
    if not blank or number == first or not _NUMBER.fullmatch(number):
        raise _malformed(what, "it does not begin with the older size")
    return ConsistencyProof(int(number), _path_from(lines, what), checkpoint)


def _path_from(lines: Iterable[str], what: str) -> tuple[bytes, ...]:
    path = tuple(map(find_base64, lines))
    nodes = tuple(node for node in path if node is not None and len(node) == DIGEST_BYTES)
    if len(nodes) != len(path):
        raise _malformed(what, "a line of its path is not a digest")
    return nodes


def require_continues(
    seen: Checkpoint, new: Checkpoint, proofs: Iterable[str], keys: Iterable[NoteKey]
) -> None:
    """Raise unless a log continues what was seen of it; `proofs` are those at hand."""
    if seen.size == new.size:
        require_consistent(seen, new, ())
        return
    named = tuple(keys)
    for proof in map(consistency_from, proofs):
        if proof.old == seen.size and seen.size < new.size:
            _, found = signed_checkpoint_from(proof.checkpoint, named)
            if found == new:
                require_consistent(seen, new, proof.path)
                return
    problem = f"there is no proof from there to the {new.size} of its checkpoint"
    raise AffidavitError(faults.LOG_UNPROVED, seen=seen.size, problem=problem)


class LogTrust(Struct, frozen=True):
    """Which logs are trusted, and how many of which witnesses must have seen a checkpoint.

    `seen` are checkpoints that the verifier kept, which a log of the same name has to continue.
    """

    keys: tuple[NoteKey, ...]
    witnesses: tuple[NoteKey, ...] = ()
    witness_threshold: int = 0
    seen: tuple[Checkpoint, ...] = ()


class LoggedEntry(Struct, frozen=True):
    """What a valid proof shows: the entry is at this index of this log, as these witnesses saw."""

    origin: str
    index: int
    size: int
    witnesses: tuple[str, ...]


def is_proof_of(text: str, keys: Iterable[NoteKey]) -> bool:
    """Say whether a proof names one of these logs, or is malformed and so may be of any."""
    origin = text.partition("\n\n")[2].partition("\n")[0]
    return not _NAME.fullmatch(origin) or any(key.name == origin for key in keys)


def check_proof(
    text: str, entry: bytes, trust: LogTrust, at: datetime, continuing: Sequence[str] = ()
) -> LoggedEntry:
    """Return what a proof shows about an entry, or raise the first error.

    `continuing` are proofs that a log continues what was seen of it.
    """
    proof = proof_from(text)
    note, checkpoint = signed_checkpoint_from(proof.checkpoint, trust.keys)
    if proof.entry is not None and proof.entry != entry:
        problem = f"it has the digest {sha256_hex(proof.entry)}, not {sha256_hex(entry)}"
        raise AffidavitError(faults.LOG_BINDING, problem=problem)
    root = root_from_path(leaf_of(entry), proof.index, checkpoint.size, proof.path)
    if root != checkpoint.root:
        problem = f"entry {proof.index} of {checkpoint.size} leads to another root"
        raise AffidavitError(faults.LOG_INCLUSION, problem=problem)
    seen = witnesses_of(note, trust.witnesses, at)
    if len(seen) < trust.witness_threshold:
        wanted = trust.witness_threshold
        raise AffidavitError(faults.LOG_WITNESSES, found=len(seen), wanted=wanted)
    for kept in trust.seen:
        if kept.origin == checkpoint.origin:
            require_continues(kept, checkpoint, continuing, trust.keys)
    return LoggedEntry(checkpoint.origin, proof.index, checkpoint.size, seen)


def require_consistent(old: Checkpoint, new: Checkpoint, path: Sequence[bytes]) -> None:
    """Raise unless the newer log only appended to the older one (RFC 9162, section 2.1.4.2)."""
    shown = f"{old.size} entries are not the first of {new.size}"
    if old.origin != new.origin or old.size > new.size:
        raise AffidavitError(faults.LOG_CONSISTENCY, problem=f"{old.origin}: {shown}")
    if old.size in (0, new.size):
        holds = not path and old.root == (new.root if old.size else EMPTY_ROOT)
    else:
        holds = _roots_from(old.size, new.size, old.root, path) == (old.root, new.root)
    if not holds:
        raise AffidavitError(faults.LOG_CONSISTENCY, problem=f"{old.origin}: {shown}")


def _roots_from(
    old: int, new: int, old_root: bytes, path: Sequence[bytes]
) -> tuple[bytes, bytes] | None:
    """Return the roots that a consistency path gives for both sizes; None if it does not fit."""
    rest = list(path)
    if old & (old - 1) == 0:  # The older tree is a whole subtree of the newer one.
        rest.insert(0, old_root)
    if not rest:
        return None
    first, last = old - 1, new - 1
    while first % 2:
        first, last = first // 2, last // 2
    left = right = rest.pop(0)
    for node in rest:
        if not last:
            return None
        if first % 2 or first == last:
            left, right = node_of(node + left), node_of(node + right)
            while first and not first % 2:
                first, last = first // 2, last // 2
        else:
            right = node_of(right + node)
        first, last = first // 2, last // 2
    return None if last else (left, right)


# The tree as tiles: a tile is up to 256 hashes of one level, and every eighth level has tiles.

TILE_WIDTH: Final = 256
_TILE_HEIGHT: Final = 8

ReadTile = Callable[[int, int], bytes]
"""Returns the hashes of a tile, by its level and its index."""


def tile_path(level: int | str, index: int, width: int = TILE_WIDTH) -> str:
    """Return the path of a tile or of a bundle of entries below the folder of a log."""
    parts = [f"{index % 1000:03}"]
    while index := index // 1000:
        parts.insert(0, f"x{index % 1000:03}")
    partial = "" if width == TILE_WIDTH else f".p/{width}"
    return f"tile/{level}/{'/'.join(parts)}{partial}"


def tiles_of(size: int) -> Iterable[tuple[int, int, int]]:
    """Yield the level, index and width of every tile of a tree."""
    level = 0
    while size:
        for index in range(-(-size // TILE_WIDTH)):
            yield level, index, min(TILE_WIDTH, size - index * TILE_WIDTH)
        size, level = size // TILE_WIDTH, level + 1


def added_tiles(
    size: int, edges: Mapping[int, bytes], leaves: Sequence[bytes]
) -> Iterable[tuple[int, int, bytes]]:
    """Yield the tiles that change when leaves are appended: level, index, and their hashes.

    `edges` has the hashes of the partial tile at the right edge of each level, if there is one.
    """
    level = 0
    while leaves:
        first = size // TILE_WIDTH
        hashes = edges.get(level, b"") + b"".join(leaves)
        whole = TILE_WIDTH * DIGEST_BYTES
        parts = [hashes[at : at + whole] for at in range(0, len(hashes), whole)]
        yield from ((level, first + at, part) for at, part in enumerate(parts))
        leaves = [_root_of(part) for part in parts if len(part) == whole]
        size, level = size // TILE_WIDTH, level + 1


def _root_of(hashes: bytes) -> bytes:
    """Return the root of a power of two of hashes."""
    while len(hashes) > DIGEST_BYTES:
        hashes = b"".join(joined_parents(hashes))
    return hashes


def root_of_tiles(size: int, read: ReadTile) -> bytes:
    """Return the root of the first entries of a log."""
    return _range_root(0, size, read) if size else EMPTY_ROOT


def _range_root(start: int, size: int, read: ReadTile) -> bytes:
    """Return the root over entries; `start` is a multiple of the largest subtree in it."""
    parts = []
    while size:
        height = size.bit_length() - 1
        parts.append(_node(height, start >> height, read))
        start, size = start + (1 << height), size - (1 << height)
    return reduce(lambda right, left: node_of(left + right), reversed(parts))


def _node(height: int, index: int, read: ReadTile) -> bytes:
    level, inner = divmod(height, _TILE_HEIGHT)
    tile, offset = divmod(index << inner, TILE_WIDTH)
    at = offset * DIGEST_BYTES
    return _root_of(read(level, tile)[at : at + (DIGEST_BYTES << inner)])


def inclusion_path(index: int, size: int, read: ReadTile) -> tuple[bytes, ...]:
    """Return the nodes from an entry to the root, lowest first (RFC 6962, section 2.1.1)."""
    path: list[bytes] = []
    start = 0
    while size > 1:
        half = 1 << ((size - 1).bit_length() - 1)
        if index < half:
            path.append(_range_root(start + half, size - half, read))
            size = half
        else:
            path.append(_range_root(start, half, read))
            index, start, size = index - half, start + half, size - half
    return tuple(reversed(path))


def consistency_path(old: int, new: int, read: ReadTile) -> tuple[bytes, ...]:
    """Return the nodes that prove that a log only appended (RFC 6962, section 2.1.2)."""
    path: list[bytes] = []
    start, size, is_whole = 0, new, True
    if old in (0, new):
        return ()
    while old != size:
        half = 1 << ((size - 1).bit_length() - 1)
        if old <= half:
            path.append(_range_root(start + half, size - half, read))
            size = half
        else:
            path.append(_range_root(start, half, read))
            old, start, size, is_whole = old - half, start + half, size - half, False
    if not is_whole:
        path.append(_range_root(start, size, read))
    return tuple(reversed(path))


_MAX_ENTRY_BYTES: Final = 0xFFFF


def entries_bytes(entries: Iterable[bytes]) -> bytes:
    """Return entries as the log stores them, each after its length in two bytes."""
    return b"".join(len(entry).to_bytes(2, "big") + entry for entry in entries)


def entries_from(data: bytes) -> list[bytes]:
    """Return the entries of a stored bundle; raise if it ends within one."""
    found, at = [], 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 2], "big")
        entry = data[at + 2 : at + 2 + size]
        if len(entry) != size or at + 2 > len(data):
            raise _malformed("bundle of log entries", "it ends within an entry")
        found.append(entry)
        at += 2 + size
    return found


def require_entry_size(entry: bytes) -> None:
    """Raise if an entry is too long for a tiled log."""
    if len(entry) > _MAX_ENTRY_BYTES:
        problem = f"it has {len(entry)} bytes, and an entry at most {_MAX_ENTRY_BYTES}"
        raise _malformed("log entry", problem)


def _malformed(what: str, problem: str) -> AffidavitError:
    return AffidavitError(faults.LOG_FORMAT, what=what, problem=problem)


def _not_believed(problem: str) -> AffidavitError:
    return AffidavitError(faults.LOG_CHECKPOINT, problem=problem)
