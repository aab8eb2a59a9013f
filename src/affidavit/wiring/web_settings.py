"""What bounds a request: sizes, rates, how many at once, and who may come without a key."""

from dataclasses import dataclass

from affidavit.base.json_limits import JsonLimits

MEGABYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class WebSettings:
    """The bounds of the service. Rates are per second and per process; 0 is no bound."""

    anonymous: bool = True
    """Whether a caller from this machine needs no key."""
    max_body_bytes: int = MEGABYTE
    max_depth: int = 32  # Half of what a receipt may have: a request ends up inside of one.
    key_rate: float = 100.0
    address_rate: float = 50.0
    max_running: int = 64
    body_seconds: float = 10.0

    @property
    def json_limits(self) -> JsonLimits:
        """The limits of a request's JSON."""
        return JsonLimits(max_bytes=self.max_body_bytes, max_depth=self.max_depth)
