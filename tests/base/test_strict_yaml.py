"""Strict YAML: what is accepted, what is refused, and the line numbers of both."""

import pytest
import yaml

from affidavit.base.config import Positions, decode_yaml
from affidavit.base.errors import AffidavitError
from affidavit.base.json_values import JsonLimits

BAD_YAML = {
    "two equal keys": (b"a: 1\na: 2", 2),
    "an alias": (b"a: &x 1\nb: *x", 2),
    "a merge": (b"a: 1\n<<: {b: 1}", 2),
    "a key that is a number": (b"1: 2", 1),
    "a key that is a list": (b"? [1]\n: 2", 1),
    "an object of Python": (b"a: !!python/object/apply:os.system [x]", 1),
    "a tag of a text": (b"a: !!int '5'", 1),
    "no number of JSON": (b"a: .nan", 1),
    "infinity": (b"a:\n - -.inf", 2),
    "beyond doubles": (b"a: 1e999", 1),
    "beyond 53 bits": (b"a: 9007199254740993", 1),
    "a bracket that another closes": (b"a: 1\nb: [}", 2),
    "two documents": (b"a: 1\n---\nb: 2", 2),
    "not UTF-8": (b"\xff", 1),
    "a control character": (b"a: \x00", None),
    "too deep": (b"[" * 70 + b"]" * 70, 1),
    "deeper than a stack": (b"[" * 400_000, 1),
    "deeper than a stack, in lines": (b"- " * 400_000, 1),
    "a tag of a list": (b"a: !own [1]", 1),
    "a tag without a name": (b"a: ! 5", 1),
    "an alias as a key": (b"a: &x b\n*x : 1", 2),
    "half of a character": (b'a: "\\ud800"', 1),
    "too large": (b"a: " + b"x" * 1_000_000, None),
}


@pytest.fixture(params=["the parser in C", "the parser in Python"], autouse=True)
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "Python" in request.param:
        monkeypatch.delattr(yaml, "CSafeLoader", raising=False)


@pytest.mark.parametrize(("raw", "line"), BAD_YAML.values(), ids=BAD_YAML.keys())
def test_yaml_that_is_refused(raw: bytes, line: int | None) -> None:
    with pytest.raises(AffidavitError) as error:
        decode_yaml(raw, JsonLimits(1_000_000))
    assert error.value.fault.code == "AF350"
    assert error.value.where.line == line


def test_yaml_has_only_the_values_of_json() -> None:
    text = "a: no\nb: [1:30, 2026-01-31, 0x1F, 1e3, 'true', true, ~, 007]\nc: {d: .5}\ne: *\n"
    positions: Positions = {}
    value = decode_yaml(text.replace("e: *\n", "").encode(), positions=positions)
    listed = ["1:30", "2026-01-31", "0x1F", 1000.0, "true", True, None, 7]
    assert value == {"a": "no", "b": listed, "c": {"d": 0.5}}
    assert [positions[field] for field in ("a", "b[3]", "c.d")] == [(1, 1), (2, 29), (3, 5)]
    assert decode_yaml(b"") is None
    assert decode_yaml(b"a: !!str 5\nb: !!seq [1]\n...\n") == {"a": "5", "b": [1]}
