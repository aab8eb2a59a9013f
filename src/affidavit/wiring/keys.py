"""Where the keys of a project lie, and what they need from outside: chance, time, a passphrase."""

import os
import secrets
from datetime import datetime
from pathlib import Path

from affidavit.store.keys import KeyFolder
from affidavit.wiring.clock import time_of

FOLDER = ".affidavit"
VARIABLE = "AFFIDAVIT_KEY_PASSPHRASE"


def key_folder(root: Path) -> KeyFolder:
    """Return the keys of the project at a place."""
    return KeyFolder(root / FOLDER / "keys")


def chance(size: int) -> bytes:
    """Return bytes that nobody can foresee."""
    return secrets.token_bytes(size)


def find_passphrase() -> str | None:
    """Return the passphrase of private keys that the environment holds; empty is none."""
    return os.environ.get(VARIABLE) or None


def moment_of(text: str | None) -> datetime:
    """Return the moment that the user gave, or now if none was given."""
    return datetime.fromisoformat(time_of(text))
