"""Real manuals to measure with, as Debian ships them; nothing of them is kept here."""

import gzip
from pathlib import Path

PACKAGES = ("debian-policy", "developers-reference", "maint-guide")
MANUALS = {
    "policy.pdf": Path("/usr/share/doc/debian-policy/policy.pdf.gz"),
    "developers-reference.html": Path("/usr/share/developers-reference/developers-reference.html"),
    "maint-guide.en.pdf": Path("/usr/share/doc/maint-guide/maint-guide.en.pdf"),
}


def unpack_manuals(folder: Path, *names: str) -> Path:
    """Put the named manuals into a folder and return it; missing ones are named, never skipped."""
    for name in names:
        source = MANUALS[name]
        if not source.exists():
            raise FileNotFoundError(f"{source} is missing: apt-get install {' '.join(PACKAGES)}")
        data = source.read_bytes()
        (folder / name).write_bytes(gzip.decompress(data) if source.suffix == ".gz" else data)
    return folder
