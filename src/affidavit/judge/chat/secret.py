"""The key of a server: sent, and never shown."""

import re
from collections.abc import Mapping
from typing import Final

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import judge as faults
from affidavit.http.secret import is_worth_hiding

_KEY: Final = re.compile(r"[!-~]{1,4096}")
_SHOWN: Final = "[key]"


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
        return text.replace(self._value, _SHOWN) if is_worth_hiding(self._value) else text

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
