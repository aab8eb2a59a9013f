"""The hostile constructions of the layers json, canon and archive, as whole bundles."""

import bz2
import gzip
import io
import lzma
import tarfile
import time
from collections.abc import Callable, Iterable
from functools import partial

import pytest
from tests.conformance.adversarial_table import cases, expected
from tests.seal.bundle_making import (
    archived,
    fault_name,
    members_of,
    packed,
    parts,
    respoken,
    sealed,
    tarred,
    verified,
)

from affidavit.base.exits import Exit
from affidavit.seal.bundle.container import BundleLimits

GOOD = sealed()
MANIFEST, EVENTS = members_of(GOOD)
TAR = gzip.decompress(GOOD)
FILES = (("manifest.json", MANIFEST), ("events.ndjson", EVENTS))


def bundles_with(texts: Iterable[bytes]) -> list[bytes]:
    return [with_data(text) for text in texts]


def with_data(text: bytes) -> bytes:
    """Return a bundle whose first event has this text as its data, with the sums made right."""
    manifest, events = parts()
    line = EVENTS.splitlines()[0]
    start = line.index(b',"data":') + len(b',"data":')
    end = line.rindex(b',"datacontenttype"')
    return respoken(manifest, [line[:start] + text + line[end:] + b"\n", *events[1:]])


def link(
    kind: bytes, name: str = "events.ndjson", target: str = "manifest.json"
) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def with_pax(**headers: str) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in FILES:
            info = tarfile.TarInfo(name)
            info.size, info.pax_headers = len(content), headers
            archive.addfile(info, io.BytesIO(content))
    return packed(target.getvalue())


def with_long_name() -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=tarfile.GNU_FORMAT) as archive:
        archive.addfile(tarfile.TarInfo("a" * 100_000))
    return packed(target.getvalue())


def named(raw: bytes) -> bytes:
    """Return an archive whose first member has these bytes as its name, checksum and all."""
    block = bytearray(TAR[:512])
    block[:100] = raw.ljust(100, b"\0")
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return packed(bytes(block) + TAR[512:])


PATHS = (b"../evil", b"/abs", b"C:\\x", b"a\\..\\b", b"a\0b", b"", b".", b"a/./b", b"a//b")
DEPTH = 64
JSON_TEXTS: dict[str, list[bytes]] = {
    "ADV-001": [b'{"verdict":"contradicted","verdict":"supported"}'],
    "ADV-002": [b'{"a":1,"\\u0061":2}'],
    "ADV-003": [b'{"evidence_index":{"d":{"value":1,"value":2}}}'],
    "ADV-004": [b'{"confidence":%s}' % n for n in (b"NaN", b"Infinity", b"-Infinity")],
    "ADV-005": [b'{"confidence":1e999}'],
    "ADV-006": [b'{"seq":9007199254740993}'],
    "ADV-007": [b'{"seq":18446744073709551616}'],
    "ADV-008": [b"[%s]" % (b"9" * 5000)],
    "ADV-009": [b'{"x":-0.0}'],
    "ADV-010": [b'{"x":1.0}', b'{"x":1e2}', b'{"x":0.10}'],
    "ADV-011": [b"[" * 100_000],
    "ADV-012": [b"[" * DEPTH + b"]" * DEPTH],
    "ADV-013": [b'{"s":"\\ud800"}'],
    "ADV-014": [bytes.fromhex("22 ED A0 80 22")],
    "ADV-015": [bytes.fromhex("22 C0 AF 22")],
    "ADV-019": [bytes.fromhex("22 01 22")],
    "ADV-020": ['{"\ufb33":1,"\U0001f600":2}'.encode()],
    "ADV-021": [b'{"b":1, "a":2}', b'{"b":1,"a":2}'],
    "ADV-022": ['{"e\u0301":2,"é":1}'.encode()],
    "ADV-023": [b'{"u":"http:\\/\\/x"}', b'{"u":"\\u0061"}'],
}
SMALL = BundleLimits(max_decode_bytes=10_000_000)
ZEROS = ("events.ndjson", bytes(50_000_000))


def whole_lines(*lines: bytes) -> list[bytes]:
    """Return bundles whose first line is one of these, and the same of their manifests."""
    manifest, events = parts()
    return [respoken(manifest, [line + b"\n", *events[1:]]) for line in lines] + [
        archived(("manifest.json", line), FILES[1]) for line in lines
    ]


FIRST = EVENTS.splitlines()[0]
CONSTRUCTIONS: dict[str, Callable[[], list[bytes]]] = {
    **{case: partial(bundles_with, texts) for case, texts in JSON_TEXTS.items()},
    "ADV-016": lambda: whole_lines(b"\xef\xbb\xbf{}"),
    "ADV-017": lambda: [archived(("manifest.json", MANIFEST.decode().encode("utf-16")), FILES[1])],
    "ADV-018": lambda: whole_lines(b"{}{}", b"{} x", b"{}\0"),
    "ADV-075": lambda: [named(path) for path in PATHS],
    "ADV-076": lambda: [with_pax(path="../../evil")],
    "ADV-077": lambda: [
        archived(FILES[0], link(kind)) for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE)
    ],
    "ADV-078": lambda: [
        *(
            archived(FILES[0], link(kind, target=""))
            for kind in (tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE, b"S")
        ),
        with_pax(**{"GNU.sparse.realsize": "1000000000000"}),
    ],
    "ADV-079": lambda: [archived(FILES[0], FILES[0], FILES[1]), archived(*FILES, FILES[1])],
    "ADV-080": lambda: [
        archived(*FILES, ("Events.ndjson", EVENTS)),
        archived(FILES[0], ("Events.ndjson", EVENTS), FILES[1]),
    ],
    "ADV-081": lambda: [
        archived(*FILES, ("extra.txt", b"x")),
        archived(("extra.txt", b"x"), *FILES),
        archived(FILES[0]),
        archived(),
        archived(("manifest.json", MANIFEST.replace(b'"events.ndjson":{', b'"e":{')), FILES[1]),
    ],
    "ADV-082": lambda: [archived(FILES[0], ("events.ndjson", EVENTS.replace(b"14:30", b"14:31")))],
    "ADV-083": lambda: [packed(TAR + tarred(FILES)), packed(TAR + bytes(20_480))],
    "ADV-084": lambda: [GOOD + GOOD, GOOD + gzip.compress(b"")],
    "ADV-085": lambda: [GOOD + bytes(64), GOOD + b"x", GOOD + bytes(1_000_000)],
    "ADV-086": lambda: [
        GOOD[:-4],
        GOOD[:-8] + b"\0\0\0\0" + GOOD[-4:],
        GOOD[:-4] + b"\0\0\0\0",
        GOOD[:100],
        GOOD[:5],
    ],
    "ADV-087": lambda: [packed(tarred((("manifest.json", MANIFEST), ZEROS)))],
    "ADV-088": lambda: [
        archived(*(tarfile.TarInfo(f"m{number}") for number in range(1000))),
        archived(*FILES, *(tarfile.TarInfo(f"m{number}") for number in range(1000))),
        with_long_name(),
        with_pax(path="a" * 100_000),
    ],
    "ADV-089": lambda: [lzma.compress(TAR), bz2.compress(TAR), b"\x28\xb5\x2f\xfd" + TAR, TAR, b""],
}


def test_the_control_is_accepted() -> None:
    assert verified(GOOD).exit is Exit.YES
    assert fault_name(with_data(b'{"run_id":"run-1"}')) is None


@pytest.mark.parametrize("case", CONSTRUCTIONS)
def test_a_hostile_bundle_is_refused_by_code(case: str) -> None:
    limits = SMALL if case == "ADV-087" else BundleLimits()
    for bundle in CONSTRUCTIONS[case]():
        start = time.process_time()
        assert fault_name(bundle, limits) in expected(case)
        assert time.process_time() - start < 1


def test_a_line_of_64_megabytes_is_refused_before_it_is_held() -> None:
    manifest, _ = parts()
    bundle = respoken(manifest, [b'{"a":"' + b"a" * 64_000_000 + b'"}\n'])
    assert fault_name(bundle) == "limit.line_bytes"


def test_every_case_of_the_three_layers_is_built() -> None:
    assert set(CONSTRUCTIONS) == cases("json") | cases("canon") | cases("archive")
