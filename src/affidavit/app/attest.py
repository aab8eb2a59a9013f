"""Attest a bundle, a receipt, a ledger or a gate report: sign what can be said about it.

A key comes from the project, a file, an environment variable, or a command that signs: so a key in
an HSM or a key management service never leaves it.
"""

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec
from msgspec.structs import replace

from affidavit.app.attested_subjects import read_subject, reading_with
from affidavit.app.keys import key_folder, random_bytes
from affidavit.base.config import ConfigFaults, read_config
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import attestation as faults
from affidavit.base.faults import receipts as key_faults
from affidavit.base.files import read_bounded
from affidavit.base.text import excerpt
from affidavit.packs.model import Pack
from affidavit.seal import crypto
from affidavit.seal.bundle.container import DEFAULT_LIMITS, BundleLimits
from affidavit.seal.crypto import find_base64, is_valid_signature
from affidavit.seal.dsse import (
    SIGNATURE_BYTES,
    Envelope,
    EnvelopeSignature,
    hint_of,
    stamp_digest,
)
from affidavit.seal.keys import (
    PublicKey,
    SigningKey,
    is_key_id,
    public_key_from_pem,
    public_keys_from,
    seed_from,
    signing_key_from,
)
from affidavit.seal.statement import ASSAY, PAYLOAD_TYPE, SubjectSummary, statement_bytes
from affidavit.store.signing_keys import signing_key_at

ENVELOPE_ENDING: Final = ".dsse.json"
COMMAND_SECONDS: Final = 60.0
_ENVIRONMENT: Final = "env:"
_MAX_KEY_BYTES: Final = 64 * 1024
_INPUT, _OUTPUT = "{input}", "{output}"
_FAULTS: Final = ConfigFaults(faults.SIGNER_FORMAT, faults.SIGNER_FORMAT)


class KeyHolder(msgspec.Struct, frozen=True):
    """A public key, and what signs with its private part."""

    public: PublicKey
    sign: Callable[[bytes], bytes]


class SigningCommandV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file that names a signing command. Paths are relative to the folder of the file.

    The command gets the bytes to sign in a file, if an argument has `{input}`, or else on standard
    input. It writes the signature, 64 bytes or their base64, to `{output}` or to standard output.
    """

    public_key: str
    command: tuple[str, ...]


def key_holder(reference: str | None, project: Path, passphrase: str | None) -> KeyHolder:
    """Return who signs: None for the key of the project, else a key id, `env:NAME` or a file."""
    if reference is None or is_key_id(reference):
        return _holder(key_folder(project).signing_key(passphrase, reference))
    if reference.startswith(_ENVIRONMENT):
        return _holder(_key_in_environment(reference.removeprefix(_ENVIRONMENT), passphrase))
    path = Path(reference)
    if path.suffix.lower() in (".toml", ".yaml", ".yml"):
        return _command_holder(path)
    return _holder(signing_key_at(path, passphrase))


def _holder(key: SigningKey) -> KeyHolder:
    return KeyHolder(key.public, lambda message: crypto.sign(key.seed, message))


def _key_in_environment(name: str, passphrase: str | None) -> SigningKey:
    pem = os.environ.get(name, "")
    if not pem:
        problem = f"the environment variable {excerpt(name)!r} is empty or not set"
        raise AffidavitError(key_faults.KEY_FORMAT, problem=problem)
    return signing_key_from(seed_from(os.fsencode(pem), passphrase))


def _command_holder(path: Path) -> KeyHolder:
    document = read_config(path, _FAULTS)
    settings = document.decode(SigningCommandV1, document.value)
    if not settings.command:
        raise document.error("it is empty", "command")
    public = public_key_at(path.parent / settings.public_key)

    def sign(message: bytes) -> bytes:
        signature = _run_command(settings.command, message)
        if not is_valid_signature(public.raw, signature, message):
            problem = f"a signature that does not hold under {public.id}"
            raise AffidavitError(faults.SIGNER_RESULT, Where(file=str(path)), problem=problem)
        return signature

    return KeyHolder(public, sign)


def public_key_at(path: Path) -> PublicKey:
    """Return the one public key of a file: PEM, a JWK, or a keys document."""
    from affidavit.base.strict_json import decode

    raw = read_bounded(path, _MAX_KEY_BYTES)
    try:
        if raw.lstrip().startswith(b"-----BEGIN"):
            return public_key_from_pem(raw)
        found = public_keys_from(decode(raw))
        if len(found) != 1:
            problem = f"it holds {len(found)} keys, not one"
            raise AffidavitError(key_faults.KEY_FORMAT, problem=problem)
        return found[0]
    except AffidavitError as error:
        raise error.at(file=str(path)) from None


def _run_command(command: Sequence[str], message: bytes) -> bytes:
    with TemporaryDirectory() as folder:
        source, target = Path(folder, "message"), Path(folder, "signature")
        source.write_bytes(message)
        filled = [
            part.replace(_INPUT, str(source)).replace(_OUTPUT, str(target)) for part in command
        ]
        is_named = any(_INPUT in part for part in command)
        try:
            done = subprocess.run(  # noqa: S603 - the user names the command in a file of their own
                filled,
                input=None if is_named else message,
                stdin=subprocess.DEVNULL if is_named else None,
                capture_output=True,
                timeout=COMMAND_SECONDS,
                check=False,
            )
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            problem = excerpt(str(getattr(error, "strerror", None) or error), 200)
            raise AffidavitError(faults.SIGNER_COMMAND, problem=problem) from None
        if done.returncode:
            told = excerpt(done.stderr.decode("utf-8", "replace").strip(), 200)
            problem = f"it ended with code {done.returncode}: {told}"
            raise AffidavitError(faults.SIGNER_COMMAND, problem=problem)
        is_file = any(_OUTPUT in part for part in command)
        made = read_bounded(target, _MAX_KEY_BYTES) if is_file else done.stdout
    return _signature_from(made)


def _signature_from(made: bytes) -> bytes:
    if len(made) == SIGNATURE_BYTES:
        return made
    decoded = find_base64(made.decode("ascii", "replace").strip())
    if decoded is None or len(decoded) != SIGNATURE_BYTES:
        problem = f"{len(made)} bytes, which are not a signature of {SIGNATURE_BYTES} or its base64"
        raise AffidavitError(faults.SIGNER_RESULT, problem=problem)
    return decoded


def summary_to_attest(
    path: Path, predicate: str, packs: Sequence[Pack], limits: BundleLimits = DEFAULT_LIMITS
) -> SubjectSummary:
    """Return what can be said about a file; raise if it does not verify or replay."""
    return read_subject(path, reading_with(packs, predicate, limits))


def attest(
    summary: SubjectSummary, predicate: str, holders: Sequence[KeyHolder], at: str
) -> Envelope:
    """Return an envelope, signed by all holders; `at` is now, for predicates that have a time."""
    payload = statement_bytes(predicate, summary, at)
    unsigned = Envelope(payload_type=PAYLOAD_TYPE, payload=payload, signatures=())
    is_assay = predicate == ASSAY
    return with_signatures(unsigned, holders, is_assay=is_assay)


def with_signatures(
    envelope: Envelope, holders: Sequence[KeyHolder], *, is_assay: bool = False
) -> Envelope:
    """Return an envelope with more signatures over the same bytes; a key signs once.

    Its time stamps stay. Its log proofs are of the envelope as it was, so they do not.
    """
    signed = envelope.signed
    signatures = {each.raw: each for each in envelope.signatures}
    for holder in holders:
        key_id = hint_of(holder.public) if is_assay else holder.public.id
        raw = holder.sign(signed)
        signatures.setdefault(raw, EnvelopeSignature(raw, key_id))
    return replace(
        envelope, signatures=tuple(signatures.values()), log_proofs=(), log_consistency=()
    )


def with_time_stamps(envelope: Envelope, authority: str) -> Envelope:
    """Return an envelope with a time stamp of each signature. Only digests are sent."""
    from affidavit.app.answer import time_stamp
    from affidavit.tools.timestamp_authority import request_token

    tokens = (
        time_stamp(stamp_digest(each), authority, request_token, random_bytes)
        for each in envelope.signatures
    )
    return replace(envelope, time_stamps=(*envelope.time_stamps, *tokens))
