"""JSON lines: line numbers, blank lines, line ends, lengths."""

import io

import pytest

from affidavit.base.errors import AffidavitError
from affidavit.base.json_values import JsonLimits
from affidavit.base.strict_json import decode_lines, read_lines, split_lines

TEN = JsonLimits(max_bytes=10)

ACCEPTED = {
    "a line feed at the end is not a line": (b"1\n2\n", [(1, 1), (2, 2)]),
    "the last line may do without": (b"1\n2", [(1, 1), (2, 2)]),
    "nothing": (b"", []),
    "a blank line is counted": (b"1\n\n \t\r\n2\n", [(1, 1), (4, 2)]),
    "a line may end as on Windows": (b'{"a":1}\r\n2\r\n', [(1, {"a": 1}), (2, 2)]),
    "a carriage return alone ends nothing": (b"[1,\r2]\n", [(1, [1, 2])]),
    "other separators of lines are text": ('"a\u2028b\x85"\n'.encode(), [(1, "a\u2028b\x85")]),
    "a line of the greatest length": (b'"45678901"\n1', [(1, "45678901"), (2, 1)]),
}


@pytest.mark.parametrize(("raw", "wanted"), ACCEPTED.values(), ids=ACCEPTED.keys())
def test_accepted(raw: bytes, wanted: list[tuple[int, object]]) -> None:
    limits = JsonLimits(max_bytes=max(10, max(map(len, raw.split(b"\n")))))
    assert list(decode_lines(split_lines(raw), limits)) == wanted
    assert list(decode_lines(read_lines(io.BytesIO(raw), limits.max_bytes), limits)) == wanted
    assert list(decode_lines(io.BytesIO(raw), limits)) == wanted


REFUSED = {
    "the second line is wrong": (b"1\n[1,\n", "json.syntax", 2),
    "after a blank line": (b"1\n\nx\n", "json.syntax", 3),
    "a duplicate key": (b'1\n{"":1,"":2}', "json.duplicate_key", 2),
    "two values on a line": (b"1\n2 3\n", "json.trailing", 2),
    "a value over two lines": (b"[1,\n2]\n", "json.syntax", 1),
    "a byte order mark": (b"\xef\xbb\xbf1\n", "json.encoding", 1),
    "a line that is too long": (b'1\n"456789012"\n', "limit.line_bytes", 2),
    "the last line is too long": (b'1\n"456789012"', "limit.line_bytes", 2),
    "a form feed is not white space": (b"1\n\x0c\n", "json.syntax", 2),
}


@pytest.mark.parametrize(("raw", "name", "line"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(raw: bytes, name: str, line: int) -> None:
    limits = JsonLimits(max_bytes=11) if name == "json.duplicate_key" else TEN
    for lines in (split_lines(raw), read_lines(io.BytesIO(raw), limits.max_bytes)):
        with pytest.raises(AffidavitError) as caught:
            list(decode_lines(lines, limits))
        assert (caught.value.fault.name, caught.value.where.line) == (name, line)


def test_blank_lines_are_refused_where_every_line_is_a_record() -> None:
    with pytest.raises(AffidavitError) as caught:
        list(decode_lines([b"1", b"", b"2"], refuse_blank=True))
    assert (caught.value.fault.name, caught.value.where.line) == ("json.blank_line", 2)
    assert list(decode_lines(split_lines(b"1\n2\n"), refuse_blank=True)) == [(1, 1), (2, 2)]


def test_values_before_the_fault_are_given() -> None:
    lines = decode_lines(split_lines(b"1\n2\nx\n"))
    assert [next(lines), next(lines)] == [(1, 1), (2, 2)]
    with pytest.raises(AffidavitError):
        next(lines)


def test_a_line_without_end_is_not_read_whole() -> None:
    class Endless(io.BytesIO):
        asked = 0

        def readline(self, size: int | None = -1, /) -> bytes:
            assert size is not None
            self.asked += size
            return b"[" * size

    endless = Endless()
    with pytest.raises(AffidavitError) as caught:
        list(read_lines(endless, 1000))
    assert caught.value.fault.name == "limit.line_bytes"
    assert endless.asked == 1001
