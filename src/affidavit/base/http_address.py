"""Validates URLs for requests, and splits them into origin and target."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from urllib.parse import SplitResult, urlsplit

DEFAULT_PORTS: Final = {"https": 443, "http": 80}


class UrlProblem(StrEnum):
    """What is wrong with a URL."""

    UNREADABLE = "the address cannot be read"
    UNUSABLE = "the address must be http:// or https:// with a host"
    HAS_USER = "the address must not hold a user or a password"


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host and port of a URL."""

    scheme: str
    host: str
    port: int


def parse_url(url: str) -> SplitResult | UrlProblem:
    """Return the parts of a valid URL, or what is wrong with it."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return UrlProblem.UNREADABLE
    # Browsers read a backslash as a slash, other clients as a part of the host.
    is_clean = url.isascii() and url.isprintable() and " " not in url and "\\" not in url
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname or not is_clean or port == 0:
        return UrlProblem.UNUSABLE
    if parts.username is not None or parts.password is not None:
        return UrlProblem.HAS_USER
    return parts


def origin_of(parts: SplitResult) -> Origin:
    """Return the origin of a URL, with the default port of its scheme."""
    return Origin(parts.scheme, parts.hostname or "", parts.port or DEFAULT_PORTS[parts.scheme])


def request_target(parts: SplitResult) -> str:
    """Return the request target of a URL: the path and the query."""
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
