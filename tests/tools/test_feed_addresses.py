"""Which hosts and addresses a tool may reach."""

import ipaddress

import pytest

from affidavit.base.http_address import Origin
from affidavit.tools.allow_list import allow_list_from, is_public
from affidavit.tools.feed import SourceFailedError

PUBLIC = {
    "an address of the open Internet": ("93.184.216.34", True),
    "one of IPv6": ("2606:2800:220:1:248:1893:25c8:1946", True),
    "loopback": ("127.0.0.1", False),
    "any loopback": ("127.9.9.9", False),
    "loopback of IPv6": ("::1", False),
    "nothing": ("0.0.0.0", False),  # noqa: S104 - refused, not bound
    "nothing in IPv6": ("::", False),
    "private": ("10.1.2.3", False),
    "private, the middle block": ("172.16.0.1", False),
    "private, at home": ("192.168.1.1", False),
    "shared by a carrier, and a metadata service": ("100.100.100.200", False),
    "link-local, and the metadata service": ("169.254.169.254", False),
    "the metadata service of IPv6": ("fd00:ec2::254", False),
    "a metadata service with a public number": ("168.63.129.16", False),
    "link-local of IPv6": ("fe80::1", False),
    "multicast": ("224.0.0.1", False),
    "multicast of IPv6": ("ff02::1", False),
    "broadcast": ("255.255.255.255", False),
    "documentation": ("192.0.2.1", False),
    "loopback in the clothes of IPv6": ("::ffff:127.0.0.1", False),
    "public in the clothes of IPv6": ("::ffff:93.184.216.34", True),
    "private behind NAT64": ("64:ff9b::10.0.0.1", False),
    "private by 6to4": ("2002:0a00:0001::", False),
    "Teredo": ("2001:0:4136:e378:8000:63bf:3fff:fdd2", False),
    "site-local of old": ("fec0::1", False),
}


@pytest.mark.parametrize(("text", "wanted"), PUBLIC.values(), ids=PUBLIC.keys())
def test_only_public_addresses_are_public(text: str, wanted: bool) -> None:
    assert is_public(ipaddress.ip_address(text)) is wanted


HOSTS = {
    "nothing is allowed by itself": ((), ("https", "example.com", 443), False),
    "a name with the usual port": (("example.com",), ("https", "example.com", 443), True),
    "also without TLS": (("example.com",), ("http", "example.com", 80), True),
    "letters' case does not matter": (("Example.COM",), ("https", "example.com", 443), True),
    "the root dot does not matter": (("example.com",), ("https", "example.com.", 443), True),
    "no other port": (("example.com",), ("https", "example.com", 8443), False),
    "the port that is named": (("example.com:8443",), ("https", "example.com", 8443), True),
    "then not the usual one": (("example.com:8443",), ("https", "example.com", 443), False),
    "no name below it": (("example.com",), ("https", "api.example.com", 443), False),
    "no name that ends like it": (("example.com",), ("https", "badexample.com", 443), False),
    "an address": (("10.0.0.1",), ("http", "10.0.0.1", 80), True),
    "an address with a port": (("10.0.0.1:81",), ("http", "10.0.0.1", 81), True),
    "an address of IPv6 with a port": (("[::1]:81",), ("http", "::1", 81), True),
    "a network": (("10.0.0.0/8",), ("http", "10.9.9.9", 80), True),
    "an address outside of it": (("10.0.0.0/8",), ("http", "11.0.0.1", 80), False),
    "a name is not in a network": (("10.0.0.0/8",), ("http", "example.com", 80), False),
    "localhost": (("localhost:1",), ("http", "localhost", 1), True),
    "and its addresses": (("localhost:1",), ("http", "127.0.0.1", 1), True),
}


@pytest.mark.parametrize(("allow", "host", "wanted"), HOSTS.values(), ids=HOSTS.keys())
def test_hosts(allow: tuple[str, ...], host: tuple[str, str, int], wanted: bool) -> None:
    allowed = allow_list_from(allow)
    if wanted:
        allowed.require_host(Origin(*host))
    else:
        with pytest.raises(SourceFailedError, match=r"^forbidden: "):
            allowed.require_host(Origin(*host))


NO_ENTRIES = ["", "https://example.com", "example.com/x", "*", "*.com", "a b", "x:0", "x:70000"]


@pytest.mark.parametrize("entry", NO_ENTRIES)
def test_invalid_entries_of_the_allow_list_are_refused(entry: str) -> None:
    with pytest.raises(ValueError, match=r"^"):
        allow_list_from((entry,))
