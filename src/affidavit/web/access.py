"""Authenticates the caller of a request by API key or loopback address, and limits its rate."""

import math
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import service as faults
from affidavit.store.api_keys import ApiKey, ApiKeyFile, ApiKeyScope
from affidavit.web.settings import is_loopback

# How often somebody may ask: a bucket of tokens for each caller, filled at a steady rate.

BURST_SECONDS: Final = 2.0
MAX_CALLERS: Final = 10_000
"""Beyond this the one that was away the longest is forgotten: its bucket was full again anyway."""


class RateLimiter:
    """The buckets of all callers of a kind. `now` is a clock that never goes back, in seconds."""

    def __init__(self, rate: float, now: Callable[[], float]) -> None:
        self.rate = rate
        self._size = max(1.0, rate * BURST_SECONDS)
        self._now = now
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def seconds_to_wait(self, caller: str) -> int:
        """Take a token: 0 if there was one, else after how many whole seconds there is one."""
        if self.rate <= 0:
            return 0
        moment = self._now()
        left, since = self._buckets.pop(caller, (self._size, moment))
        left = min(self._size, left + (moment - since) * self.rate)
        wait = 0 if left >= 1 else math.ceil((1 - left) / self.rate)
        self._buckets[caller] = (left - 1 if left >= 1 else left, moment)
        if len(self._buckets) > MAX_CALLERS:
            self._buckets.popitem(last=False)
        return wait


# Who is at the door: a holder of an API key, or somebody from an address; and whether they may.
#
# Without a key only this machine is let in, and only where the user allows it. A request that names
# another host is refused then, for a page in a browser may have been given our address under its
# own name; one that a proxy passed on does not come from this machine, whatever its address says.

_PROXY_HEADERS: Final = frozenset({"forwarded", "x-forwarded-for", "x-real-ip", "via"})
_LOCAL_HOST: Final = re.compile(
    r"(?:localhost|127\.0\.0\.1|\[::1\])(?::[0-9]{1,5})?", re.IGNORECASE
)
_BEARER: Final = "bearer "


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks. `stranger` says why somebody without a valid key is not let in, if they are not."""

    address: str
    key: ApiKey | None = None
    stranger: AffidavitError | None = None

    def require(self, scope: ApiKeyScope) -> None:
        """Raise unless the caller may do what the scope stands for."""
        if self.key is None:
            if self.stranger is not None:
                raise self.stranger
        elif scope not in self.key.scopes:
            raise AffidavitError(faults.SCOPE_NEEDED, key=self.key.id, scope=scope.value)


class AccessControl:
    """Tells callers apart, and keeps each of them to a rate."""

    def __init__(
        self,
        keys: ApiKeyFile,
        key_rates: RateLimiter,
        address_rates: RateLimiter,
        *,
        anonymous: bool,
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
        if not self._anonymous or not is_loopback(address) or _PROXY_HEADERS & headers.keys():
            return AffidavitError(faults.KEY_NEEDED, problem="this needs an API key")
        if not _LOCAL_HOST.fullmatch(headers.get("host", "")):
            return AffidavitError(faults.WRONG_HOST)
        return None


def _is_bearer(given: str) -> bool:
    return given[: len(_BEARER)].lower() == _BEARER
