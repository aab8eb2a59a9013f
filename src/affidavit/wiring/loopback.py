"""Which addresses are this machine."""

from functools import lru_cache
from ipaddress import ip_address


@lru_cache(1024)  # A service asks at every request.
def is_loopback(host: str) -> bool:
    """Say whether an address, or the name localhost, is this machine and nobody else."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
