"""Feeds the strict JSON decoder hostile bytes, guided by coverage: `make fuzz`.

    python -m tools.fuzz_strict_json [libFuzzer options, such as -max_total_time=60 or -runs=100000]

Needs atheris, which `make fuzz` puts into an environment of its own. It starts from our own seeds
and, where they are, from the published vectors (see AFFIDAVIT_VECTORS in tests/vectors.py), and
keeps what it finds in `.interop/fuzz-corpus`. A text that breaks a property stops it and is stored
in `.interop`.

The properties: any bytes give a value or a coded error; the two parsers agree; an accepted value is
the one that the standard library reads; its canonical forms are those of the reference libraries.
"""

import json
import os
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import atheris
import rfc8785

with atheris.instrument_imports(include=["affidavit.base"]):
    from affidavit.base.canonical import is_canonical, jcs, sorted_compact
    from affidavit.base.errors import AffidavitError
    from affidavit.base.json_values import DOCUMENT_LIMITS, JsonLimits
    from affidavit.base.strict_json import decode, refusal_error

ROOT = Path(__file__).resolve().parent.parent
FOUND = ROOT / ".interop"
TIGHT = JsonLimits(max_bytes=4096, max_depth=3, max_keys=2, max_string=4)
UNEXPLAINED = "the decoder does not accept it"
# The dictionary of libFuzzer, in its own notation.
WORDS = (
    *(
        r"{\"a\":",
        r"\"a\":1,",
        r",\"\":",
        "[",
        "]",
        "}",
        r"\\u003a",
        r"\\ud83d",
        r"\\ude00",
        r"\\\"",
    ),
    *("true", "false", "null", "NaN", "-Infinity", "1e999", "1e+", "e-", "-0.0", "0.00001"),
    *(
        "9007199254740992",
        "18446744073709551616",
        r"\xef\xbb\xbf",
        r"\xed\xa0\x80",
        r"\xf0\x9f\x98\x80",
    ),
)
SEEDS = (
    b'{"a":{"b":[1,2.5,-0.0,1e20,1e-7,true,false,null]},"c":"\\u003a\\n\\ud83d\\ude00"}',
    b'{"a":1,"\\u0061":2}',
    b'["\\\\u003a","12345678901234567890e+",18446744073709551616]',
    b"[9007199254740991,-9007199254740992,1e999,NaN]",
    '{"é":1,"e\u0301":"\ufb33😀"}'.encode(),
    b"[" * 70 + b"]" * 70,
    b"\xef\xbb\xbf{}",
    "[1]".encode("utf-16"),
    b'{"a":1}\n{"b":[]}\r\n\n"\xed\xa0\x80"',
)


def examine(raw: bytes) -> None:
    """Check the properties for one text."""
    for limits in (DOCUMENT_LIMITS, TIGHT):
        found: Any = outcome(raw, limits)
        if isinstance(found, AffidavitError):
            assert str(found).startswith(f"{found.fault.code}: ")
            assert UNEXPLAINED not in str(found), "only the fast reading refuses this"
        else:
            refusal = str(refusal_error(raw, limits))
            assert UNEXPLAINED in refusal, f"only the slow reading refuses this: {refusal}"
            if limits is DOCUMENT_LIMITS:
                assert repr(found) == repr(json.loads(raw.decode()))
                examine_forms(found)


def outcome(raw: bytes, limits: JsonLimits) -> object:
    """Return the decoded value or the error."""
    try:
        return decode(raw, limits)
    except AffidavitError as error:
        return error


def examine_forms(value: Any) -> None:
    """Check the canonical forms of a decoded value."""
    compact = sorted_compact(value)
    assert compact == json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
    assert repr(decode(compact)) == repr(json.loads(compact))
    canonical = jcs(value)
    assert canonical == rfc8785.dumps(value)
    assert is_canonical(canonical) is not isinstance(
        outcome(canonical, DOCUMENT_LIMITS), AffidavitError
    )


def corpus() -> Path:
    """Return the corpus folder, with the seeds in it."""
    folder = FOUND / "fuzz-corpus"
    folder.mkdir(parents=True, exist_ok=True)
    vectors = Path(os.environ.get("AFFIDAVIT_VECTORS", ROOT.parent / "shared" / "vectors"))
    published = [path.read_bytes() for path in sorted(vectors.glob("j*/**/*.json"))]
    for seed in (*SEEDS, *published):
        (folder / sha256(seed).hexdigest()).write_bytes(seed)
    return folder


def dictionary() -> Path:
    """Return the dictionary file for libFuzzer."""
    path = FOUND / "fuzz-words.txt"
    path.write_text("".join(f'"{word}"\n' for word in WORDS), "ascii")
    return path


if __name__ == "__main__":
    start = corpus()
    options = [
        f"-dict={dictionary()}",
        f"-artifact_prefix={FOUND}/",
        "-max_len=4096",
        *sys.argv[1:],
    ]
    atheris.Setup([sys.argv[0], *options, str(start)], examine)
    atheris.Fuzz()
