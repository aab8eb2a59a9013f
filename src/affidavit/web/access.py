"""Authenticates the caller of a request by API key or loopback address, and limits its rate."""

import math
import re
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from msgspec import Struct

from affidavit.app.clock import now
from affidavit.base.errors import AffidavitError
from affidavit.base.faults import service as faults
from affidavit.store.api_keys import DEFAULT_WORKSPACE, ApiKey, ApiKeyFile, ApiKeyScope
from affidavit.store.roles import ROLE_SCOPES, SignIn
from affidavit.web.problems import RETRY_AFTER_BUSY_SECONDS
from affidavit.web.settings import is_loopback

BURST_SECONDS: Final = 2.0
MAX_CALLERS: Final = 10_000
"""Beyond this, the caller that was idle the longest is dropped: its bucket is full again."""


class RateLimiter:
    """A token bucket for each caller. `now` is a monotonic clock in seconds."""

    def __init__(self, rate: float, now: Callable[[], float]) -> None:
        self.rate = rate
        self._size = max(1.0, rate * BURST_SECONDS)
        self._now = now
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def seconds_to_wait(self, caller: str, cost: float = 1.0) -> int:
        """Take tokens and return 0, or return in how many whole seconds there will be enough.

        More than fit into the bucket are taken in advance when it is full.
        """
        if self.rate <= 0:
            return 0
        moment = self._now()
        left, since = self._buckets.pop(caller, (self._size, moment))
        left = min(self._size, left + (moment - since) * self.rate)
        needed = min(cost, self._size)
        wait = 0 if left >= needed else math.ceil((needed - left) / self.rate)
        self._buckets[caller] = (left if wait else left - cost, moment)
        if len(self._buckets) > MAX_CALLERS:
            self._buckets.popitem(last=False)
        return wait


class CallerSlots:
    """The slots for concurrent requests. No caller may use more than are left for the others."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._used: Counter[str] = Counter()

    @contextmanager
    def take(self, caller: str) -> Iterator[None]:
        """Use a slot within the block, or raise that there is none for this caller."""
        free = self._count - self._used.total()
        if self._used[caller] >= free:
            # A refusal tells the caller more than a wait in a queue that it cannot see.
            fault = faults.BUSY if free < 1 else faults.SHARE_USED
            raise AffidavitError(fault, seconds=RETRY_AFTER_BUSY_SECONDS, count=self._used[caller])
        self._used[caller] += 1
        try:
            yield
        finally:
            self._used[caller] -= 1
            if not self._used[caller]:
                del self._used[caller]


# A request that a proxy forwarded does not come from this machine, whatever its address is.
_PROXY_HEADERS: Final = frozenset({"forwarded", "x-forwarded-for", "x-real-ip", "via"})
# A web page can make a browser send requests to this machine under another host name (DNS
# rebinding), so an anonymous request must name this machine as its host.
_LOCAL_HOST: Final = re.compile(
    r"(?:localhost|127\.0\.0\.1|\[::1\])(?::[0-9]{1,5})?", re.IGNORECASE
)
_BEARER: Final = "bearer "


class Caller(Struct, frozen=True):
    """The caller of a request. `refusal` is why a caller without a valid key has no access."""

    address: str
    key: ApiKey | None = None
    refusal: AffidavitError | None = None
    user: SignIn | None = None
    token: str | None = None
    """Of the sign-in in the cookie."""

    @property
    def name(self) -> str:
        """The id of the key or the user, or the address of a caller who is neither."""
        if self.user is not None:
            return self.user.user_id
        return self.address if self.key is None else self.key.id

    @property
    def workspace(self) -> str:
        """The workspace whose documents and ledgers the caller reaches."""
        if self.user is not None:
            return self.user.workspace
        return DEFAULT_WORKSPACE if self.key is None else self.key.workspace

    @property
    def shown_name(self) -> str:
        """Who decides, for the history of a ledger."""
        if self.user is not None:
            return self.user.name
        return f"local user at {self.address}" if self.key is None else self.key.name

    @property
    def identity(self) -> str:
        """Who it is, for the audit log: a user and an API key may have one name."""
        if self.user is not None:
            return f"user {self.user.name}"
        return self.shown_name if self.key is None else f"API key {self.key.name} ({self.key.id})"

    @property
    def scopes(self) -> tuple[ApiKeyScope, ...]:
        """What the caller may do."""
        if self.user is not None:
            given: Collection[ApiKeyScope] = ROLE_SCOPES[self.user.role]
        elif self.key is not None:
            given = self.key.scopes
        else:
            given = () if self.refusal is not None else tuple(ApiKeyScope)
        return tuple(scope for scope in ApiKeyScope if scope in given)

    def require(self, scope: ApiKeyScope) -> None:
        """Raise unless the caller has the scope."""
        if self.user is not None:
            if scope not in ROLE_SCOPES[self.user.role]:
                raise AffidavitError(
                    faults.ROLE_NEEDED, role=self.user.role.value, scope=scope.value
                )
        elif self.key is None:
            if self.refusal is not None:
                raise self.refusal
        elif scope not in self.key.scopes:
            raise AffidavitError(faults.SCOPE_NEEDED, key=self.key.id, scope=scope.value)


class AccessControl:
    """Identifies callers, and limits the rate of each.

    Without a key only loopback addresses have access, and only if `anonymous` is set.
    """

    def __init__(
        self,
        keys: ApiKeyFile,
        key_rates: RateLimiter,
        address_rates: RateLimiter,
        *,
        anonymous: bool,
        now: Callable[[], str] = now,
    ) -> None:
        self._keys = keys
        self._key_rates = key_rates
        self._address_rates = address_rates
        self._anonymous = anonymous
        self._now = now

    def identify(self, address: str, headers: Mapping[str, str]) -> Caller:
        """Return the caller."""
        given = headers.get("authorization")
        if given is None:
            return Caller(address, None, self._anonymous_refusal(address, headers))
        found = (
            self._keys.find(given[len(_BEARER) :].strip(), self._now())
            if _is_bearer(given)
            else None
        )
        if found is not None:
            return Caller(address, found)
        problem = "the API key is not valid for this service"
        return Caller(address, None, AffidavitError(faults.KEY_NEEDED, problem=problem))

    def require_rate(self, caller: Caller) -> None:
        """Raise if the caller exceeds its rate. Callers without a valid key count by address."""
        who, rates = ("address", self._address_rates)
        if caller.user is not None:
            who, rates = ("user", self._key_rates)
        elif caller.key is not None:
            who, rates = ("API key", self._key_rates)
        if seconds := rates.seconds_to_wait(caller.name):
            raise AffidavitError(faults.TOO_OFTEN, who=who, rate=f"{rates.rate:g}", seconds=seconds)

    def _anonymous_refusal(self, address: str, headers: Mapping[str, str]) -> AffidavitError | None:
        if not self._anonymous or not is_loopback(address) or _PROXY_HEADERS & headers.keys():
            return AffidavitError(faults.KEY_NEEDED, problem="this needs an API key")
        if not _LOCAL_HOST.fullmatch(headers.get("host", "")):
            return AffidavitError(faults.WRONG_HOST)
        return None


def _is_bearer(given: str) -> bool:
    return given[: len(_BEARER)].lower() == _BEARER
