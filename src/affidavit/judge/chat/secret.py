"""The key of a server: sent, and never shown."""

import re
from collections.abc import Mapping
from typing import Final

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import judge as faults

_KEY: Final = re.compile(r"[!-~]{1,4096}")
_SHOWN: Final = "[key]"
_LEAST_SECRET: Final = 6  # "none" and "EMPTY" are what servers without keys are given.


class Secret:
    """A key. It has no readable form, no equality and no pickle: it cannot end in a file."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def header(self) -> str:
        """Return the value of the Authorization header."""
        return f"Bearer {self._value}"

    def hide(self, text: str) -> str:
        """Return a text of the server without the key, which some servers echo."""
        if len(self._value) < _LEAST_SECRET:
            return text
        return text.replace(self._value, _SHOWN)

    def __repr__(self) -> str:
        return _SHOWN

    def __reduce__(self) -> str:
        raise TypeError("a key does not leave its process")


def secret_from(variable: str, environment: Mapping[str, str]) -> Secret:
    """Return the key that an environment variable holds."""
    value = environment.get(variable, "").strip()
    if not _KEY.fullmatch(value):
        raise AffidavitError(faults.KEY_MISSING, variable=variable)
    return Secret(value)
