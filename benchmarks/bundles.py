"""Verifying and writing a bundle beside inflating, deflating and hashing the same bytes."""

import hashlib
import random
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

from affidavit.app.bundles import sharing_between
from affidavit.base.exits import Exit
from affidavit.seal.bundle.container import BundleLimits
from affidavit.seal.bundle.manifest import ManifestDetails, manifest_bytes
from affidavit.seal.bundle.reader import verify_bundle
from affidavit.seal.bundle.writer import (
    COMPRESSION_LEVEL,
    BundlePacker,
    EventDraft,
    EventWriter,
    RunIdentity,
)
from benchmarks.figure import Figure, best_cpu_seconds, best_wall_seconds

EVENTS = 1_000_000
QUICK_EVENTS = 50_000  # Enough for processes to share them.
PORTION = 1 << 16
MEGABYTE = 1 << 20
LIMITS = BundleLimits(
    max_bundle_bytes=1 << 40, max_decode_bytes=1 << 40, max_events_bytes=1 << 40, max_events=1 << 40
)
RUN = RunIdentity("benchmark", "urn:affidavit:run", "affidavit", "0.1.0")
PEAK = """
import resource, sys
from benchmarks.bundles import verified
verified(sys.argv[1])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def measure(quick: bool = False) -> list[Figure]:
    """Write a bundle, and verify it; a million events, some 500 bytes each."""
    count = QUICK_EVENTS if quick else EVENTS
    rounds = 10 if quick else 2
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "bundle.tar.gz")
        return [
            *writing(path, count, rounds),
            *verifying(path, count, rounds),
            sharing(path, count, rounds),
        ]


def verifying(path: Path, count: int, rounds: int) -> list[Figure]:
    """Compare a verification with the least that it has to do, and look at its memory."""
    ours, least = best_cpu_seconds(
        rounds, lambda: verified(str(path)), lambda: inflated_and_hashed(path)
    )
    shown = f"{count} events: {ours:.2f} s, inflating and hashing {least:.2f} s"
    done = subprocess.run(
        [sys.executable, "-c", PEAK, str(path)], capture_output=True, text=True, check=True
    )
    peak = int(done.stdout) * 1024 / MEGABYTE
    return [
        Figure(
            f"verify a bundle of {count} events",
            "at most 4x inflating and hashing its bytes",
            ours / least,
            "lower",
            4,
            shown,
        ),
        Figure(
            "memory of that, in MB",
            "under 200 MB",
            peak,
            "lower",
            200,
            f"peak of a process {peak:.0f}",
        ),
    ]


def sharing(path: Path, count: int, rounds: int) -> Figure:
    """Compare a verification by two processes with the least work of one, on the clock."""
    ours, least = best_wall_seconds(
        rounds, lambda: verified(str(path), 2), lambda: inflated_and_hashed(path)
    )
    return Figure(
        f"verify a bundle of {count} events with -j 2",
        "on the clock, at most 3.5x inflating and hashing on one core",
        ours / least,
        "lower",
        3.5,
        f"{ours:.2f} s, inflating and hashing {least:.2f} s",
    )


def writing(path: Path, count: int, rounds: int) -> list[Figure]:
    """Compare sealing with deflating and hashing what comes out of it."""
    some = list(drafts(1000))
    write(path, islice(cycle(some), count))
    raw = path.with_name("raw.tar")
    unpack(path, raw)
    ours, least = best_cpu_seconds(
        rounds,
        lambda: write(path, islice(cycle(some), count)),
        lambda: deflated_and_hashed(raw),
    )
    raw.unlink()
    shown = f"{count} events: {ours:.2f} s, deflating and hashing {least:.2f} s"
    return [
        Figure(
            f"write a bundle of {count} events",
            "at most 3x deflating and hashing its bytes",
            ours / least,
            "lower",
            3,
            shown,
        )
    ]


def drafts(count: int) -> Iterator[EventDraft]:
    """Yield model and tool calls that differ in their words."""
    chance = random.Random(7)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(chance.choices(letters, k=chance.randint(3, 9))) for _ in range(3000)]
    for number in range(count):
        asked = " ".join(chance.choices(words, k=4))
        at = f"2026-01-31T14:{number // 60 % 60:02}:{number % 60:02}Z"
        if number % 3:
            found = {"hits": chance.randrange(100)}
            data = {"tool": "search", "input": {"q": asked}, "output": found}
            yield EventDraft("affidavit.tool.call", at, data)
        else:
            said = " ".join(chance.choices(words, k=5))
            data = {"model": "m-1", "input": asked, "output": said}
            yield EventDraft("affidavit.model.call", at, data)


def write(path: Path, chosen: Iterator[EventDraft]) -> None:
    """Write a bundle as the product does: lines aside, then the archive, then its header."""
    writer = EventWriter(RUN)
    with tempfile.TemporaryFile() as lines, tempfile.TemporaryFile() as body:
        for draft in chosen:
            lines.write(writer.append(draft))
        totals = writer.finish()
        contents = totals.contents(RUN.id)
        manifest = manifest_bytes(contents, ManifestDetails(producer=RUN.producer_as_wire()))
        lines.seek(0)
        packing = BundlePacker()
        pieces = iter(lambda: lines.read(PORTION), b"")
        for piece in packing.body(manifest, pieces, totals.size):
            body.write(piece)
        body.seek(0)
        with path.open("wb") as target:
            target.write(packing.header())
            target.writelines(iter(lambda: body.read(PORTION), b""))


def verified(path: str, jobs: int = 1) -> None:
    """Verify a bundle, with all its steps."""
    with Path(path).open("rb") as stream:
        assert verify_bundle(stream, LIMITS, run=sharing_between(jobs)).exit is Exit.YES


def inflated_and_hashed(path: Path) -> str:
    """Inflate a bundle and hash what comes out, and do nothing else."""
    inflate, digest = zlib.decompressobj(31), hashlib.sha256()
    with path.open("rb") as stream:
        while piece := stream.read(PORTION):
            digest.update(inflate.decompress(piece))
    return digest.hexdigest()


def unpack(path: Path, raw: Path) -> None:
    """Write what a bundle unpacks to."""
    inflate = zlib.decompressobj(31)
    with path.open("rb") as stream, raw.open("wb") as target:
        while piece := stream.read(PORTION):
            target.write(inflate.decompress(piece))


def deflated_and_hashed(raw: Path) -> str:
    """Deflate and hash a file, and do nothing else."""
    deflate, digest = zlib.compressobj(COMPRESSION_LEVEL, zlib.DEFLATED, 31), hashlib.sha256()
    with raw.open("rb") as stream:
        while piece := stream.read(PORTION):
            digest.update(piece)
            deflate.compress(piece)
    deflate.flush()
    return digest.hexdigest()
