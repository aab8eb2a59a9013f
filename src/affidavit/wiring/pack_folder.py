"""Where the packs of a user are: the config folder, as the XDG specification names it."""

import os
from collections.abc import Mapping
from pathlib import Path


def pack_folder(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Return the folder of the user's packs; None where there is neither a config nor a home.

    A relative XDG_CONFIG_HOME is to be ignored: XDG Base Directory Specification.
    """
    named = environment.get("XDG_CONFIG_HOME", "")
    if named and Path(named).is_absolute():
        return Path(named) / "affidavit" / "packs"
    home = environment.get("HOME", "")
    return Path(home) / ".config" / "affidavit" / "packs" if home else None
