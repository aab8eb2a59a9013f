"""Keep a log of attestations, prove what is in it, check it, and cosign it as a witness."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from affidavit.app.attest import KeyHolder
from affidavit.app.attestation_checks import kept_checkpoint, read_envelope
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import attestation as faults
from affidavit.base.files import read_bounded, write_atomically
from affidavit.base.strict_json import read_json_file
from affidavit.seal.dsse import Envelope, envelope_bytes, is_sigstore_bundle, log_entry
from affidavit.seal.transparency import (
    COSIGNATURE,
    LOG_SIGNATURE,
    Checkpoint,
    ConsistencyProof,
    LogProof,
    NoteKey,
    SignedNote,
    checkpoint_from,
    consistency_path,
    cosign_checkpoint,
    inclusion_path,
    note_from,
    note_key,
    require_consistent,
)
from affidavit.store.files import may_exist
from affidavit.store.tile_log import TileLog

_MAX_CHECKPOINT_BYTES: Final = 1024 * 1024


class LogState(Struct, frozen=True):
    """A log as its newest checkpoint describes it. `key` is what others need to verify it."""

    origin: str
    size: int
    root: str
    key: str


def create_log(folder: Path, origin: str, holder: KeyHolder) -> LogState:
    """Create an empty log with a name, signed by its keeper."""
    key = note_key(origin, LOG_SIGNATURE, holder.public.raw)
    TileLog(folder, key).create(holder.sign)
    return _state(key, TileLog(folder, key).checkpoint()[1])


def open_log_of(folder: Path, holder: KeyHolder) -> TileLog:
    """Open a log that this holder keeps; its name is that of its checkpoint."""
    path = folder / "checkpoint"
    if not may_exist(path):
        raise AffidavitError(faults.LOG_NONE, Where(file=str(folder)))
    origin = _origin_of(path)
    return TileLog(folder, note_key(origin, LOG_SIGNATURE, holder.public.raw))


def _origin_of(path: Path) -> str:
    try:
        return checkpoint_from(note_from(_text(path)).body).origin
    except AffidavitError as error:
        raise error.at(file=str(path)) from None


def _text(path: Path) -> str:
    return read_bounded(path, _MAX_CHECKPOINT_BYTES).decode("utf-8", "replace")


class LoggedFile(Struct, frozen=True):
    """An envelope that is in a log, which it now carries the proof of."""

    file: str
    index: int


def append_files(
    folder: Path, paths: Sequence[Path], holder: KeyHolder, since: Sequence[Path] = ()
) -> tuple[LogState, tuple[LoggedFile, ...]]:
    """Append envelopes, and put the proof into each file. One that is in the log is proved again.

    `since` are checkpoints that others kept: the proof that the log continues them goes along.
    The files are written after the log: a crash between leaves entries that `prove` finds.
    """
    log = open_log_of(folder, holder)
    envelopes = [(path, _envelope_for_proof(path)) for path in paths]
    _, before = log.checkpoint()
    kept = [(path, kept_checkpoint(path, (log.key,))) for path in since]
    known = {entry: index for index, entry in enumerate(log.entries(before.size))}
    entries = dict.fromkeys(log_entry(envelope) for _, envelope in envelopes)
    added = [entry for entry in entries if entry not in known]
    note, checkpoint = log.append(added, holder.sign) if added else log.checkpoint()
    # Others may have appended meanwhile, so the place follows from the new size.
    known |= {entry: index for index, entry in enumerate(added, checkpoint.size - len(added))}
    continuing = tuple(_continuing(log, old, note, checkpoint, path).text for path, old in kept)
    logged = []
    for path, envelope in envelopes:
        entry = log_entry(envelope)
        proof = _proof(log, note, checkpoint, known[entry], entry)
        proved = with_proof(envelope, proof, checkpoint.origin)
        write_atomically(path, envelope_bytes(replace(proved, log_consistency=continuing)))
        logged.append(LoggedFile(str(path), known[entry]))
    return _state(log.key, checkpoint), tuple(logged)


def _envelope_for_proof(path: Path) -> Envelope:
    value = read_json_file(path)
    if is_sigstore_bundle(value):
        problem = "it is a Sigstore bundle, which has no place for the proof of a log"
        raise AffidavitError(faults.DSSE_FORMAT, Where(file=str(path)), problem=problem)
    return read_envelope(path)


def with_proof(envelope: Envelope, proof: LogProof, origin: str) -> Envelope:
    """Return an envelope with a proof, in place of older ones of the same log."""
    kept = (each for each in envelope.log_proofs if f"\n\n{origin}\n" not in each)
    return replace(envelope, log_proofs=(*kept, proof.text))


def prove_file(folder: Path, path: Path, key: NoteKey) -> LogProof:
    """Return the proof that an envelope is in a log; raise if it is not."""
    log = TileLog(folder, key)
    note, checkpoint = log.checkpoint()
    wanted = log_entry(read_envelope(path))
    for index, entry in enumerate(log.entries(checkpoint.size)):
        if entry == wanted:
            return _proof(log, note, checkpoint, index, entry)
    problem = f"it is not among the {checkpoint.size} entries of {checkpoint.origin}"
    raise AffidavitError(faults.LOG_ENTRY, Where(file=str(path)), problem=problem)


def _proof(
    log: TileLog, note: SignedNote, checkpoint: Checkpoint, index: int, entry: bytes
) -> LogProof:
    path = inclusion_path(index, checkpoint.size, log.reader(checkpoint.size))
    return LogProof(index=index, path=path, checkpoint=note.text, entry=entry)


def prove_continues(folder: Path, since: Path, key: NoteKey) -> ConsistencyProof:
    """Return the proof that a log continues a checkpoint; raise if it does not."""
    log = TileLog(folder, key)
    note, checkpoint = log.checkpoint()
    return _continuing(log, kept_checkpoint(since, (key,)), note, checkpoint, since)


def _continuing(
    log: TileLog, old: Checkpoint, note: SignedNote, new: Checkpoint, path: Path
) -> ConsistencyProof:
    try:
        steps = () if old.size > new.size else _steps_between(log, old, new)
        require_consistent(old, new, steps)
    except AffidavitError as error:
        raise error.at(file=str(path)) from None
    return ConsistencyProof(old.size, steps, note.text)


def check_log(folder: Path, key: NoteKey, since: Sequence[Path] = ()) -> LogState:
    """Compute a log again from its entries; `since` are checkpoints that it has to continue."""
    log = TileLog(folder, key)
    note, checkpoint = log.check()
    for path in since:
        _continuing(log, kept_checkpoint(path, (key,)), note, checkpoint, path)
    return _state(key, checkpoint)


def _steps_between(log: TileLog, old: Checkpoint, new: Checkpoint) -> tuple[bytes, ...]:
    return consistency_path(old.size, new.size, log.reader(new.size))


def cosign_log(
    folder: Path, key: NoteKey, witness: str, holder: KeyHolder, *, seen: Path, at: datetime
) -> LogState:
    """Cosign the newest checkpoint as a witness, if it continues the one that was seen before.

    `seen` holds what this witness saw last. It is written before the cosignature is given away.
    """
    log = TileLog(folder, key)
    own = note_key(witness, COSIGNATURE, holder.public.raw)

    def change(note: SignedNote, checkpoint: Checkpoint) -> SignedNote:
        if may_exist(seen):
            _continuing(log, kept_checkpoint(seen, (key,)), note, checkpoint, seen)
        cosigned = cosign_checkpoint(note, own, at, holder.sign)
        write_atomically(seen, note.text.encode())
        return cosigned

    log.update_checkpoint(change)
    return _state(own, log.checkpoint()[1])


def _state(key: NoteKey, checkpoint: Checkpoint) -> LogState:
    root = f"sha256:{checkpoint.root.hex()}"
    return LogState(checkpoint.origin, checkpoint.size, root, key.text)
