"""The published vectors of json-sorted-compact (dynamicfeed/df-verify)."""

import json

from tests.vectors import vector_path

from affidavit.base.canonical import sorted_compact
from affidavit.base.strict_json import decode


def test_sorted_compact_vectors() -> None:
    document = json.loads(vector_path("dynamicfeed", "canonicalization.json").read_bytes())
    assert len(document["vectors"]) > 5
    for vector in document["vectors"]:
        # A signature is taken out before it is computed; that is the receipt's business, not ours.
        signed = {key: part for key, part in vector["payload"].items() if key != "signature"}
        value = decode(json.dumps(signed).encode())
        assert sorted_compact(value) == vector["canonical"].encode(), vector["name"]
