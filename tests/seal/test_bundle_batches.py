"""Many events at once are verified exactly as they are one by one, or not at all."""

import io
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.json_values import ASCII_FLOAT_FREE
from tests.seal.bundle_making import (
    AT,
    RUN,
    archive_of,
    fault_name,
    members_of,
    parts,
    respoken,
    sealed,
    verified,
)

from affidavit.base.canonical import jcs
from affidavit.seal.bundle import reader
from affidavit.seal.bundle.container import DEFAULT_LIMITS
from affidavit.seal.bundle.events import (
    ExpectedPosition,
    content_hash,
    event_from_line,
    template_of,
    verify_batch,
)
from affidavit.seal.bundle.manifest import ManifestDetails, manifest_bytes
from affidavit.seal.bundle.writer import EventDraft, EventWriter

LIMITS = DEFAULT_LIMITS.for_json(DEFAULT_LIMITS.max_line_bytes)


def lines_of(drafts: list[EventDraft]) -> list[bytes]:
    writer = EventWriter(RUN)
    return [writer.append(draft) for draft in drafts]


def proven(lines: list[bytes], first: int = 0) -> list[bytes] | None:
    """Prove the lines by the pattern of an event like the first."""
    (line,) = lines_of([EventDraft("x", AT, {})])
    pattern = template_of(event_from_line(line[:-1], 1, ExpectedPosition(RUN.id, 0, None), LIMITS))
    assert pattern is not None
    found = verify_batch(b"".join(lines), first, pattern, LIMITS)
    return None if found is None else found.hashes


def hashes_of(lines: list[bytes]) -> list[bytes]:
    return [json.loads(line)["assaycontenthash"].removeprefix("sha256:").encode() for line in lines]


drafts = st.builds(
    EventDraft,
    st.sampled_from(["affidavit.tool.call", "a", 'quoted"\\', "größe"]),
    st.sampled_from([AT, "2026-01-31T14:30:00.5+02:00"]),
    ASCII_FLOAT_FREE | st.floats(0.001, 1000),
    st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    st.booleans(),
    st.booleans(),
)


@given(st.lists(drafts, min_size=1, max_size=5))
def test_what_is_proved_is_what_was_written(given_drafts: list[EventDraft]) -> None:
    lines = lines_of(given_drafts)
    assert proven(lines) in (None, hashes_of(lines))
    exact = [
        event_from_line(line[:-1], number + 1, ExpectedPosition(RUN.id, number, RUN.source), LIMITS)
        for number, line in enumerate(lines)
    ]
    assert [event.assaycontenthash[7:].encode() for event in exact] == hashes_of(lines)


ORDINARY = [
    EventDraft("affidavit.model.call", AT, {"a": [1, -2, 0.5, True, None], "é": "größe", "": ""}),
    EventDraft("affidavit.tool.call", AT, {"b": {"c": '\u001b\n"\\/'}}, "subject", True, True),
    EventDraft("größe", "2026-01-31T14:30:00.25Z", ["😀", {"x": 1e-4}], "été"),
]
PROVED = {
    "plain": [EventDraft("t", AT, {"a": 1})],
    "texts with escapes and beyond ASCII": [EventDraft("t", AT, {"a": '\u001b\n"\\ größe 😀'})],
    "flags and subjects": [EventDraft("t", AT, 1, "s", True, True), EventDraft("u", AT, None)],
    "floats with a fraction": [EventDraft("t", AT, [0.5, -1.25, 123456.789])],
    "a type with a quote": [EventDraft('t"', AT, {})],
}


@pytest.mark.parametrize("given_drafts", PROVED.values(), ids=PROVED.keys())
def test_ordinary_events_are_proved_at_once(given_drafts: list[EventDraft]) -> None:
    lines = lines_of(given_drafts)
    assert proven(lines) == hashes_of(lines)


LEFT_TO_THE_EXACT = {
    "a whole float": [EventDraft("t", AT, {"x": 1e300})],
    "a small float": [EventDraft("t", AT, {"x": 5e-05})],
    "a key beyond ASCII": [EventDraft("t", AT, {"é": 1})],
    "deep": [EventDraft("t", AT, json.loads("[" * 62 + '"' + "[" * 9 + '"' + "]" * 62))],
    "very long": [EventDraft("t", AT, "a" * 60_000)],
}


@pytest.mark.parametrize("given_drafts", LEFT_TO_THE_EXACT.values(), ids=LEFT_TO_THE_EXACT.keys())
def test_rare_events_are_looked_at_one_by_one(given_drafts: list[EventDraft]) -> None:
    assert proven(lines_of(given_drafts)) is None
    plain = EventDraft("t", AT, 1)
    assert fault_name(sealed([plain, *given_drafts, plain, plain])) is None
    assert fault_name(sealed([*given_drafts, plain])) is None


def test_more_events_than_fit_in_a_portion() -> None:
    given_drafts = [
        EventDraft("t", AT, {"number": number, "text": "a" * 900}) for number in range(900)
    ]
    assert fault_name(sealed(given_drafts)) is None


def test_more_events_than_the_writer_adds_at_a_time() -> None:
    assert fault_name(sealed([EventDraft("t", AT, number) for number in range(1200)])) is None


def test_a_change_of_any_byte_is_never_proved() -> None:
    text = b"".join(lines_of(ORDINARY))
    for at in range(len(text)):
        changed = text[:at] + bytes((text[at] ^ 1,)) + text[at + 1 :]
        # A time may change and be a time; the digests of the whole see to that.
        if proven([changed]) is not None:
            changed_events = [json.loads(line) for line in changed.splitlines()]
            original = [json.loads(line) for line in text.splitlines()]
            differing = {
                key
                for new, old in zip(changed_events, original, strict=True)
                for key in new
                if new[key] != old[key]
            }
            assert differing == {"time"}


def with_last(change: Any) -> bytes:
    """Return a bundle whose last event is changed: the one before it has made the pattern."""
    manifest, events = parts(sealed(ORDINARY))
    change(events[-1])
    return respoken(manifest, events)


HOSTILE = {
    "another hash": (
        lambda e: e.update(assaycontenthash="sha256:" + "0" * 64),
        "bundle.event_hash",
    ),
    "another number": (lambda e: e.update(assayseq=7), "bundle.sequence"),
    "another run": (lambda e: e.update(assayrunid="x"), "bundle.run_id"),
    "another id": (lambda e: e.update(id="x"), "bundle.event"),
    "another source": (lambda e: e.update(source="urn:b:c"), "bundle.event"),
    "no time": (lambda e: e.update(time="now"), "bundle.event"),
    "a type that is a number": (lambda e: e.update(type=1), "bundle.event"),
    "another specversion": (
        lambda e: e.update(specversion="1.1") or e.update(assaycontenthash=content_hash(e)),
        "bundle.version",
    ),
}


@pytest.mark.parametrize(("change", "wanted"), HOSTILE.values(), ids=HOSTILE.keys())
def test_a_wrong_event_among_many_is_named(change: Any, wanted: str) -> None:
    assert fault_name(with_last(change)) == wanted


def test_a_line_in_another_order_of_keys_is_refused() -> None:
    manifest, events = members_of(sealed(ORDINARY))
    first, second, third = events.splitlines(keepends=True)
    value = json.loads(second)
    moved = json.dumps(dict(reversed(value.items())), separators=(",", ":")).encode() + b"\n"
    assert fault_name(respoken(json.loads(manifest), [first, moved, third])) == "canon.noncanonical"
    twice = second.replace(b'"assaygit"', b'"assaygit":"unknown","assaygit"')
    assert fault_name(respoken(json.loads(manifest), [first, twice, third])) == "json.duplicate_key"
    assert jcs(value) == second[:-1]


@pytest.mark.parametrize("traced", [0, 1], ids=["the first event", "the second event"])
def test_an_event_with_a_rare_member_is_looked_at_by_itself(traced: int) -> None:
    _, events = parts(sealed(ORDINARY))
    events[traced]["traceparent"] = "00-1-2-00"
    writer = EventWriter(RUN)
    text = b"".join(map(writer.rewrite, events))
    contents = writer.finish().contents(RUN.id)
    manifest = manifest_bytes(contents, ManifestDetails(producer=RUN.producer_as_wire()))
    assert fault_name(archive_of(manifest, text)) is None


Item = TypeVar("Item")
Result = TypeVar("Result")


def ahead(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Read everything before the first result is used, as no pool of processes would."""
    return iter([work(item) for item in items])


MANY = [EventDraft("t", AT, {"number": number, "text": "a" * 900}) for number in range(1500)]
MANY_SEALED = sealed(MANY)


def with_event(number: int, **members: Any) -> bytes:
    """Return a bundle of many events with one that is wrong, and all totals right."""
    manifest, events = parts(MANY_SEALED)
    events[number].update(members)
    return respoken(manifest, events)


SHARED = {
    "one event": sealed(MANY[:1]),
    "few events": sealed(ORDINARY),
    "many events": MANY_SEALED,
    "a run that ends within": sealed([*MANY, EventDraft("affidavit.run.finished", AT, {}), *MANY]),
    "redacted subjects": sealed(
        [*MANY, EventDraft("t", AT, 1, f"urn:affidavit:redacted:sha256:{'0' * 64}:64")]
    ),
    "no events": respoken(parts(MANY_SEALED)[0], []),
    "a wrong first event": with_event(0, assayseq=7),
    "a wrong event": with_event(700, source="urn:b:c"),
    "a wrong event before a cut": with_event(700, source="urn:b:c")[:-1000],
    "a wrong event in the last lines": with_event(1499, time="now"),
    "a cut archive": MANY_SEALED[:-1000],
    "a long line at the end": sealed([*MANY, EventDraft("t", AT, "a" * 1_100_000)]),
    "something behind it": MANY_SEALED + b"x",
}


@pytest.mark.parametrize("bundle", SHARED.values(), ids=SHARED.keys())
def test_whoever_shares_the_work_finds_the_same(
    bundle: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also the same first error, although what follows it was read before."""
    wanted = verified(bundle)
    monkeypatch.setattr(reader, "_MIN_PARALLEL_BYTES", 0)
    assert reader.verify_bundle(io.BytesIO(bundle), run=ahead) == wanted


def test_a_limit_is_met_at_the_same_event(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "_MIN_PARALLEL_BYTES", 0)
    for limit in (1, 2, 700, 1499, 1500):
        limits = replace(DEFAULT_LIMITS, max_events=limit)
        found = reader.verify_bundle(io.BytesIO(MANY_SEALED), limits, run=ahead)
        assert found == verified(MANY_SEALED, limits)
        assert (found.error is None) == (limit == 1500)


def test_a_small_bundle_is_not_shared() -> None:
    def refuse(work: object, items: object) -> Iterator[Any]:
        raise AssertionError

    assert reader.verify_bundle(io.BytesIO(MANY_SEALED), run=refuse).valid
