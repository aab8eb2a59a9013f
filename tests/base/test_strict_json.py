"""What strict JSON refuses, with which code and position."""

import pytest

from affidavit.base import strict_json
from affidavit.base.errors import AffidavitError
from affidavit.base.json_values import DOCUMENT_LIMITS, MAX_DEPTH, JsonLimits
from affidavit.base.strict_json import decode

ACCEPTED = {
    "an object": (b'{"a":[1,2.5,"x",true,false,null]}', {"a": [1, 2.5, "x", True, False, None]}),
    "a text alone": (b'"x"', "x"),
    "a number alone": (b" -12 ", -12),
    "white space of JSON": (b'\t{\r\n "a" : 1 }\n', {"a": 1}),
    "no white space is needed": (b"[1]", [1]),
    "the largest integer": (b"9007199254740991", 9007199254740991),
    "the smallest integer": (b"-9007199254740991", -9007199254740991),
    "a large number written as a float": (
        b"[1e19,12345678901234567890.0]",
        [1e19, 1.2345678901234567e19],
    ),
    "digits in a text": (b'["e+ 12345678901234567890"]', ["e+ 12345678901234567890"]),
    "digits in a text, after a quote": (
        b'["\\"",1e20,"12345678901234567890"]',
        ['"', 1e20, "12345678901234567890"],
    ),
    "a float too small is zero": (b"1e-400", 0.0),
    "zero with a large exponent": (b"0e99999", 0.0),
    "equal keys in different objects": (
        b'{"a":{"a":1},"b":{"a":1}}',
        {"a": {"a": 1}, "b": {"a": 1}},
    ),
    "keys that differ in case": (b'{"a":1,"A":2}', {"a": 1, "A": 2}),
    "a colon by its escape": (b'{"\\u003a":"\\u003A"}', {":": ":"}),
    "a backslash before what looks like a colon": (b'["\\\\u003a:"]', ["\\u003a:"]),
    "a character as a pair of escapes": (b'"\\ud83d\\ude00"', "😀"),
    "a character as UTF-8": ('"é日😀"'.encode(), "é日😀"),
    "every short escape": (b'"\\"\\\\\\/\\b\\f\\n\\r\\t"', '"\\/\b\f\n\r\t'),
    "a null character by its escape": (b'"\\u0000"', "\0"),
    "a delete character": (b'"\x7f"', "\x7f"),
}


@pytest.mark.parametrize(("raw", "wanted"), ACCEPTED.values(), ids=ACCEPTED.keys())
def test_accepted(raw: bytes, wanted: object) -> None:
    value = decode(raw)
    assert value == wanted
    assert type(value) is type(wanted)


def test_minus_zero_keeps_its_sign_as_a_float_only() -> None:
    assert str(decode(b"[-0,-0.0]")) == "[0, -0.0]"


# raw, name of the fault, field, and what the message says.
REFUSED = {
    "a key twice": (
        b'{"a":1,"b":2,"a":3}',
        "json.duplicate_key",
        "a",
        "duplicate key 'a' in one object (column 14)",
    ),
    "a key twice, by escape": (b'{"a":1,"\\u0061":2}', "json.duplicate_key", "a", "'a'"),
    "a key twice, equal values": (b'{"a":1,"a":1}', "json.duplicate_key", "a", "'a'"),
    "a key twice, deep": (
        b'{"x":[{},\n{"k-1":{"v":1,\n"v":2}}]}',
        "json.duplicate_key",
        "x[1].k-1.v",
        "(column 1)",
    ),
    "a key twice, and a colon by escape": (
        b'{"a":"\\u003a","a":1}',
        "json.duplicate_key",
        "a",
        "'a'",
    ),
    "a key twice, a colon by escape in what is kept": (
        b'{"a":1,"a":"\\u003a"}',
        "json.duplicate_key",
        "a",
        "'a'",
    ),
    "a key twice, colons in its texts": (
        b'{"a:":":","a:":"::"}',
        "json.duplicate_key",
        "['a:']",
        "'a:'",
    ),
    "an empty key twice": (b'{"":1,"":2}', "json.duplicate_key", "['']", "''"),
    "a long key twice": (
        b'{"%s":1,"%s":2}' % (b"k" * 99, b"k" * 99),
        "json.duplicate_key",
        "['" + "k" * 59 + "…']",
        "k…' in one object",
    ),
    "a hostile key twice": (
        b'{"\\u001b[31m":1,"\\u001b[31m":2}',
        "json.duplicate_key",
        r"['\x1b[31m']",
        r"'\x1b[31m'",
    ),
    "not a number": (b'{"x":NaN}', "json.number_domain", "x", "the number NaN"),
    "infinity": (b"[Infinity]", "json.number_domain", "[0]", "Infinity"),
    "minus infinity": (b"-Infinity", "json.number_domain", None, "-Infinity"),
    "a float that overflows": (b"[1e999]", "json.number_domain", "[0]", "1e999"),
    "2^53": (b"[9007199254740992]", "json.number_domain", "[0]", "9007199254740992"),
    "-2^53": (b"-9007199254740992", "json.number_domain", None, "-9007199254740992"),
    "2^63": (b"9223372036854775808", "json.number_domain", None, "9223372036854775808"),
    "below -2^63": (
        b"[0,-9223372036854775809]",
        "json.number_domain",
        "[1]",
        "-9223372036854775809",
    ),
    "2^64": (b'{"seq":18446744073709551616}', "json.number_domain", "seq", "18446744073709551616"),
    "2^64 after a text that looks like it": (
        b'["18446744073709551616",18446744073709551616]',
        "json.number_domain",
        "[1]",
        "1844",
    ),
    "5,000 digits": (b"[" + b"9" * 5000 + b"]", "json.number_domain", "[0]", "9…"),
    "half of a pair": (b'{"s":"\\ud800"}', "json.unicode", "s", "lone surrogate"),
    "the second half of a pair": (b'"\\udc00"', "json.unicode", None, "(column 1)"),
    "half of a pair in a key": (b'{"\\ud800":1}', "json.unicode", None, "lone surrogate"),
    "a surrogate as bytes": (b'"\xed\xa0\x80"', "json.unicode", None, "not UTF-8 (column 2)"),
    "an overlong sequence": (b'"\xc0\xaf"', "json.unicode", None, "not UTF-8"),
    "beyond Unicode": (b'"\xf4\x90\x80\x80"', "json.unicode", None, "not UTF-8"),
    "Latin-1": (b'{\n"caf\xe9":1}', "json.unicode", None, "(column 5)"),
    "a byte order mark": (b"\xef\xbb\xbf{}", "json.encoding", None, "UTF-8 with a byte order mark"),
    "UTF-16 with a mark": ("{}".encode("utf-16"), "json.encoding", None, "UTF-16"),
    "UTF-16, big end first, with a mark": (b"\xfe\xff\x00{\x00}", "json.encoding", None, "UTF-16"),
    "UTF-16, little end first": ("{}".encode("utf-16-le"), "json.encoding", None, "UTF-16"),
    "UTF-16, big end first": ("{}".encode("utf-16-be"), "json.encoding", None, "UTF-16"),
    "UTF-32 with a mark": ("{}".encode("utf-32"), "json.encoding", None, "UTF-32"),
    "UTF-32, big end first, with a mark": (
        b"\0\0\xfe\xff\0\0\0{\0\0\0}",
        "json.encoding",
        None,
        "UTF-32",
    ),
    "UTF-32, little end first": ("{}".encode("utf-32-le"), "json.encoding", None, "UTF-32"),
    "UTF-32, big end first": ("{}".encode("utf-32-be"), "json.encoding", None, "UTF-32"),
    "two documents": (b"{}{}", "json.trailing", None, "(column 3)"),
    "a word after it": (b"{} x", "json.trailing", None, "(column 4)"),
    "a null byte after it": (b"{}\0", "json.trailing", None, "(column 3)"),
    "two lines": (b"1\n2", "json.trailing", None, "(column 1)"),
    "nothing": (b"", "json.syntax", None, "it ends too early (column 1)"),
    "white space only": (b" \n ", "json.syntax", None, "it ends too early (column 2)"),
    "a list that is not closed": (b"[1,2", "json.syntax", "[1]", "it ends too early"),
    "an object that is not closed": (b'{"a":', "json.syntax", "a", "it ends too early"),
    "a text that is not closed": (b'["abc', "json.syntax", "[0]", "it ends too early (column 6)"),
    "a comma too many in a list": (b"[1,]", "json.syntax", "[1]", "a value is missing (column 4)"),
    "a comma too many in an object": (
        b'{"a":1,}',
        "json.syntax",
        None,
        "a key in double quotes is missing (column 8)",
    ),
    "a comma too few": (b"[1 2]", "json.syntax", "[0]", "',' or ']' is missing (column 4)"),
    "a comma too few in an object": (
        b'{"a":1 "b":2}',
        "json.syntax",
        "a",
        "',' or '}' is missing (column 8)",
    ),
    "a colon too few": (b'{"a" 1}', "json.syntax", "a", "':' is missing after a key (column 6)"),
    "a key without quotes": (b"{a:1}", "json.syntax", None, "a key in double quotes is missing"),
    "single quotes": (b"['a']", "json.syntax", "[0]", "a value is missing (column 2)"),
    "the wrong bracket": (b"[1}", "json.syntax", "[0]", "',' or ']' is missing"),
    "a leading zero": (b"[012]", "json.syntax", "[0]", "'012' is not a value (column 2)"),
    "a plus sign": (b"+1", "json.syntax", None, "'+1' is not a value"),
    "a fraction without digits": (b"1.", "json.syntax", None, "'1.' is not a value"),
    "an exponent without digits": (b"1e", "json.syntax", None, "'1e' is not a value"),
    "a hexadecimal number": (b"0x1F", "json.syntax", None, "'0x1F' is not a value"),
    "a word": (b"[undefined]", "json.syntax", "[0]", "'undefined' is not a value"),
    "True as in Python": (b"True", "json.syntax", None, "'True' is not a value"),
    "a comment": (b"{} // x", "json.trailing", None, "(column 4)"),
    "a control character in a text": (
        b'"a\x01"',
        "json.syntax",
        None,
        "control character in a string (column 3)",
    ),
    "a line break in a text": (
        b'"a\nb"',
        "json.syntax",
        None,
        "control character in a string (column 3)",
    ),
    "an escape unknown to JSON": (
        b'"\\x41"',
        "json.syntax",
        None,
        "unknown escape sequence (column 2)",
    ),
    "an escape with too few digits": (
        b'"\\u00e"',
        "json.syntax",
        None,
        "unknown escape sequence",
    ),
    "white space that is not JSON's": (b"[1,\x0c2]", "json.syntax", "[1]", "a value is missing"),
    "a null byte in the midst": (b"[\0]", "json.syntax", "[0]", "a value is missing"),
    "a column counts characters": ('["é日",x]'.encode(), "json.syntax", "[1]", "(column 7)"),
    "100,000 brackets": (
        b"[" * 100_000,
        "json.depth",
        ("[0]" * 64)[:79] + "…",
        "limit of 64 levels (column 65)",
    ),
    "100,000 objects": (b'{"a":' * 100_000, "json.depth", ("a." * 64)[:79] + "…", "64 levels"),
}


@pytest.mark.parametrize(("raw", "name", "field", "said"), REFUSED.values(), ids=REFUSED)
def test_refused(raw: bytes, name: str, field: str | None, said: str) -> None:
    with pytest.raises(AffidavitError) as caught:
        decode(raw)
    error = caught.value
    assert error.fault.name == name
    assert said in error.message
    assert error.next_step
    assert error.where.field == field


LINES = {
    "the first": (b"[x", 1),
    "the second": (b"[\n x]", 2),
    "a duplicate key": (b'{"a":1,\n\n"a":2}', 3),
    "what follows": (b"1\n2", 2),
    "nothing, over lines": (b" \n ", 2),
    "bytes that are not UTF-8": (b'{\n"caf\xe9":1}', 2),
    "line feeds only": (b"[1,\r\rx]", 1),
}


@pytest.mark.parametrize(("raw", "line"), LINES.values(), ids=LINES)
def test_the_line_of_the_fault(raw: bytes, line: int) -> None:
    with pytest.raises(AffidavitError) as caught:
        decode(raw)
    assert caught.value.where.line == line


def test_lines_are_counted_from_the_given_start() -> None:
    with pytest.raises(AffidavitError) as caught:
        decode(b"[1,\nx]", first_line=10)
    assert caught.value.where.line == 11


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


def nested_objects(depth: int) -> bytes:
    return b'{"a":' * (depth - 1) + b"{}" + b"}" * (depth - 1)


# raw, limits, and the fault's name; None where it is just within.
LIMITS = {
    "as many bytes as allowed": (b"[1, 2]", JsonLimits(max_bytes=6), None),
    "a byte more": (b"[1, 2] ", JsonLimits(max_bytes=6), "limit.json_bytes"),
    "as deep as allowed": (nested(64), DOCUMENT_LIMITS, None),
    "a level more": (nested(65), DOCUMENT_LIMITS, "json.depth"),
    "objects as deep as allowed": (nested_objects(64), DOCUMENT_LIMITS, None),
    "objects a level more": (nested_objects(65), DOCUMENT_LIMITS, "json.depth"),
    "the deepest is a scalar": (b"[" * 64 + b"1" + b"]" * 64, DOCUMENT_LIMITS, None),
    "the deepest is an empty object": (
        b"[" * 64 + b"{}" + b"]" * 64,
        DOCUMENT_LIMITS,
        "json.depth",
    ),
    "many brackets side by side": (b"[" + b"[]," * 100 + b"[]]", DOCUMENT_LIMITS, None),
    "no level at all": (b"1", JsonLimits(max_depth=0), None),
    "no level at all, and a list": (b"[]", JsonLimits(max_depth=0), "json.depth"),
    "one level": (b'{"a":1}', JsonLimits(max_depth=1), None),
    "deeper than can be written": (nested(300), JsonLimits(max_depth=MAX_DEPTH), "json.depth"),
    "the deepest that can be allowed": (nested(MAX_DEPTH), JsonLimits(max_depth=MAX_DEPTH), None),
    "deeper than the decoder goes": (nested(2000), JsonLimits(max_depth=MAX_DEPTH), "json.depth"),
    "as many keys as allowed": (b'{"a":1,"b":{"c":1,"d":2}}', JsonLimits(max_keys=2), None),
    "a key more": (b'[{"a":1,"b":2,"c":3}]', JsonLimits(max_keys=2), "limit.json_keys"),
    "a key more, deep": (b'{"a":{"a":1,"b":2,"c":3}}', JsonLimits(max_keys=2), "limit.json_keys"),
    "as many characters as allowed": ('["éé日"]'.encode(), JsonLimits(max_string=3), None),
    "a character more": (b'["abcd"]', JsonLimits(max_string=3), "limit.json_string"),
    "a character more in a key": (b'{"abcd":1}', JsonLimits(max_string=3), "limit.json_string"),
    "escapes count as one character": (
        b'["\\u0061\\n\\ud83d\\ude00"]',
        JsonLimits(max_string=3),
        None,
    ),
}


@pytest.mark.parametrize(("raw", "limits", "name"), LIMITS.values(), ids=LIMITS.keys())
def test_limits(raw: bytes, limits: JsonLimits, name: str | None) -> None:
    if name is None:
        decode(raw, limits)
        return
    with pytest.raises(AffidavitError) as caught:
        decode(raw, limits)
    assert caught.value.fault.name == name
    assert caught.value.message


@pytest.mark.parametrize("depth", [-1, MAX_DEPTH + 1])
def test_a_depth_out_of_range_is_refused(depth: int) -> None:
    with pytest.raises(ValueError, match=f"from 0 to {MAX_DEPTH}"):
        JsonLimits(max_depth=depth)


def test_the_diagnosis_never_contradicts_a_refusal() -> None:
    # If the decoder ever refuses text that the grammar allows, the error still has a code.
    error = strict_json.refusal_error(b"{}", DOCUMENT_LIMITS)
    assert error.fault.name == "json.syntax"


def test_keys_are_counted_in_a_text_that_is_not_copied() -> None:
    long = b'{"a": "' + b":" * (1 << 20) + b'", "b": 1'
    assert decode(long + b"}") == {"a": ":" * (1 << 20), "b": 1}
    with pytest.raises(AffidavitError, match="AF024"):
        decode(long + b', "a": 2}')
