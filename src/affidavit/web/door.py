"""Who is at the door: a holder of an API key, or somebody from an address; and whether they may.

Without a key only this machine is let in, and only where the user allows it. A request that names
another host is refused then, for a page in a browser may have been given our address under its own
name; one that a proxy passed on does not come from this machine, whatever its address says.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import service as faults
from affidavit.store.api_keys import ApiKeyFile, ApiKeyV1, Scope
from affidavit.web.rates import Rates
from affidavit.wiring.loopback import is_loopback

_PASSED_ON: Final = frozenset({"forwarded", "x-forwarded-for", "x-real-ip", "via"})
_LOCAL_HOST: Final = re.compile(
    r"(?:localhost|127\.0\.0\.1|\[::1\])(?::[0-9]{1,5})?", re.IGNORECASE
)
_BEARER: Final = "bearer "


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks. `stranger` says why somebody without a valid key is not let in, if they are not."""

    address: str
    key: ApiKeyV1 | None = None
    stranger: AffidavitError | None = None

    def require(self, scope: Scope) -> None:
        """Raise unless the caller may do what the scope stands for."""
        if self.key is None:
            if self.stranger is not None:
                raise self.stranger
        elif scope not in self.key.scopes:
            raise AffidavitError(faults.SCOPE_NEEDED, key=self.key.id, scope=scope.value)


class Door:
    """Tells callers apart, and keeps each of them to a rate."""

    def __init__(
        self, keys: ApiKeyFile, key_rates: Rates, address_rates: Rates, *, anonymous: bool
    ) -> None:
        self._keys = keys
        self._key_rates = key_rates
        self._address_rates = address_rates
        self._anonymous = anonymous

    def caller(self, address: str, headers: Mapping[str, str]) -> Caller:
        """Return who it is."""
        given = headers.get("authorization")
        if given is None:
            return Caller(address, None, self._find_objection(address, headers))
        found = self._keys.find(given[len(_BEARER) :].strip()) if _is_bearer(given) else None
        if found is not None:
            return Caller(address, found)
        problem = "the API key is not one that opens this service"
        return Caller(address, None, AffidavitError(faults.KEY_NEEDED, problem=problem))

    def require_patience(self, caller: Caller) -> None:
        """Raise if the caller asks too often. Whoever has no valid key counts by address."""
        who, rates = ("address", self._address_rates)
        if caller.key is not None:
            who, rates = ("API key", self._key_rates)
        name = caller.address if caller.key is None else caller.key.id
        if seconds := rates.seconds_to_wait(name):
            raise AffidavitError(faults.TOO_OFTEN, who=who, rate=f"{rates.rate:g}", seconds=seconds)

    def _find_objection(self, address: str, headers: Mapping[str, str]) -> AffidavitError | None:
        if not self._anonymous or not is_loopback(address) or _PASSED_ON & headers.keys():
            return AffidavitError(faults.KEY_NEEDED, problem="this needs an API key")
        if not _LOCAL_HOST.fullmatch(headers.get("host", "")):
            return AffidavitError(faults.WRONG_HOST)
        return None


def _is_bearer(given: str) -> bool:
    return given[: len(_BEARER)].lower() == _BEARER
