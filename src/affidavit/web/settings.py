"""The limits of the web service, and which addresses count as this machine."""

from functools import lru_cache
from ipaddress import ip_address

from msgspec import Struct

from affidavit.base.json_values import JsonLimits


@lru_cache(1024)  # Called for every request.
def is_loopback(host: str) -> bool:
    """Say whether an address, or the name localhost, is a loopback address."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


MEGABYTE = 1024 * 1024


class WebSettings(Struct, frozen=True, kw_only=True):
    """The limits of the service. Rates are per second and process; 0 means no limit."""

    anonymous: bool = True
    """Whether callers from this machine need no key."""
    max_body_bytes: int = MEGABYTE
    max_depth: int = 32  # Half the limit of a receipt, which contains the request.
    key_rate: float = 100.0
    address_rate: float = 50.0
    max_running: int = 64
    body_seconds: float = 10.0

    @property
    def json_limits(self) -> JsonLimits:
        """The limits of a request's JSON."""
        return JsonLimits(max_bytes=self.max_body_bytes, max_depth=self.max_depth)
