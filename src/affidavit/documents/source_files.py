"""Lists the source files in the files and folders that the user named, in a fixed order.

Nothing is skipped silently: hidden files are counted; links that leave the named folder and special
files are findings. Links that stay inside lead to files that are listed anyway.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from affidavit.base.faults import evidence as faults
from affidavit.base.faults import input as input_faults
from affidavit.documents.model import DocumentFinding, finding_from_fault


class SourceFile(NamedTuple):
    """A file to read. `filename` is its name in reports: relative to the named folder."""

    path: Path
    filename: str
    named: bool
    """The user named this file, so its extension need not be a known one."""


class SourceListing(NamedTuple):
    """The files under the named paths, and the findings."""

    files: tuple[SourceFile, ...]
    findings: tuple[DocumentFinding, ...]


def list_sources(paths: Iterable[Path]) -> SourceListing:
    """Return the files of the named paths, sorted by name within each path."""
    files: list[SourceFile] = []
    findings: list[DocumentFinding] = []
    for path in paths:
        if path.is_dir():
            _walk_folder(path, files, findings)
        elif path.is_file():
            files.append(SourceFile(path, _readable(path.name), named=True))
        else:
            fault = faults.SOURCE_SPECIAL if path.exists() else faults.SOURCE_MISSING
            findings.append(finding_from_fault(fault, _readable(str(path))))
    return SourceListing(tuple(_distinct(files)), tuple(findings))


def _walk_folder(root: Path, files: list[SourceFile], findings: list[DocumentFinding]) -> None:
    inside = os.path.realpath(root)
    hidden = 0
    for path, is_folder in _entries(root, findings):
        name = _readable(path.relative_to(root).as_posix())
        if path.name.startswith("."):
            hidden += 1
        elif path.is_symlink() and not _is_within(os.path.realpath(path), inside):
            findings.append(finding_from_fault(faults.LINK_LEADS_OUTSIDE, name))
        elif path.is_file():
            files.append(SourceFile(path, name, named=False))
        elif not is_folder:
            findings.append(finding_from_fault(faults.SOURCE_SPECIAL, name))
    if hidden:
        findings.append(
            finding_from_fault(faults.HIDDEN_SKIPPED, _readable(str(root)), read=True, count=hidden)
        )


def _entries(root: Path, findings: list[DocumentFinding]) -> Iterator[tuple[Path, bool]]:
    """Yield everything under a folder in the order of names, each with whether it is a folder.

    A linked folder is not entered: inside the root it is reached by its own name.
    """
    inside = os.path.realpath(root)
    open_folders = [iter(_listed(root, root, findings))]
    while open_folders:
        path = next(open_folders[-1], None)
        if path is None:
            open_folders.pop()
            continue
        is_link, is_folder = path.is_symlink(), path.is_dir()
        if is_link and is_folder and _is_within(os.path.realpath(path), inside):
            continue
        yield path, is_folder and not is_link
        if is_folder and not is_link and not path.name.startswith("."):
            open_folders.append(iter(_listed(path, root, findings)))


def _listed(folder: Path, root: Path, findings: list[DocumentFinding]) -> list[Path]:
    try:
        return sorted(folder.iterdir(), key=lambda path: path.name)
    except OSError as error:
        name = _readable(folder.relative_to(root).as_posix())
        reason = error.strerror or type(error).__name__
        findings.append(finding_from_fault(input_faults.FILE_UNREADABLE, name, reason=reason))
        return []


def _readable(name: str) -> str:
    """Return a name as text; bytes that are not UTF-8 become escapes."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _is_within(path: str, folder: str) -> bool:
    return os.path.commonpath((path, folder)) == folder


def _distinct(files: list[SourceFile]) -> Iterator[SourceFile]:
    """Yield each file once; files with the same name are named by their full paths."""
    names: dict[str, int] = {}
    seen: set[str] = set()
    unique: list[SourceFile] = []
    for file in files:
        real = os.path.realpath(file.path)
        if real not in seen:
            seen.add(real)
            unique.append(file)
            names[file.filename] = names.get(file.filename, 0) + 1
    for file in unique:
        clash = names[file.filename] > 1
        yield file._replace(filename=_readable(file.path.as_posix())) if clash else file
