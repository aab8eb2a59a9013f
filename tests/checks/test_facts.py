"""Facts: the answers of sources, their joint confidence, and the digest that binds them."""

from typing import Any

import msgspec
import pytest
from tests.checks.builders import AT, EARLIER, INDEX, MIRROR, RESULT, VERSION, fact, reread, silence

from affidavit.base.canonical import sorted_compact
from affidavit.base.digest import digest_of
from affidavit.base.json_values import JsonValue
from affidavit.checks.facts import (
    Evidence,
    EvidenceUnavailable,
    FactSignals,
    SourceAnswer,
    Tolerance,
    Tool,
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
    assert (found.value, found.observed_at, found.licence) == (
        "3.13.1",
        EARLIER,
        "CC0-1.0",
    )
    first, second = found.sources
    assert first.url == "https://example.org/python.json"
    assert (first.status, first.agrees, first.fresh) == ("ok", True, True)
    assert (second.status, second.reason) == ("unavailable", "HTTP 500")
    assert (second.agrees, second.fresh, second.raw_sha256) == (None, None, None)
    assert found.raw == RESULT
    assert msgspec.to_builtins(found.verification) == {
        "rule": "fact-conf/1",
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
    assert rest.value == "3.13.1"


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
    assert found.value is None
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
