"""Finds and loads packs by name or path, and writes a first pack for the user to change.

A name is an existing path (a file, or a folder with pack.yaml), then a built-in pack, then a pack
in the config folder. ADR-025 requires that soak resolves packs like lint.
"""

import os
import re
from collections.abc import Iterable, Mapping
from importlib import resources
from pathlib import Path
from typing import Final

from affidavit.base.config import MAX_CONFIG_BYTES
from affidavit.base.errors import AffidavitError, Where
from affidavit.base.faults import bundles as faults
from affidavit.base.faults.bundles import PACK_EXISTS
from affidavit.base.files import is_folder, read_bounded, write_atomically
from affidavit.base.text import excerpt
from affidavit.base.validation import suggestion_for
from affidavit.packs.model import Pack
from affidavit.packs.reader import pack_from_yaml, refuse_collisions


def pack_folder(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Return the folder of the user's packs; None without a config folder and a home.

    The XDG Base Directory Specification says to ignore a relative XDG_CONFIG_HOME.
    """
    named = environment.get("XDG_CONFIG_HOME", "")
    if named and Path(named).is_absolute():
        return Path(named) / "affidavit" / "packs"
    home = environment.get("HOME", "")
    return Path(home) / ".config" / "affidavit" / "packs" if home else None


DEFAULT_PACK: Final = "cicd-starter"
BUILT_IN: Final = "built-in"
_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")
_ENDING: Final = ".yaml"


def load_packs(names: Iterable[str], config: Path | None) -> tuple[Pack, ...]:
    """Load packs without duplicates; raise if two of them collide."""
    return refuse_collisions([load_pack(name, config) for name in names])


def split_names(texts: Iterable[str]) -> list[str]:
    """Return the names in texts like `a,b`; by default the default pack."""
    names: list[str] = []
    for text in texts:
        # A path may contain a comma.
        names += [text] if is_there(Path(text)) else [name.strip() for name in text.split(",")]
    return names or [DEFAULT_PACK]


def load_pack(name: str, config: Path | None) -> Pack:
    """Load one pack. `config` is the folder of the user's own packs."""
    path = Path(name)
    if name and is_there(path):
        return pack_at(path)
    built_in = built_in_packs()
    if name in built_in:
        return built_in_pack(name)
    if config is not None and _NAME.fullmatch(name):
        found = _in_folder(name, config)
        if found is not None:
            return found
    if _looks_like_path(name):
        return pack_at(path)  # Raises the error of the path.
    known = (*built_in, *packs_in(config))
    raise AffidavitError(
        faults.PACK_NOT_FOUND,
        name=excerpt(name),
        advice=f"{suggestion_for(name, known)}, or a path",
    )


def find_pack(name: str, config: Path | None) -> Pack | None:
    """Return a built-in pack or one of the config folder; None if there is none that can be read.

    Unlike `load_pack`, it reads no path, so the name may come from a file that nobody trusts.
    """
    try:
        if name in built_in_packs():
            return built_in_pack(name)
        return _in_folder(name, config) if config is not None and _NAME.fullmatch(name) else None
    except AffidavitError:
        return None


def list_packs(config: Path | None) -> tuple[Pack, ...]:
    """Return the built-in packs and those of the config folder."""
    names = dict.fromkeys((*built_in_packs(), *packs_in(config)))
    return tuple(load_pack(name, config) for name in names)


def pack_at(path: Path) -> Pack:
    """Load the pack of a file, or of the pack.yaml in a folder."""
    file = path
    if is_folder(path):
        file = path / "pack.yaml"
        if not is_there(file):
            raise AffidavitError(faults.PACK_FOLDER, Where(file=str(path)))
    return pack_from_yaml(read_bounded(file, MAX_CONFIG_BYTES), str(file), str(path))


def built_in_packs() -> tuple[str, ...]:
    """Return the names of the built-in packs, sorted."""
    folder = resources.files("affidavit.packs") / "builtin"
    names = (entry.name for entry in folder.iterdir())
    return tuple(sorted(name.removesuffix(_ENDING) for name in names if name.endswith(_ENDING)))


def built_in_pack(name: str) -> Pack:
    """Load a built-in pack."""
    return pack_from_yaml(built_in_text(name), f"{name}{_ENDING}", BUILT_IN)


def built_in_text(name: str) -> bytes:
    """Return the file of a built-in pack."""
    return (resources.files("affidavit.packs") / "builtin" / f"{name}{_ENDING}").read_bytes()


def packs_in(config: Path | None) -> tuple[str, ...]:
    """Return the names of the packs in the config folder, sorted."""
    if config is None:
        return ()
    try:
        entries = sorted(config.iterdir())
    except OSError:
        return ()
    names = (
        entry.name.removesuffix(_ENDING)
        for entry in entries
        if entry.name.endswith(_ENDING) or is_there(entry / "pack.yaml")
    )
    return tuple(name for name in names if _NAME.fullmatch(name))


def _in_folder(name: str, config: Path) -> Pack | None:
    root = config.resolve()
    for path in (config / f"{name}{_ENDING}", config / name / "pack.yaml"):
        if is_there(path):
            if root not in path.resolve().parents:
                raise AffidavitError(faults.PACK_OUTSIDE, Where(file=str(path)), name=name)
            return pack_at(path)
    return None


def is_there(path: Path) -> bool:
    """Return whether a file or folder exists and can be seen."""
    try:
        path.stat()
    except (OSError, ValueError):
        return False
    return True


def _looks_like_path(name: str) -> bool:
    return os.sep in name or "/" in name or name.endswith((".yaml", ".yml"))


_TEMPLATE: Final = """\
# Every field is described in docs/packs.md. Try it: affidavit packs validate {name}.yaml
name: {name}
version: "0.1.0"
kind: quality            # compliance (needs a disclaimer), security or quality
description: What our bundles have to show
author: us
license: Apache-2.0
requires:
  assay_min_version: ">=5.0.0"

rules:
  - id: OURS-001
    severity: error      # error, warning or info
    description: What started has finished
    help_markdown: |
      Say what the rule is for, and how to mend what it finds.
    x-assay:
      requires_signals: [run_inputs]     # affidavit evidence lint --explain completeness
    check:
      type: event_pairs
      start_pattern: "*.started"
      finish_pattern: "*.finished"

  - id: OURS-002
    severity: warning
    description: Every model call names its model
    event_types: [affidavit.model.call]
    x-assay:
      requires_signals: [model_identity]
    check:
      type: conditional
      condition:
        all:
          - path: /type
            equals: affidavit.model.call
      then:
        type: json_path_exists
        paths: [/data/model]
"""


def create_pack(name: str, path: Path) -> Pack:
    """Write a pack to start from; raise if the name is invalid or the file exists."""
    raw = _TEMPLATE.format(name=name).encode("utf-8", "surrogateescape")
    pack = pack_from_yaml(raw, str(path), str(path))
    if path.exists():
        raise AffidavitError(PACK_EXISTS, Where(file=str(path)))
    write_atomically(path, raw)
    return pack
