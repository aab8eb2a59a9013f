"""Facts: the answers of sources, their joint confidence, and the digest that binds them."""

from typing import Any

import msgspec
import pytest
from tests.checks.builders import AT, EARLIER, INDEX, MIRROR, RESULT, VERSION, fact, reread, silence

from affidavit.base.canonical import sorted_compact
from affidavit.base.digest import digest_of
from affidavit.base.json_values import JsonValue
from affidavit.checks.facts import (
    MAX_KEPT_BYTES,
    Evidence,
    EvidenceSource,
    EvidenceUnavailable,
    Fact,
    FactSignals,
    SourceAnswer,
    Tolerance,
    Tool,
    assess_field,
    fact_digest,
    fact_from_answers,
    values_agree,
)

ARGS: dict[str, Any] = {"product": "python"}


def made(*answers: Any, tool: Tool = VERSION, signed: bool = True) -> Evidence:
    found = fact_from_answers(tool, ARGS, answers, AT, signed=signed)
    assert isinstance(found, Evidence)
    return found


def test_a_fact_names_its_sources() -> None:
    found = made(SourceAnswer(INDEX, RESULT, EARLIER), silence()).fact
    assert (found.schema, found.tool, found.args) == ("fact/v1", VERSION.name, ARGS)
    assert (found.observed_at, found.licence) == (EARLIER, "CC0-1.0")
    first, second = found.sources
    assert first.url == "https://example.org/python.json"
    assert (first.status, first.agrees, first.fresh) == ("ok", True, True)
    assert (second.status, second.reason) == ("unavailable", "HTTP 500")
    assert (second.agrees, second.fresh, second.raw_sha256) == (None, None, None)
    assert found.raw == RESULT
    assert msgspec.to_builtins(found.verification) == {
        "rule": "fact-conf/2",
        "confidence": 0.8,
        "sources": 1,
        "verified": False,
        "signals": {
            "signed": True,
            "source_present": True,
            "fresh": True,
            "corroborated": False,
            "conflict": False,
        },
        "note": "no second independent source agrees; mirror has no value: HTTP 500",
    }
    plain = msgspec.to_builtins(found)
    assert reread(plain) == plain


def test_the_digest_leaves_out_attestation_and_raw() -> None:
    found = fact(RESULT, VERSION, ARGS)
    plain = msgspec.to_builtins(found.fact)
    covered = {key: value for key, value in plain.items() if key not in ("attestation", "raw")}
    assert found.digest == digest_of(sorted_compact(covered))
    assert fact_digest({**plain, "raw": None, "attestation": {"by": "x"}}) == found.digest
    assert fact_digest({**plain, "value": "3.13.2"}) != found.digest


def test_the_raw_result_is_bound_by_its_digest() -> None:
    found = fact(RESULT, VERSION, ARGS)
    assert found.fact.sources[0].raw_sha256 == digest_of(sorted_compact(RESULT))
    other = {"results": [*RESULT["results"], {}]}
    assert fact(other, VERSION, ARGS).digest != found.digest


def test_the_id_of_a_fact_is_made_from_what_was_asked_and_when() -> None:
    one = fact(RESULT, VERSION, ARGS).fact.id
    assert one.startswith("fact_")
    assert fact({"results": []}, VERSION, ARGS).fact.id == one
    assert fact(RESULT, VERSION, {"product": "ruby"}).fact.id != one
    assert fact(RESULT, VERSION, ARGS, observed_at=AT).fact.id != one


def test_a_tool_without_an_age_is_never_fresh() -> None:
    block = made(
        SourceAnswer(INDEX, RESULT, EARLIER), tool=msgspec.structs.replace(VERSION, max_age_s=None)
    ).fact.verification
    assert not block.signals.fresh
    assert block.confidence == 0.5
    assert "declares no age" in block.note


def test_a_result_without_a_json_form_is_not_an_answer() -> None:
    found = fact_from_answers(
        VERSION, ARGS, [SourceAnswer(INDEX, {"n": float("nan")}, AT)], AT, signed=True
    )
    assert isinstance(found, EvidenceUnavailable)
    assert found.reason.startswith("index: the number nan")
    rest = made(SourceAnswer(INDEX, {"n": 2**60}, AT), SourceAnswer(MIRROR, RESULT, AT)).fact
    assert rest.sources[0].status == "unavailable"
    assert rest.raw == RESULT


def test_without_sources_there_is_no_evidence() -> None:
    found = fact_from_answers(VERSION, ARGS, [], AT, signed=True)
    assert found == EvidenceUnavailable("the tool has no sources")


def test_a_source_without_the_value_is_recorded() -> None:
    found = made(SourceAnswer(INDEX, {"results": []}, AT), SourceAnswer(MIRROR, RESULT, AT)).fact
    assert found.sources[0].status == "no_value"
    assert "is a list of 0" in str(found.sources[0].reason)
    assert found.raw == RESULT
    assert found.verification.sources == 1


def test_a_fact_may_have_a_result_and_no_value() -> None:
    found = made(SourceAnswer(INDEX, {"results": []}, AT)).fact
    assert found.raw == {"results": []}
    assert found.verification.sources == 0


def test_a_conflict_lists_the_value_of_each_source() -> None:
    other: JsonValue = {"results": [{"latest_version": "3.12"}]}
    note = made(
        SourceAnswer(INDEX, RESULT, AT), SourceAnswer(MIRROR, other, AT)
    ).fact.verification.note
    assert note.startswith('mirror disagrees and says "3.12"')


def test_a_verified_fact_has_a_reason() -> None:
    block = made(
        SourceAnswer(INDEX, RESULT, AT), SourceAnswer(MIRROR, RESULT, AT)
    ).fact.verification
    assert block.verified
    assert block.sources == 2
    assert block.note == "independent sources agree, and all are fresh"


def test_a_stale_fact_is_marked_stale() -> None:
    late = made(SourceAnswer(INDEX, RESULT, "2026-01-31T14:28:59.5Z")).fact.verification
    assert "index is 60.5 s old, and 60 s are allowed" in late.note
    ahead = made(SourceAnswer(INDEX, RESULT, "2026-01-31T14:31:00Z")).fact.verification
    assert "index is dated 60 s in the future" in ahead.note
    none = made(SourceAnswer(INDEX, RESULT, None)).fact.verification
    assert "states no time of observation" in none.note


def test_an_unsigned_answer_is_worth_less() -> None:
    assert made(
        SourceAnswer(INDEX, RESULT, AT), signed=False
    ).fact.verification.confidence == pytest.approx(0.6)


AGREEMENT: dict[str, tuple[Any, Any, Tolerance | None, bool]] = {
    "equal texts": ("a", " a ", None, True),
    "other texts": ("a", "b", Tolerance(abs=1), False),
    "equal numbers": (1, 1.0, None, True),
    "lists that are the same": ([1, {"a": 2}], [1, {"a": 2}], None, True),
    "lists that are nearly the same": ([1], [1.0], None, False),
    "a list and a text": (["a"], "a", None, False),
    "within the tolerance": (20.5, 20, Tolerance(abs=0.5), True),
    "beyond the tolerance": (20.6, 20, Tolerance(abs=0.5), False),
    "within per cent of the first": (110, 100, Tolerance(pct=10), True),
    "no per cent of zero": (0.1, 0, Tolerance(pct=10), False),
    "zero is zero": (0.0, 0, Tolerance(pct=10), True),
    "a text is not near a number": ("about 20", 20, Tolerance(abs=5), False),
}


@pytest.mark.parametrize(
    ("value", "primary", "tolerance", "wanted"), AGREEMENT.values(), ids=AGREEMENT
)
def test_agreement(value: Any, primary: Any, tolerance: Tolerance | None, wanted: bool) -> None:
    assert values_agree(value, primary, tolerance) is wanted


def signals_of(*values: bool) -> FactSignals:
    return FactSignals(**dict(zip(FactSignals.__struct_fields__, values, strict=True)))


def test_every_combination_of_signals() -> None:
    from itertools import product

    for signed, present, fresh, corroborated, conflict in product([False, True], repeat=5):
        signals = signals_of(signed, present, fresh, corroborated, conflict)
        confidence = signals.confidence
        assert 0 <= confidence <= 0.95
        assert confidence <= 0.4 or not conflict
        assert confidence <= 0.5 or fresh
        assert signals.verified is (corroborated and fresh and not conflict)
    assert signals_of(True, True, True, True, False).confidence == 0.95
    assert signals_of(True, True, False, True, False).confidence == 0.5
    assert signals_of(False, False, False, False, False).confidence == 0


A, B, C = (
    EvidenceSource(name, f"{name}.example", "file", operator=f"{name} inc") for name in "abc"
)


def agreed(*answers: SourceAnswer) -> Fact:
    tool = Tool(name="t", value_path="v", max_age_s=60)
    made = fact_from_answers(tool, {}, answers, AT, signed=True)
    assert isinstance(made, Evidence)
    return made.fact


def renamed(source: EvidenceSource, **changes: str | None) -> EvidenceSource:
    return msgspec.structs.replace(source, **changes)


DEPENDENT: dict[str, tuple[EvidenceSource, tuple[str, ...], str]] = {
    "no operator": (renamed(B, operator=None), (), "no operator is declared for b"),
    "one operator": (renamed(B, operator=" A INC "), (), "one operator or origin"),
    "one origin": (renamed(B, origin=A.origin), (), "one operator or origin"),
    "one file": (B, ("file:1:2",), "b is the same as a"),
}


@pytest.mark.parametrize(("other", "identities", "why"), DEPENDENT.values(), ids=DEPENDENT)
def test_sources_that_are_not_independent(
    other: EvidenceSource, identities: tuple[str, ...], why: str
) -> None:
    raw: JsonValue = {"v": 1}
    found = agreed(
        SourceAnswer(A, raw, AT, ("file:1:2",)), SourceAnswer(other, raw, AT, identities)
    )
    assert (found.verification.confidence, found.verification.verified) == (0.8, False)
    assert found.verification.sources == 1
    assert why in found.verification.note


def test_independent_sources_corroborate_each_other() -> None:
    raw: JsonValue = {"v": 1}
    both = agreed(SourceAnswer(A, raw, AT, ("file:1:2",)), SourceAnswer(B, raw, AT, ("file:1:3",)))
    assert (both.verification.confidence, both.verification.sources) == (0.95, 2)
    # The one in the middle is the first again; the third is not.
    three = agreed(
        SourceAnswer(A, raw, AT, ("x",)),
        SourceAnswer(B, raw, AT, ("x", "y")),
        SourceAnswer(C, raw, AT, ("y",)),
    )
    assert [source.same_as for source in three.sources] == [None, "a", "a"]
    assert three.verification.confidence == 0.8


def test_the_result_of_every_source_is_kept_once_or_by_its_digest() -> None:
    large: JsonValue = {"v": 1, "text": "x" * MAX_KEPT_BYTES}
    found = agreed(
        SourceAnswer(A, {"v": 1}, AT),
        SourceAnswer(B, {"v": 1}, AT),
        SourceAnswer(C, {"v": 1, "more": 2}, AT),
        SourceAnswer(renamed(C, name="d"), large, AT),
    )
    kept = [source.raw for source in found.sources]
    assert kept == [msgspec.UNSET, msgspec.UNSET, {"v": 1, "more": 2}, msgspec.UNSET]
    assert [source.raw_sha256 for source in found.sources[2:]] == [
        digest_of(sorted_compact({"v": 1, "more": 2})),
        digest_of(sorted_compact(large)),
    ]
    # A value is in the result, or else in the record.
    values = [found.value, *(source.value for source in found.sources)]
    assert values == [msgspec.UNSET, msgspec.UNSET, msgspec.UNSET, msgspec.UNSET, 1]


FIELDS: dict[str, tuple[dict[str, Any], dict[str, Any], Any, float, tuple[str, ...]]] = {
    "the primary value": ({"w": 1}, {"w": 2}, (None, False, False), 0.95, ()),
    "the primary value by its path": ({"w": 1}, {"w": 2}, ("v", False, False), 0.95, ()),
    "another field that agrees": ({"w": 1}, {"w": 1}, ("w", False, False), 0.95, ()),
    "another field that differs": ({"w": 1}, {"w": 2}, ("w", False, False), 0.4, ("b says 2",)),
    "a field that one does not have": ({"w": 1}, {}, ("w", False, False), 0.8, ()),
    "a field that the first does not have": ({}, {"w": 1}, ("w", False, False), 0.8, ()),
    "absent in both": ({}, {}, ("w", True, False), 0.95, ()),
    "absent in the first": ({}, {"w": 1}, ("w", True, False), 0.4, ("b says a value",)),
    "absent in the second": ({"w": 1}, {"x": 1}, ("w", True, False), 0.4, ("b says nothing",)),
    "the time of observation": ({}, {}, (None, False, True), 0.8, ()),
    "a result that was not kept": (
        {"w": 1},
        {"w": 2, "text": "x" * MAX_KEPT_BYTES},
        ("w", False, False),
        0.8,
        (),
    ),
}


@pytest.mark.parametrize(
    ("one", "other", "field", "confidence", "others"), FIELDS.values(), ids=FIELDS
)
def test_the_confidence_in_a_field(
    one: dict[str, Any],
    other: dict[str, Any],
    field: tuple[str | None, bool, bool],
    confidence: float,
    others: tuple[str, ...],
) -> None:
    found = agreed(SourceAnswer(A, {"v": 1, **one}, AT), SourceAnswer(B, {"v": 1, **other}, AT))
    assert found.verification.verified
    path, presence, is_time = field
    assert assess_field(found, path, presence=presence, is_time=is_time) == (confidence, others)


def test_a_conflict_on_the_primary_value_counts_for_every_field() -> None:
    found = agreed(SourceAnswer(A, {"v": 1, "w": 1}, AT), SourceAnswer(B, {"v": 2, "w": 1}, AT))
    assert assess_field(found, "w", presence=False, is_time=False) == (0.4, ())
    assert assess_field(found, None, presence=False, is_time=False) == (0.4, ("b says 2",))
