"""Refuse every connection beyond this machine, in the suite and in every Python it starts.

Importing this module guards the process; an audit hook cannot be removed. The suite puts
this folder on PYTHONPATH, where Python finds `sitecustomize`, so its children are guarded as well.

Not covered: children started with -I, -E or -S or an emptied environment, and libraries that open
sockets in native code, past Python's socket module.
"""

import sys
from ipaddress import ip_address

REFUSED: list[str] = []
"""The connections refused in this process, so that code which catches the error fails too."""

# Events whose argument names a host to look up, and events that name a socket and an address.
LOOKUPS = frozenset({"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"})
USES = frozenset({"socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg"})


class BeyondLoopbackError(RuntimeError):
    """Not an OSError, so that no code takes it for a network that is down."""


def is_loopback(host: object) -> bool:
    """Tell whether a host, in the form of the socket module, is this machine and nothing else."""
    if isinstance(host, bytes | bytearray):
        host = host.decode("ascii", "replace")
    if host is None:
        return True  # getaddrinfo without a host resolves no name
    if not isinstance(host, str):
        return False
    if host == "localhost":
        return True
    try:
        return ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False


def host_of_use(endpoint: object, address: object) -> object:
    """Return the host that a socket is about to reach; None for a socket without hosts."""
    family = getattr(getattr(endpoint, "family", None), "name", "")
    if not family.startswith("AF_INET") or not isinstance(address, tuple):
        return None
    return address[0]


def refuse_beyond_loopback(event: str, arguments: tuple[object, ...]) -> None:
    """Audit hook: let loopback through, refuse and note everything else."""
    if event in LOOKUPS:
        host = arguments[0]
    elif event in USES:
        host = host_of_use(*arguments[:2])
    else:
        return
    if not is_loopback(host):
        REFUSED.append(f"{event} {host!r}")
        raise BeyondLoopbackError(f"the tests must not leave this machine: {event} {host!r}")


sys.addaudithook(refuse_beyond_loopback)
