"""The hostile constructions ADV-001 to ADV-023, built here; the outcome is read from the table."""

import json
from collections.abc import Callable

import pytest
from tests.vectors import vector_path

from affidavit.base.canonical import jcs, require_canonical
from affidavit.base.errors import AffidavitError
from affidavit.base.json_values import DOCUMENT_LIMITS
from affidavit.base.strict_json import decode

DEPTH = DOCUMENT_LIMITS.max_depth
SIGNED_BODY = json.loads('{"verdict":"supported","checks":[{"id":"a","ok":true}]}')

CONSTRUCTIONS: dict[str, tuple[Callable[[bytes], object], list[bytes]]] = {
    "ADV-001": (decode, [b'{"verdict":"contradicted","verdict":"supported"}']),
    "ADV-002": (decode, [b'{"a":1,"\\u0061":2}']),
    "ADV-003": (decode, [b'{"evidence_index":{"d":{"value":1,"value":2}}}']),
    "ADV-004": (decode, [b'{"confidence":%s}' % n for n in (b"NaN", b"Infinity", b"-Infinity")]),
    "ADV-005": (decode, [b'{"confidence":1e999}', b'{"confidence":-1e999}']),
    "ADV-006": (decode, [b'{"seq":9007199254740993}', b'{"seq":-9007199254740993}']),
    "ADV-007": (decode, [b'{"seq":18446744073709551616}']),
    "ADV-008": (decode, [b"[%s]" % (b"9" * 5000)]),
    "ADV-009": (require_canonical, [b'{"x":-0.0}']),
    "ADV-010": (require_canonical, [b'{"x":1.0}', b'{"x":1e2}', b'{"x":0.10}']),
    "ADV-011": (decode, [b"[" * 100_000]),
    "ADV-012": (decode, [b"[" * (DEPTH + 1) + b"]" * (DEPTH + 1)]),
    "ADV-013": (decode, [b'{"s":"\\ud800"}']),
    "ADV-014": (decode, [bytes.fromhex("22 ED A0 80 22")]),
    "ADV-015": (decode, [bytes.fromhex("22 C0 AF 22"), b'"\xff"']),
    "ADV-016": (decode, [bytes.fromhex("EF BB BF 7B 7D")]),
    "ADV-017": (decode, ["{}".encode(name) for name in ("utf-16", "utf-16-le", "utf-16-be")]),
    "ADV-018": (decode, [b"{}{}", b"{} x", b"{}\0"]),
    "ADV-019": (decode, [bytes.fromhex("22 01 22")]),
    "ADV-020": (require_canonical, ['{"\ufb33":1,"\U0001f600":2}'.encode()]),
    "ADV-021": (
        require_canonical,
        [json.dumps(SIGNED_BODY, indent=2).encode(), b'{"verdict":"supported","checks":[]}'],
    ),
    "ADV-022": (
        require_canonical,
        [
            '{"é":1,"e\u0301":2}'.encode(),
            b'{"\\u00e9":1,"e\\u0301":2}',
            '{"e\u0301":2,"é":1}'.encode(),
        ],
    ),
    "ADV-023": (require_canonical, [b'{"u":"http:\\/\\/x"}', b'{"u":"\\u0061"}']),
}


def expected(case: str) -> str:
    """Return the code of the fault that the table expects."""
    table = json.loads(vector_path("adversarial.json").read_bytes())
    outcome = next(entry["expect"] for entry in table if entry["id"] == case)
    kind, _, code = outcome.partition(":")
    assert kind == "reject"
    return str(code)


@pytest.mark.parametrize("case", CONSTRUCTIONS)
def test_adversarial_json(case: str) -> None:
    read, texts = CONSTRUCTIONS[case]
    for text in texts:
        with pytest.raises(AffidavitError) as caught:
            read(text)
        assert caught.value.fault.name == expected(case)


def test_every_case_of_the_layers_json_and_canon_is_built() -> None:
    table = json.loads(vector_path("adversarial.json").read_bytes())
    wanted = {entry["id"] for entry in table if entry["layer"] in ("json", "canon")}
    assert set(CONSTRUCTIONS) == wanted


# The same, but for what makes it hostile, is accepted.
CONTROLS = {
    "as deep as allowed": (decode, b"[" * DEPTH + b"]" * DEPTH),
    "the largest integer": (decode, b'{"seq":9007199254740991}'),
    "keys by UTF-16": (require_canonical, '{"\U0001f600":2,"\ufb33":1}'.encode()),
    "one of the twins": (require_canonical, '{"é":1}'.encode()),
    "a body as it was signed": (require_canonical, jcs(SIGNED_BODY)),
}


@pytest.mark.parametrize(("read", "text"), CONTROLS.values(), ids=CONTROLS)
def test_the_control_is_accepted(read: Callable[[bytes], object], text: bytes) -> None:
    read(text)
