"""What the pure packages may import and call: same arguments, same result, on every machine.

The tables below are the rule. Each line says what a module is needed for. Everything else is
refused, so a clock, a socket or a file cannot slip in unnoticed.
"""

import ast
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

import pytest
from tests.repository import Import, Module, module_from_source, modules, pure_packages


def names_in(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


# An entry allows itself and everything below it: "datetime" allows datetime.UTC, but
# "random.Random" allows neither the module nor its shared generator.
# These have no files, clock, network, processes, environment or randomness.
EVERYWHERE: Final = names_in(
    """
    __future__ abc affidavit array base64 binascii bisect collections contextlib copy dataclasses
    datetime decimal enum fractions functools hashlib heapq hmac html io.BytesIO io.StringIO
    itertools math msgspec numbers operator pathlib.PurePosixPath re statistics string struct
    textwrap types typing unicodedata uuid.UUID uuid.uuid5
    """
)

# A package or module with everything below it, what it may import in addition, and why.
BESIDES: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "base": {
            "json": "the reference for the sorted compact form",
            "orjson": "JSON comes in and goes out through base and nowhere else",
            "rfc8785": "the canonical form, where orjson is not provably the same",
        },
        "base.files": {
            "errno": "tells a full disk from a missing folder",
            "io.BufferedReader": "the type of a file that is read in pieces",
            "os": "base's one module that touches files: atomic writing, bounded reading",
            "pathlib": "paths come from the caller",
            "stat": "tells a file from a folder or a device",
            "tempfile": "written beside the target, then renamed",
        },
        "base.http_address": {"urllib.parse": "splits an address; opens nothing"},
        "base.http_client": {
            "concurrent.futures": "a lookup or a connection runs in a thread with a deadline",
            "http.client": "the one module that talks HTTP (docs/adr/0016)",
            "ipaddress": "refuses private addresses",
            "socket": "connects within a deadline",
            "ssl": "verifies certificates",
            "threading": "ends an exchange at its deadline",
            "time": "measures the deadline",
            "urllib.parse": "splits an address",
        },
        "base.statistics": {"random.Random": "the bootstrap draws with the caller's seed"},
        "base.config": {
            "tomllib": "the parser of TOML",
            "yaml": "the parser; what its events mean is ours",
        },
        "ledger": {"nupunkt": "finds where a sentence ends"},
        "seal": {
            "cryptography": "Ed25519 and X.509",
            "gzip": "a bundle is compressed, in memory",
            "rfc3161_client": "time stamps by a third party",
            "tarfile": "a bundle is an archive, in memory",
            "zlib": "a bundle is unpacked under a limit",
        },
    }
)

# Imported by at most one module of src/, in this package: one place to audit.
SINGLE_IMPORTER: Final[Mapping[str, str]] = MappingProxyType(
    {"cryptography": "seal", "rfc3161_client": "seal"}
)

# Files and the console, code from text, and values that differ between processes.
REFUSED_CALLS: Final = names_in("open print input breakpoint eval exec compile __import__ hash id")
CLOCK_READS: Final = names_in("now utcnow today")
MAY_OPEN_FILES: Final = "base.files"


def is_within(name: str, place: str) -> bool:
    """Tell whether a dotted name is `place` or below it."""
    return name == place or name.startswith(f"{place}.")


def is_allowed(module: str, imported: Import) -> bool:
    """Tell whether a pure module may have this import."""
    if is_within(imported.dotted, "affidavit.base.http_client"):
        return is_within(module, "base")
    rows = (row for place, row in BESIDES.items() if is_within(module, place))
    allowed = EVERYWHERE.union(*rows)
    return any(is_within(imported.dotted, entry) for entry in allowed)


def impure_call(module: str, call: ast.Call) -> str | None:
    """Return why a call is impure, or None."""
    match call.func:
        case ast.Name(id="open") if is_within(module, MAY_OPEN_FILES):
            return None
        case ast.Name(id=name) if name in REFUSED_CALLS:
            return f"calls {name}"
        case ast.Attribute(attr=name) if name in CLOCK_READS:
            return f"reads the clock with {name}"
        case _:
            return None


def impurities(module: Module) -> Iterator[str]:
    """Yield each impure import and call of a module."""
    for imported in module.imports():
        if not is_allowed(module.name, imported):
            yield f"{module.name}:{imported.line} imports {imported.dotted}"
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and (reason := impure_call(module.name, node)):
            yield f"{module.name}:{node.lineno} {reason}"


def importers(library: str, tree: tuple[Module, ...]) -> list[str]:
    """Return the modules that import a library."""
    return [
        module.name
        for module in tree
        if any(is_within(imported.module, library) for imported in module.imports())
    ]


def test_the_pure_packages_are_pure() -> None:
    pure = [module for module in modules() if module.name.partition(".")[0] in pure_packages()]
    assert pure
    assert [place for module in pure for place in impurities(module)] == []


@pytest.mark.parametrize("library", SINGLE_IMPORTER)
def test_one_module_at_most_imports(library: str) -> None:
    found = importers(library, modules())
    assert len(found) <= 1
    assert all(is_within(name, SINGLE_IMPORTER[library]) for name in found)


def test_the_tables_speak_of_pure_packages_only() -> None:
    places = {
        place.partition(".")[0] for place in (*BESIDES, *SINGLE_IMPORTER.values(), MAY_OPEN_FILES)
    }
    assert places <= pure_packages()


# The rule, tried on made-up sources.

REFUSED = {
    "the environment": ("gates.oops", "import os"),
    "the environment, inside a function": ("gates.oops", "def read():\n    from os import environ"),
    "a file, by its path": ("gates.oops", "from pathlib import Path"),
    "a file, by the builtin": ("gates.oops", "text = open('x').read()"),
    "a file, in another module of base": ("base.digest", "import os"),
    "the clock, as a module": ("ledger.oops", "import time"),
    "the clock, as a method": ("ledger.oops", "import datetime\ndatetime.datetime.now()"),
    "the date": ("ledger.oops", "from datetime import date\ndate.today()"),
    "the network": ("seal.oops", "import socket"),
    "the network, by our own client": ("seal.oops", "import affidavit.base.http_client"),
    "the network, in another module of base": ("base.files", "import socket"),
    "a process": ("soak.oops", "import subprocess"),
    "chance, shared": ("base.statistics", "import random"),
    "chance, shared, by name": ("base.statistics", "from random import random"),
    "chance, elsewhere": ("soak.oops", "from random import Random"),
    "chance, as an id": ("seal.oops", "from uuid import uuid4"),
    "the console": ("checks.oops", "print('done')"),
    "a log": ("checks.oops", "import logging"),
    "code from text": ("checks.oops", "eval('1 + 1')"),
    "a hash that differs in every process": ("checks.oops", "hash('x')"),
    "JSON past the strict reader": ("packs.oops", "import json"),
    "JSON past the strict reader, fast": ("packs.oops", "import orjson"),
    "YAML outside packs": ("gates.oops", "import yaml"),
    "a library nobody listed": ("checks.oops", "import numpy as np"),
    "crypto outside seal": ("checks.oops", "from cryptography.hazmat.primitives import hashes"),
}

ACCEPTED = {
    "the standard library's pure part": ("checks.x", "import re\nfrom datetime import UTC"),
    "a module below an allowed one": ("checks.x", "from collections.abc import Mapping"),
    "wire models": ("gates.x", "import msgspec"),
    "bytes in memory": ("seal.x", "from io import BytesIO\nimport tarfile"),
    "files, in the one module for them": ("base.files", "import os\nopen('x')"),
    "chance with the caller's seed": ("base.statistics", "from random import Random"),
    "a part of a module that has a row": ("base.statistics.tests", "from random import Random"),
    "our own packages": ("gates.x", "from affidavit.base import errors\nfrom . import model"),
    "a method that is called open": ("seal.x", "archive.open('x')"),
    "a compiled pattern": ("ledger.x", "import re\nre.compile('x')"),
}


@pytest.mark.parametrize(("name", "source"), REFUSED.values(), ids=REFUSED.keys())
def test_the_rule_refuses(name: str, source: str) -> None:
    assert len(list(impurities(module_from_source(name, source)))) == 1


@pytest.mark.parametrize(("name", "source"), ACCEPTED.values(), ids=ACCEPTED.keys())
def test_the_rule_accepts(name: str, source: str) -> None:
    assert list(impurities(module_from_source(name, source))) == []


def test_importers_are_counted_over_all_packages() -> None:
    source = "def sign():\n    from cryptography import x509"
    tree = (module_from_source("seal.keys", source), module_from_source("web.pages", source))
    assert importers("cryptography", tree) == ["seal.keys", "web.pages"]
