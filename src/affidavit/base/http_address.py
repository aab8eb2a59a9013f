"""Addresses that can be asked, and what is wrong with those that cannot."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from urllib.parse import SplitResult, urlsplit

DEFAULT_PORTS: Final = {"https": 443, "http": 80}


class UrlProblem(StrEnum):
    """What is wrong with an address, in words."""

    UNREADABLE = "the address cannot be read"
    UNUSABLE = "the address must be http:// or https:// with a host"
    HAS_USER = "the address must not hold a user or a password"


@dataclass(frozen=True, slots=True)
class Origin:
    """What a connection leads to."""

    scheme: str
    host: str
    port: int


def parse_url(url: str) -> SplitResult | UrlProblem:
    """Return the parts of an address that can be asked, or what is wrong with it."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return UrlProblem.UNREADABLE
    # A backslash is a slash to browsers and part of the host to others.
    is_clean = url.isascii() and url.isprintable() and " " not in url and "\\" not in url
    if parts.scheme not in DEFAULT_PORTS or not parts.hostname or not is_clean or port == 0:
        return UrlProblem.UNUSABLE
    if parts.username is not None or parts.password is not None:
        return UrlProblem.HAS_USER
    return parts


def origin_of(parts: SplitResult) -> Origin:
    """Return where an address leads, with the port that its scheme implies."""
    return Origin(parts.scheme, parts.hostname or "", parts.port or DEFAULT_PORTS[parts.scheme])


def request_target(parts: SplitResult) -> str:
    """Return what the first line of a request names: the path and the query."""
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
