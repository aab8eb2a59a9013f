"""The JSON web keys of C2SP/wycheproof: none is an Ed25519 key, so none may become one."""

import json

import pytest
from tests.vectors import vector_path

from affidavit.base.errors import AffidavitError
from affidavit.seal.keys import trusted_keys_from


def test_no_key_of_another_algorithm_is_taken() -> None:
    document = json.loads(vector_path("ed25519", "json_web_key.json").read_bytes())
    names = []
    for group in document["testGroups"]:
        for kind in ("private", "public"):
            if kind in group:
                with pytest.raises(AffidavitError) as caught:
                    trusted_keys_from([group[kind]])
                names.append(caught.value.fault.name)
    assert len(names) > 25
    assert set(names) <= {"key.algorithm", "key.duplicate_id"}
    assert "key.duplicate_id" in names
