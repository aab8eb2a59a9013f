"""The encoder's files as they were released: model, tokenizer, and the manifest that binds them.

`tools/train_judge/export.py` writes all three. The manifest names the digests of the other two,
and of the data, code and weights that they were made from.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

import msgspec

from affidavit.base.digest import digest_of, sha256_hex
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import evidence as faults

MODEL: Final = "model.onnx"
TOKENIZER: Final = "tokenizer.json"
WORDS: Final = "words.int8"
"""The word vectors of a large encoder, which are a file of their own."""
MANIFEST: Final = "manifest.json"
DATA: Final = files(__package__) / "data"


class _FileEntry(msgspec.Struct, frozen=True):
    sha256: str


class _Manifest(msgspec.Struct, frozen=True):
    files: dict[str, _FileEntry]


@dataclass(frozen=True, slots=True)
class Shipped:
    """The files' bytes, proven to be those of the manifest, and one digest over them."""

    model: bytes
    tokenizer: bytes
    digest: str
    words: bytes = b""


def read_shipped(folder: Traversable = DATA) -> Shipped:
    """Read the files and refuse them if one byte is not as released."""
    digests = _manifest_digests(folder)
    contents = {name: _checked(folder, name, digests[name]) for name in digests}
    words = contents.get(WORDS, b"")
    return Shipped(contents[MODEL], contents[TOKENIZER], _digest_over(digests), words)


def encoder_digest(folder: Traversable = DATA) -> str:
    """Return the digest that names the encoder, without reading the weights or checking them."""
    return _digest_over(_manifest_digests(folder))


def _digest_over(digests: Mapping[str, str]) -> str:
    """One digest over the files, to be had by hand: `sha256sum FILES | sha256sum`, in ABC order."""
    lines = (f"{digests[name]}  {name}\n" for name in sorted(digests))
    return digest_of("".join(lines).encode())


def _manifest_digests(folder: Traversable) -> Mapping[str, str]:
    data = _read(folder, MANIFEST)
    try:
        entries = msgspec.json.decode(data, type=_Manifest).files
        names = (MODEL, TOKENIZER, WORDS) if WORDS in entries else (MODEL, TOKENIZER)
        return {name: entries[name].sha256 for name in names}
    except (msgspec.DecodeError, KeyError, UnicodeDecodeError) as error:
        raise AffidavitError(faults.ENCODER_CHANGED, Where(file=MANIFEST)) from error


def _checked(folder: Traversable, name: str, wanted: str) -> bytes:
    data = _read(folder, name)
    if sha256_hex(data) != wanted:
        raise AffidavitError(faults.ENCODER_CHANGED, Where(file=name))
    return data


def _read(folder: Traversable, name: str) -> bytes:
    try:
        return (folder / name).read_bytes()
    except OSError as error:
        raise AffidavitError(faults.ENCODER_MISSING, Where(file=name)) from error
