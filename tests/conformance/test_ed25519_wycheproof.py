"""The Ed25519 vectors of C2SP/wycheproof."""

import json

from tests.vectors import vector_path

from affidavit.seal.crypto import is_valid_signature


def test_every_signature_is_judged_as_published() -> None:
    document = json.loads(vector_path("ed25519", "wycheproof.json").read_bytes())
    judged = []
    for group in document["testGroups"]:
        key = bytes.fromhex(group["publicKey"]["pk"])
        for case in group["tests"]:
            signature, message = bytes.fromhex(case["sig"]), bytes.fromhex(case["msg"])
            wanted = case["result"] == "valid"
            assert is_valid_signature(key, signature, message) is wanted, (
                case["tcId"],
                case["comment"],
            )
            judged.append(wanted)
    assert len(judged) == document["numberOfTests"]
    assert {True, False} <= set(judged)
