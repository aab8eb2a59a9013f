"""Digests, content ids and the chunk hash."""

import hashlib
import re
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affidavit.base.digest import (
    chunk_digest,
    chunk_hash,
    content_id,
    digest_of,
    hex_from_digest,
    sha256_hex,
)
from affidavit.base.errors import AffidavitError

# FIPS 180-4's example, and the empty message.
ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_digests_of_known_messages() -> None:
    assert sha256_hex(b"abc") == ABC
    assert digest_of(b"abc") == f"sha256:{ABC}"
    assert digest_of(b"") == f"sha256:{EMPTY}"
    assert hex_from_digest(digest_of(b"abc")) == ABC


MALFORMED = {
    "no algorithm": ABC,
    "upper case": f"sha256:{ABC.upper()}",
    "another algorithm": f"sha512:{ABC}",
    "an algorithm in upper case": f"SHA256:{ABC}",
    "a digit too few": f"sha256:{ABC[:-1]}",
    "a digit too many": f"sha256:{ABC}0",
    "a line feed at the end": f"sha256:{ABC}\n",
    "a space": f"sha256: {ABC}",
    "not hexadecimal": f"sha256:{ABC[:-1]}g",
    "digits of another script": f"sha256:{ABC[:-1]}٣",
    "nothing": "",
    "a long text": "x" * 1000,
}


@pytest.mark.parametrize("text", MALFORMED.values(), ids=MALFORMED)
def test_one_digest_has_one_spelling(text: str) -> None:
    with pytest.raises(AffidavitError) as caught:
        hex_from_digest(text)
    assert caught.value.fault.name == "digest.malformed"
    assert len(caught.value.message) < 100


def test_a_content_id_is_a_prefix_and_sixteen_digits() -> None:
    assert content_id("ans", b"abc") == "ans_ba7816bf8f01cfea"


LEAVE = "All permanent employees shall receive 15 days of paid annual leave"
HASHES = {
    "the ledger's sample sentence": (f"{LEAVE}.", "b8b859ac"),
    "the same, longer": (f"{LEAVE} per calendar year.", "00f66349"),
    "case does not count": (f"{LEAVE}.".upper(), "b8b859ac"),
    "white space does not count": (f"\n\t {LEAVE.replace(' ', '  ')}.\r\n", "b8b859ac"),
    "other Unicode spaces do not count": (
        f"\ufeff{LEAVE}.".replace(" ", "\u00a0\u2003"),
        "b8b859ac",
    ),
    "nothing": ("", EMPTY[:8]),
    "white space alone is nothing": (" \n\u3000", EMPTY[:8]),
    # The next were taken from Node.js 22.
    "a final sigma": ("ΑΣ Σ", "f92d328a"),
    "a dotted capital i": ("İstanbul", "4a4df120"),
    "half of a surrogate pair": ("\ud800x", "a87ce467"),
    "a capital sharp s": ("ẞ", "cd3a7e92"),
    "what only Python takes for white space": ("\x1cx\x85y", "fee6fa7b"),
}


@pytest.mark.parametrize(("text", "wanted"), HASHES.values(), ids=HASHES)
def test_chunk_hash(text: str, wanted: str) -> None:
    assert chunk_hash(text) == wanted


def test_the_whole_digest_starts_with_the_hash() -> None:
    whole = chunk_digest("  Hello\nWorld ")
    assert whole == hashlib.sha256(b"hello world").hexdigest()
    assert whole.startswith(chunk_hash("hello world"))


SPACES = "\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"


@given(st.text("aÄ \n\xa0\x1c\x85\ufeff\u2003\u3000"))
def test_the_fast_path_gives_the_same_digest(text: str) -> None:
    collapsed = re.sub(f"[{SPACES}]+", " ", text.lower()).strip(" ")
    assert chunk_digest(text) == sha256_hex(collapsed.encode())


JAVASCRIPT = r"""
const spaces = [];
for (let unit = 0; unit < 65536; unit++) {
  const letter = String.fromCharCode(unit);
  if (/\s/.test(letter) !== (letter.trim() === "")) throw unit;
  if (/\s/.test(letter)) spaces.push(unit);
}
console.log(spaces.join(" "));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
def test_white_space_is_that_of_javascript() -> None:
    run = subprocess.run(["node", "-e", JAVASCRIPT], capture_output=True, text=True, check=True)
    spaces = {chr(int(unit)) for unit in run.stdout.split()}
    assert len(spaces) == 25
    for unit in range(65536):
        if not 0xD800 <= unit < 0xE000:
            is_space = chunk_hash(f"a{chr(unit)}b") == chunk_hash("a b")
            assert is_space is (chr(unit) in spaces), hex(unit)
