"""What a verifier trusts, read from the files that the user names."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import answers as faults
from affidavit.base.files import read_bounded
from affidavit.base.json_limits import JsonValue
from affidavit.base.strict_json import decode
from affidavit.seal.key_documents import TrustedKeys, trusted_keys_from
from affidavit.seal.tokens import StampTrust, roots_from
from affidavit.seal.verify import Trust
from affidavit.store.presence import may_be_there
from affidavit.wiring.keys import key_folder

MAX_TRUST_BYTES: Final = 16 * 1024 * 1024


def key_files(named: Sequence[Path], project: Path) -> tuple[Path, ...]:
    """Return the keys documents to trust: those named, or the registry of this project."""
    if named:
        return tuple(named)
    own = key_folder(project).registry_path
    if not may_be_there(own):
        raise AffidavitError(faults.KEYS_NONE)
    return (own,)


def trust_from(
    keys: Sequence[Path],
    roots: Sequence[Path],
    policy: str | None = None,
    *,
    stamp_required: bool = False,
) -> Trust:
    """Return what is trusted: keys, and the roots of time stamp authorities."""
    stamps = StampTrust(b"\n".join(map(_roots, roots)), policy) if roots else None
    return Trust(trusted_keys(keys), stamps, stamp_required)


def trusted_keys(files: Sequence[Path]) -> TrustedKeys:
    """Return the keys of all documents; an error names the file that has it."""
    documents = []
    for path in files:
        document = _document(path)
        documents.append(document)
        try:
            trusted_keys_from([document])
        except AffidavitError as error:
            raise error.at(file=str(path)) from None
    return trusted_keys_from(documents)


def _roots(path: Path) -> bytes:
    pem = read_bounded(path, MAX_TRUST_BYTES)
    try:
        roots_from(pem)
    except AffidavitError as error:
        raise error.at(file=str(path)) from None
    return pem


def _document(path: Path) -> JsonValue:
    try:
        return decode(read_bounded(path, MAX_TRUST_BYTES))
    except AffidavitError as error:
        raise error.at(file=str(path)) from None
