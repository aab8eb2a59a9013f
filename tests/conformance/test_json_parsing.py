"""JSONTestSuite (nst/JSONTestSuite): y_ must be read, n_ must be refused, i_ may be either.

What we refuse though it is JSON is listed here with its reason; nothing else may be.
"""

import pytest
from tests.vectors import vector_names, vector_path

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import CATALOG
from affidavit.base.strict_json import decode

# A key twice is legal JSON with no agreed meaning (RFC 8259, section 4).
REFUSED_BY_RULE = {
    "y_object_duplicated_key.json": "json.duplicate_key",
    "y_object_duplicated_key_and_value.json": "json.duplicate_key",
}

# Where the suite leaves it open, we read what loses nothing but underflow.
READ_BY_CHOICE = {"i_number_double_huge_neg_exp.json", "i_number_real_underflow.json"}


def fault_name(raw: bytes) -> str | None:
    """Return the name of the fault by which a text is refused, None if it is read."""
    try:
        decode(raw)
    except AffidavitError as error:
        return error.fault.name if str(error) and error.fault in CATALOG.values() else "unknown"
    return None


@pytest.mark.parametrize("name", vector_names("json-parsing"))
def test_json_test_suite(name: str) -> None:
    fault = fault_name(vector_path("json-parsing", name).read_bytes())
    assert fault != "unknown"
    if name.startswith("y_"):
        assert fault == REFUSED_BY_RULE.get(name)
    elif name.startswith("n_"):
        assert fault is not None
    else:
        assert (fault is None) is (name in READ_BY_CHOICE)


def test_the_suite_is_whole() -> None:
    names = {path.name[:2] for path in vector_path("json-parsing").iterdir()}
    assert names == {"y_", "n_", "i_"}
    assert len(list(vector_path("json-parsing").iterdir())) == 318
