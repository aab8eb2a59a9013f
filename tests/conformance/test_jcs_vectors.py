"""The published vectors of RFC 8785 (cyberphone/json-canonicalization)."""

import pytest
from tests.vectors import vector_names, vector_path

from affidavit.base.canonical import is_canonical, jcs, require_canonical
from affidavit.base.strict_json import decode


@pytest.mark.parametrize("name", vector_names("jcs", "input"))
def test_jcs_vectors(name: str) -> None:
    given = vector_path("jcs", "input", name).read_bytes()
    wanted = vector_path("jcs", "output", name).read_bytes()
    in_hex = vector_path("jcs", "outhex", name.replace(".json", ".txt")).read_text("ascii")
    assert jcs(decode(given)) == wanted == bytes.fromhex(in_hex)
    assert is_canonical(wanted)
    assert jcs(require_canonical(wanted)) == wanted
    assert not is_canonical(given)
