"""The hosts and addresses that a tool may connect to: only those of its allow-list.

An entry is a host name (`api.example.com`), an address, or a network (`10.0.0.0/8`), each with a
port unless it is the default of the scheme. A name may only resolve to public addresses. Private,
loopback, link-local and metadata addresses must be listed as an address or a network (`localhost`
includes its own). Every address of a name is checked, and the connection uses a checked address, so
that a changing answer of the name server (DNS rebinding) has no effect.
"""

import ipaddress
import re
import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from affidavit.base.http_address import DEFAULT_PORTS, Origin
from affidavit.tools.feed import FailureReason, SourceFailedError

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

_NAME: Final = re.compile(r"(?=.{1,253}\Z)[a-z0-9_](?:[a-z0-9_-]{0,62}(?:\.[a-z0-9_-]{1,63})*)\.?")
_PORT: Final = re.compile(r"(.*):([0-9]{1,5})")
_LOOPBACK: Final = (ipaddress.ip_network("127.0.0.1/32"), ipaddress.ip_network("::1/128"))

# Not in a private range, but it is the host of the virtual machine (Azure's wire server).
_METADATA: Final = (ipaddress.ip_address("168.63.129.16"),)
# IPv6 addresses that contain an IPv4 address: NAT64 (RFC 6052) and 6to4 (RFC 3056).
_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")


@dataclass(frozen=True, slots=True)
class AllowedHost:
    """One entry of an allow-list. `port` is None for the default of the scheme."""

    name: str | None
    network: Network | None
    port: int | None


@dataclass(frozen=True, slots=True)
class AllowList:
    """The hosts that a tool may connect to, by default none."""

    entries: tuple[AllowedHost, ...] = ()

    def require_host(self, origin: Origin) -> None:
        """Raise unless the list has the host with this port."""
        host, port = origin.host, origin.port
        address = _find_address(host)
        for entry in self.entries:
            if port != (DEFAULT_PORTS[origin.scheme] if entry.port is None else entry.port):
                continue
            if address is None and entry.name == host.rstrip("."):
                return
            if address is not None and entry.network is not None and address in entry.network:
                return
        problem = f"{host}:{port} is not among allow_hosts, so it was not asked"
        raise SourceFailedError(FailureReason.FORBIDDEN, problem)

    def require_address(self, address: Address) -> None:
        """Raise unless the address is public or in the list."""
        if is_public(address) or any(
            entry.network is not None and address in entry.network for entry in self.entries
        ):
            return
        problem = f"the host leads to {address}, which is not public and not among allow_hosts"
        raise SourceFailedError(FailureReason.FORBIDDEN, problem)


def allow_list_from(entries: tuple[str, ...]) -> AllowList:
    """Return the list, or raise ValueError with the invalid entry."""
    return AllowList(tuple(host for text in entries for host in _entries_from(text)))


def is_public(address: Address) -> bool:
    """Say whether an address is public, also if it is an IPv4 address inside an IPv6 one."""
    if isinstance(address, ipaddress.IPv6Address):
        embedded = address.ipv4_mapped or address.sixtofour
        if address in _NAT64:
            embedded = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
        if embedded is not None:
            return is_public(embedded)
        if address.teredo is not None or address.is_site_local:
            return False
    return address.is_global and not address.is_multicast and address not in _METADATA


def resolve_allowed(host: str, port: int, allowed: AllowList) -> list[str]:
    """Return the addresses of a host, or raise unless all of them are allowed.

    One address that is not allowed refuses the host: its owner may be attacking the network.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise SourceFailedError(
            FailureReason.UNREACHABLE, f"no address is known for {host}"
        ) from None
    require_addresses(allowed, found)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def server_identities(addresses: Iterable[str], port: int) -> tuple[str, ...]:
    """Return which servers these addresses are. All addresses of this machine are one."""
    return tuple(dict.fromkeys(f"server:{_machine_at(address)}:{port}" for address in addresses))


def _machine_at(text: str) -> str:
    address = _find_address(text)
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    if address is None:
        return text
    return "this machine" if _is_own(address) else str(address)


def _is_own(address: Address) -> bool:
    """Say whether an address is one of this machine: only those can be bound."""
    if address.is_loopback or address.is_unspecified:
        return True
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((str(address), 0))
    except OSError:
        return False
    return True


def require_addresses(allowed: AllowList, found: Sequence[Any]) -> None:
    """Raise unless every resolved address is allowed."""
    for entry in found:
        address = _find_address(str(entry[4][0]))
        if address is None:
            raise SourceFailedError(
                FailureReason.FORBIDDEN, "the host leads to an address of an unknown form"
            )
        allowed.require_address(address)


def _find_address(text: str) -> Address | None:
    try:
        return ipaddress.ip_address(text.strip("[]").partition("%")[0])
    except ValueError:
        return None


def _entries_from(text: str) -> list[AllowedHost]:
    """Return the hosts of an entry. With a port it is `[::1]:8080` or `127.0.0.1:8080`."""
    match = _PORT.fullmatch(text)
    has_port = match is not None and (":" not in match[1] or match[1].endswith("]"))
    host = (match[1] if match and has_port else text).strip("[]").lower()
    port = int(match[2]) if match and has_port else None
    if port is not None and not 0 < port < 65536:
        raise ValueError(text)
    try:
        return [AllowedHost(None, ipaddress.ip_network(host), port)]
    except ValueError:
        pass
    if not _NAME.fullmatch(host):
        raise ValueError(text)
    named = AllowedHost(host.rstrip("."), None, port)
    if host == "localhost":
        return [named, *(AllowedHost(None, network, port) for network in _LOOPBACK)]
    return [named]
