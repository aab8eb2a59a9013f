"""Real manuals to measure with, as Debian ships them; nothing of them is kept here."""

import gzip
from pathlib import Path

PACKAGES = (
    *("debian-policy", "developers-reference", "maint-guide"),
    *("anarchism", "base-files", "debian-history", "doc-debian", "gnucash-docs"),
)
MANUALS = {
    "policy.pdf": Path("/usr/share/doc/debian-policy/policy.pdf.gz"),
    "developers-reference.html": Path("/usr/share/developers-reference/developers-reference.html"),
    "maint-guide.en.pdf": Path("/usr/share/doc/maint-guide/maint-guide.en.pdf"),
    "constitution.txt": Path("/usr/share/doc/debian/constitution.txt.gz"),
    "GPL-3.txt": Path("/usr/share/common-licenses/GPL-3"),
    "gnucash-guide-en.pdf": Path("/usr/share/doc/gnucash-docs/gnucash-guide-en.pdf.gz"),
    "project-history.en.pdf": Path("/usr/share/doc/debian-history/docs/project-history.en.pdf"),
    "secJ5.html": Path("/usr/share/doc/anarchism/html/secJ5.html"),
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
