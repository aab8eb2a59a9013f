"""Attestations: verifying an envelope beside securesystemslib, and a log of 100,000 entries.

securesystemslib runs in the environment of interop/attest.sh, in the same run. An Ed25519
verification by OpenSSL is most of what both do: it stands beside them as the floor.
"""

import json
import subprocess
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from affidavit.base.canonical import jcs
from affidavit.seal import crypto
from affidavit.seal.bundle.merkle import leaf_of, root_from_path
from affidavit.seal.dsse import (
    Envelope,
    EnvelopeSignature,
    envelope_bytes,
    envelope_from_bytes,
    signers_of,
)
from affidavit.seal.keys import signing_key_from
from affidavit.seal.statement import PAYLOAD_TYPE
from affidavit.seal.transparency import LOG_SIGNATURE, inclusion_path, note_key
from affidavit.store.tile_log import TileLog
from benchmarks.figure import Figure, best_cpu_seconds

KEY = signing_key_from(bytes(range(32)))
KEYS = {KEY.public.id: KEY.public}
STATEMENT_BYTES = 4096
ENTRIES = 100_000
BATCH = 1000
PEER = Path(".interop/attest/bin/python")
PEER_CODE = """
import json, sys, time
from securesystemslib.dsse import Envelope
from securesystemslib.signer import SSlibKey
raw = open(sys.argv[1], "rb").read()
key = SSlibKey(sys.argv[2], "ed25519", "ed25519", {"public": sys.argv[3]})
best = 1.0
for _ in range(int(sys.argv[4])):
    start = time.process_time()
    Envelope.from_dict(json.loads(raw)).verify([key], 1)
    best = min(best, time.process_time() - start)
print(best)
"""


def measure(quick: bool = False) -> list[Figure]:
    """Measure an envelope over a statement of 4 KB, and a log."""
    return [envelope(60 if quick else 600), *log(ENTRIES // 10 if quick else ENTRIES)]


def envelope(rounds: int) -> Figure:
    """Verify an envelope from its bytes on: strict JSON, strict base64, signature."""
    filling = "x" * (STATEMENT_BYTES - 20)
    payload = jcs({"predicate": filling})
    bare = Envelope(payload_type=PAYLOAD_TYPE, payload=payload, signatures=())
    signature = crypto.sign(KEY.seed, bare.signed)
    made = EnvelopeSignature(signature, KEY.public.id)
    raw = envelope_bytes(Envelope(payload_type=PAYLOAD_TYPE, payload=payload, signatures=(made,)))
    public, signed = Ed25519PublicKey.from_public_bytes(KEY.public.raw), bare.signed
    ours, least = best_cpu_seconds(
        rounds,
        lambda: signers_of(envelope_from_bytes(raw), KEYS),
        lambda: public.verify(signature, signed),
    )
    theirs = peer_seconds(raw, rounds)
    beside = "not installed" if theirs is None else f"{theirs * 1e6:.0f} us"
    return Figure(
        "verify an envelope over 4 KB",
        "at least 4x as fast as securesystemslib",
        (theirs or 0.0) / ours,
        "higher",
        4.0,
        f"{ours * 1e6:.0f} us, Ed25519 alone {least * 1e6:.0f} us, securesystemslib {beside}",
    )


def peer_seconds(raw: bytes, rounds: int) -> float | None:
    """Return the least CPU time that securesystemslib takes; None if it is not installed."""
    if not PEER.exists():
        return None
    with TemporaryDirectory() as folder:
        path = Path(folder, "envelope.json")
        path.write_bytes(raw)
        command = [str(PEER), "-c", PEER_CODE, str(path), KEY.public.id, KEY.public.raw.hex()]
        done = subprocess.run([*command, str(rounds)], capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout))


def log(count: int) -> list[Figure]:
    """Append entries in batches of a thousand, each on the disk; then prove one of them."""
    entries = [jcs({"number": number, "filling": "x" * 300}) for number in range(count)]
    key = note_key("example.org/log", LOG_SIGNATURE, KEY.public.raw)
    with TemporaryDirectory() as folder:
        kept = TileLog(Path(folder), key)
        kept.create(lambda message: crypto.sign(KEY.seed, message))
        start = time.process_time()
        for at in range(0, count, BATCH):
            kept.append(entries[at : at + BATCH], lambda message: crypto.sign(KEY.seed, message))
        appending = time.process_time() - start
        _, checkpoint = kept.checkpoint()

        def prove() -> tuple[bytes, ...]:
            return inclusion_path(count // 3, count, kept.reader(count))

        (proving,) = best_cpu_seconds(20, prove)
        leaf = leaf_of(entries[count // 3])
        assert root_from_path(leaf, count // 3, count, prove()) == checkpoint.root
    return [
        Figure(
            f"append {count} entries to a log",
            "at least 20,000 for each CPU second",
            count / appending,
            "higher",
            20_000,
            f"{appending:.2f} s in batches of {BATCH}",
        ),
        Figure(
            "prove one of them, in ms",
            "under 1 ms",
            proving * 1000,
            "lower",
            1,
            f"{proving * 1e6:.0f} us, from the tiles on the disk",
        ),
    ]
