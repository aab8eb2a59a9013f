"""Proofs that one event stands in a bundle, checked without the bundle.

A proof is small: the event's number, the size of the tree and some twenty digests. Whoever has the
Merkle root from a source that they trust (a signed attestation, say) checks one event with it, and
sees none of the others.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from affidavit.app.evidence.bundle_files import opened_bundle
from affidavit.base.canonical import jcs
from affidavit.base.digest import hex_from_digest
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import recordings as faults
from affidavit.base.json_limits import JsonValue
from affidavit.seal.bundle.limits import DEFAULT_LIMITS, BundleLimits
from affidavit.seal.bundle.manifest import MERKLE
from affidavit.seal.bundle.merkle import (
    DIGEST_BYTES,
    audit_path,
    leaf_of,
    leaves_of,
    marked_lines,
    root_from_path,
)

SCHEMA: Final = "affidavit-proof/1"


class ProofV1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A proof as it stands in a file. What names the bundle is for people, and proves nothing."""

    schema: str
    bundle_id: str
    run_id: str
    event: int
    tree_size: int
    merkle: str
    merkle_root: str
    path: list[str]


def prove_event(
    path: Path, event: int, limits: BundleLimits = DEFAULT_LIMITS
) -> tuple[ProofV1, bytes]:
    """Return the proof of an event and its line. The whole bundle is verified on the way."""
    leaves = bytearray()
    line = b""
    with opened_bundle(path, limits) as reader:
        known = reader.manifest.known
        for lines in reader.lines():
            leaves += b"".join(leaves_of(marked_lines(lines.text)))
            for number, each in lines.each():
                if number == event + 1:
                    line = each
    size = len(leaves) // DIGEST_BYTES
    if not 0 <= event < size:
        raise AffidavitError(faults.PROOF_EVENT, event=event, last=size - 1)
    each_leaf = [
        bytes(leaves[at : at + DIGEST_BYTES]) for at in range(0, len(leaves), DIGEST_BYTES)
    ]
    nodes = audit_path(each_leaf, event)
    root = root_from_path(each_leaf[event], event, size, nodes)
    proof = ProofV1(
        SCHEMA,
        known.bundle_id,
        known.run_id,
        event,
        size,
        MERKLE,
        f"sha256:{(root or b'').hex()}",
        [f"sha256:{node.hex()}" for node in nodes],
    )
    return proof, line


def check_proof(proof: JsonValue, root: str, event: JsonValue) -> ProofV1:
    """Return the proof if it leads from this event to this root; raise where it does not.

    The root is the one that the caller trusts: the one in the proof is only compared with it.
    """
    read = _proof_from(proof)
    trusted = bytes.fromhex(hex_from_digest(root))
    if not isinstance(event, Mapping):
        raise AffidavitError(faults.PROOF_FORMAT, problem="the event is not a JSON object")
    nodes = [bytes.fromhex(hex_from_digest(node)) for node in read.path]
    found = root_from_path(leaf_of(jcs(event)), read.event, read.tree_size, nodes)
    if event.get("assayseq") != read.event:
        raise _mismatch(f"the event is not number {read.event}")
    if found is None:
        raise _mismatch("no tree of this size has such a path")
    if found != trusted:
        raise _mismatch(f"event and path lead to sha256:{found.hex()}, not to {root}")
    if read.merkle_root != root:
        raise _mismatch("it is a proof for another root")
    return read


def _proof_from(value: JsonValue) -> ProofV1:
    try:
        proof = msgspec.convert(value, ProofV1)
    except msgspec.ValidationError as error:
        raise AffidavitError(faults.PROOF_FORMAT, problem=str(error)) from None
    if (proof.schema, proof.merkle) != (SCHEMA, MERKLE):
        problem = f"it is not {SCHEMA} with {MERKLE}"
        raise AffidavitError(faults.PROOF_FORMAT, problem=problem)
    return proof


def _mismatch(problem: str) -> AffidavitError:
    return AffidavitError(faults.PROOF_MISMATCH, problem=problem)
