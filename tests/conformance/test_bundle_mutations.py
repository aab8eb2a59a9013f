"""Every small change to a bundle is refused by a code of ours: nothing passes, nothing crashes."""

import gzip
import time
from itertools import permutations

import pytest
from tests.seal.bundle_making import (
    DRAFTS,
    archived,
    fault_name,
    members_of,
    packed,
    sealed,
    verified,
)

from affidavit.base.exits import Exit

BUNDLE = sealed(DRAFTS[:2])
TAR = gzip.decompress(BUNDLE)
MANIFEST, EVENTS = members_of(BUNDLE)
LONGEST_SECONDS = 1.0


def refused(bundle: bytes) -> bool:
    """Say whether a bundle is refused, in time."""
    start = time.process_time()
    verification = verified(bundle)
    assert time.process_time() - start < LONGEST_SECONDS
    return verification.exit is not Exit.YES and verification.error is not None


def test_the_bundle_itself_verifies() -> None:
    assert verified(BUNDLE).exit is Exit.YES


@pytest.mark.parametrize("bit", range(8))
def test_every_bit_of_the_file(bit: int) -> None:
    changed = bytearray(BUNDLE)
    accepted = []
    for at in range(len(BUNDLE)):
        changed[at] ^= 1 << bit
        if not refused(bytes(changed)):
            accepted.append(at)
        changed[at] ^= 1 << bit
    assert accepted == []


def test_every_byte_of_the_file_inverted() -> None:
    flips = (
        BUNDLE[:at] + bytes((byte ^ 0xFF,)) + BUNDLE[at + 1 :] for at, byte in enumerate(BUNDLE)
    )
    assert all(map(refused, flips))


def test_the_file_cut_at_every_place() -> None:
    assert all(refused(BUNDLE[:at]) for at in range(len(BUNDLE)))


def test_every_byte_of_the_lines_changed_with_the_archive_made_right() -> None:
    for at, byte in enumerate(EVENTS):
        changed = EVENTS[:at] + bytes((byte ^ 1,)) + EVENTS[at + 1 :]
        assert refused(archived(("manifest.json", MANIFEST), ("events.ndjson", changed))), at


def test_every_byte_of_the_tar_removed() -> None:
    step = 7  # Every seventh place: the blocks are long.
    assert all(refused(packed(TAR[:at] + TAR[at + 1 :])) for at in range(0, len(TAR), step))


NAMES = ("manifest.json", "events.ndjson", "Manifest.json", "events.ndjson/", "e\u0301vents.ndjson")


def test_members_in_every_other_order_number_and_name() -> None:
    content = {name: MANIFEST if "anifest" in name else EVENTS for name in NAMES}
    tried = 0
    for count in range(4):
        for names in permutations(NAMES, count):
            if names == ("manifest.json", "events.ndjson"):
                continue
            tried += 1
            assert refused(archived(*((name, content[name]) for name in names))), names
    assert tried > 80


def test_lines_removed_doubled_or_moved() -> None:
    first, second = EVENTS.splitlines(keepends=True)
    texts = (
        b"",
        first,
        second,
        first + first + second,
        second + first,
        EVENTS + b"\n",
        EVENTS[:-1],
    )
    for text in texts:
        assert refused(archived(("manifest.json", MANIFEST), ("events.ndjson", text))), text


PLAIN = gzip.compress(TAR, mtime=0)
HEADERS = {
    "a time": (BUNDLE[:4] + b"\x01" + BUNDLE[5:], "archive.format"),
    "no digest of the compressed bytes": (PLAIN, "archive.repacked"),
    "another extra field": (BUNDLE[:12] + b"XX" + BUNDLE[14:], "archive.corrupt"),
    "another digest": (BUNDLE[:20] + b"\0" + BUNDLE[21:], "archive.corrupt"),
    "a name": (PLAIN[:3] + b"\x08" + PLAIN[4:10] + b"x\0" + PLAIN[10:], "archive.repacked"),
}


@pytest.mark.parametrize(("bundle", "wanted"), HEADERS.values(), ids=HEADERS)
def test_a_changed_gzip_header_of_ours_is_refused(bundle: bytes, wanted: str) -> None:
    assert fault_name(bundle) == wanted
