"""Verifies our attestation with the libraries of others, and writes one with them."""

import base64
import json
import sys
from pathlib import Path


def require(holds: bool, problem: str) -> None:
    """End with a problem unless something holds."""
    if not holds:
        sys.exit(problem)


def main(folder: Path) -> None:
    """Check the envelope, the statement and the Sigstore bundle in a folder."""
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from google.protobuf.json_format import Parse
    from in_toto_attestation.v1.statement import Statement
    from in_toto_attestation.v1.statement_pb2 import Statement as StatementPb
    from securesystemslib.dsse import Envelope
    from securesystemslib.signer import CryptoSigner, SSlibKey
    from sigstore_models.bundle.v1 import Bundle

    raw = (folder / "run.tar.gz.dsse.json").read_bytes()
    wire = json.loads(raw)
    envelope = Envelope.from_dict(json.loads(raw))
    key = CryptoSigner(load_pem_private_key((folder / "key.pem").read_bytes(), None))
    ours = SSlibKey(
        wire["signatures"][0]["keyid"],
        key.public_key.keytype,
        key.public_key.scheme,
        key.public_key.keyval,
    )
    accepted = envelope.verify([ours], 1)
    print(f"  securesystemslib: signed by {', '.join(accepted)}")

    statement = Parse(envelope.payload, StatementPb())
    Statement.copy_from_pb(statement).validate()
    print(f"  in-toto-attestation: a valid statement of {statement.predicate_type}")

    # The models are those of the protocol; the client on top of them accepts no bare keys.
    bundle = Bundle.from_json((folder / "run.sigstore.json").read_bytes())
    require(bundle.verification_material.public_key is not None, "the bundle has no key")
    signature = bundle.dsse_envelope.signatures[0]
    require(signature.keyid == wire["signatures"][0]["keyid"], "the bundle has another key id")
    print(f"  sigstore: a bundle of the media type {bundle.media_type}")

    theirs = Envelope(envelope.payload, envelope.payload_type, {})
    theirs.sign(key)
    (folder / "theirs.json").write_text(json.dumps(theirs.to_dict()))
    forged = theirs.to_dict()
    payload = bytearray(base64.b64decode(forged["payload"]))
    payload[-2] ^= 1
    forged["payload"] = base64.b64encode(payload).decode()
    (folder / "forged.json").write_text(json.dumps(forged))


SCRIPT = """\
import os, sys, pkcs11
token = pkcs11.lib(os.environ["PKCS11_MODULE"]).get_token(token_label="release")
with token.open(user_pin=os.environ["PKCS11_PIN"]) as session:
    key = session.get_key(object_class=pkcs11.ObjectClass.PRIVATE_KEY, id=b"\\x01")
    signature = key.sign(sys.stdin.buffer.read(), mechanism=pkcs11.Mechanism.EDDSA)
sys.stdout.buffer.write(signature)
"""


def make_token_key(folder: Path) -> None:
    """Create a key in a token, and the file that names the script of docs/attestation.md."""
    import os

    import pkcs11

    token = next(iter(pkcs11.lib(os.environ["PKCS11_MODULE"]).get_tokens()))
    with token.open(user_pin=os.environ["PKCS11_PIN"], rw=True) as session:
        parameters = session.create_domain_parameters(
            pkcs11.KeyType.EC_EDWARDS,
            {pkcs11.Attribute.EC_PARAMS: bytes.fromhex("06032b6570")},
            local=True,
        )
        public, _ = parameters.generate_keypair(
            mechanism=pkcs11.Mechanism.EC_EDWARDS_KEY_PAIR_GEN, store=True, id=b"\x01"
        )
        raw = public[pkcs11.Attribute.EC_POINT][-32:]
    der = bytes.fromhex("302a300506032b6570032100") + raw
    pem = (
        f"-----BEGIN PUBLIC KEY-----\n{base64.b64encode(der).decode()}\n-----END PUBLIC KEY-----\n"
    )
    (folder / "token.pub").write_text(pem)
    (folder / "sign_pkcs11.py").write_text(SCRIPT)
    page = Path("docs/attestation.md").read_text("utf-8")
    require(SCRIPT in page, "docs/attestation.md shows another script")
    command = json.dumps([sys.executable, str(folder / "sign_pkcs11.py")])
    (folder / "token.toml").write_text(f'public_key = "token.pub"\ncommand = {command}\n')


if __name__ == "__main__":
    (make_token_key if "--token" in sys.argv else main)(Path(sys.argv[1]))
