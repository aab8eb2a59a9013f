"""The limits of the web service, and which addresses count as this machine."""

from functools import lru_cache
from ipaddress import ip_address

from msgspec import Struct

from affidavit.app.service import RequestLimits
from affidavit.app.tool_queries import MAX_DEADLINE_MS
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
    max_scan_bytes: int = 16 * 1024
    """A longer malformed body is refused without searching for the place, which costs CPU time."""
    max_depth: int = 32  # Half the limit of a receipt, which contains the request.
    key_rate: float = 100.0
    address_rate: float = 50.0
    max_running: int = 64
    body_seconds: float = 10.0

    max_deadline_ms: int = MAX_DEADLINE_MS
    max_upload_bytes: int = 64 * MEGABYTE

    @property
    def request_limits(self) -> RequestLimits:
        """The limits of a request to answer."""
        json = JsonLimits(
            max_bytes=self.max_body_bytes,
            max_depth=self.max_depth,
            max_scan_bytes=self.max_scan_bytes,
        )
        return RequestLimits(json, self.max_deadline_ms)

    @property
    def receipt_limits(self) -> JsonLimits:
        """The limits of a receipt's JSON: it contains a request, so it is nested deeper."""
        return JsonLimits(max_bytes=self.max_body_bytes, max_scan_bytes=self.max_scan_bytes)
