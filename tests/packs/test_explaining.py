"""Explanations: the sum written out, what is missing, why a rule fired, and how to mend it."""

import pytest
from tests.packs.making import event, lint, pack_with
from tests.packs.test_sensitive import DRAWN
from tests.packs.test_signals import COMMITMENT, EVERYTHING, MODEL, STARTED

from affidavit.base.errors import AffidavitError
from affidavit.packs.explanations import Explanation, describe_check, explain
from affidavit.packs.signals import REGISTRY

PACK = pack_with(
    {
        "check": {"type": "event_count", "min": 2},
        "x-assay": {"requires_signals": ["run_inputs", "rng_seeds"]},
        "article_ref": "12(1)",
        "help_markdown": "Record more.\n",
    },
    {"check": {"type": "event_type_exists", "pattern": "affidavit.*"}},
    disclaimer="No promise.",
    **{"x-assay": {"requires_signals": ["verdicts"]}},
)


def text_of(told: Explanation) -> str:
    rows = (" | ".join(row) for row in told.rows)
    return "\n".join((told.title, *told.paragraphs, " | ".join(told.columns), *rows, *told.ending))


def test_the_score_is_written_out_as_a_sum() -> None:
    redacted = event("affidavit.model.call", {**MODEL, "output": COMMITMENT})
    told = explain("closure.score", [], lint([], [STARTED, redacted]))
    text = text_of(told)
    assert told.title == "closure.score = 0.5 (weighted_ratio_v1)"
    assert "Sum: 10 / 20 = 0.5" in text
    assert "run_inputs | captured | 3 of 3 | events.ndjson:1/data/input | " in text
    assert "model_outputs | redacted | 0 of 3 | 1 of 1 are redacted, each with a commitment" in text
    assert "+0.15: reveal what was redacted" in text
    assert "tool_calls | missing | 0 of 1 | no event of the run shows it | +0.05: record" in text
    assert (
        "Confidence medium: no run is whole, 0 signals are unknown, 0 are declared absent." in text
    )


def test_a_whole_score_has_nothing_to_gain() -> None:
    told = explain("closure", [], lint([], [*EVERYTHING, event("assay.net.connect", subject="h")]))
    assert [row[4] for row in told.rows] == [""] * len(told.rows)
    assert told.ending[-1] == "Not held still: network: h"
    told = explain("closure", [], lint([], EVERYTHING), ["Replay runs again: 0"])
    assert told.ending[-1] == "Replay runs again: 0"


def test_without_a_bundle_the_method_is_explained() -> None:
    text = text_of(explain("closure.score", [], None))
    assert "Sum of the weights: 20" in text
    text = text_of(explain("completeness", [PACK], None))
    assert "run_inputs | p:R-1 | " in text
    assert "verdicts | p | " in text


def test_completeness_says_who_requires_what() -> None:
    told = explain("completeness", [PACK], lint([PACK], [STARTED]))
    assert told.title == "completeness: 1 of 3 required signals"
    text = text_of(told)
    assert "run_inputs | captured | p:R-1 | found in 1 event | events.ndjson:1/data/input" in text
    assert "verdicts | missing | p | no event of the run shows it" in text


@pytest.mark.parametrize("name", ["p@1:R-1", "p:R-1", "R-1"])
def test_a_rule_that_fires(name: str) -> None:
    text = text_of(explain(name, [PACK], lint([PACK], [STARTED])))
    assert text.startswith("p@1:R-1 (error)\na rule. Reference: 12(1).")
    assert "It checks that there are at least 2 events." in text
    assert "It fires: Bundle contains 1 events (minimum: 2)." in text
    assert "Record more." in text
    assert "Disclaimer: No promise." in text
    assert "rng_seeds | missing | no event of the run shows it | record the seeds" in text
    assert "run_inputs | captured | found in 1 event | " in text


def test_a_rule_that_passes_and_one_without_a_bundle() -> None:
    assert "It passes." in text_of(explain("R-2", [PACK], lint([PACK], [STARTED])))
    text = text_of(explain("R-1", [PACK], None))
    assert "It fires" not in text
    assert "rng_seeds | the seeds of whatever is drawn at random | record the seeds" in text


def test_a_rule_that_fires_at_a_place() -> None:
    pairs = {"type": "event_pairs", "start_pattern": "*.started", "finish_pattern": "*.finished"}
    pack = pack_with({"check": pairs})
    text = text_of(explain("R-1", [pack], lint([pack], [event("x"), STARTED])))
    assert "(line 2)." in text


def test_the_rules_that_are_always_on() -> None:
    result = lint([], [event("t", {"k": "sk-" + DRAWN})])
    text = text_of(explain("AFFIDAVIT-S001", [], result))
    assert "It fired 1 times." in text
    assert "1 | /data/k | Event holds an API key" in text
    assert "It did not fire." in text_of(explain("AFFIDAVIT-P001", [], result))
    assert "fire" not in text_of(explain("AFFIDAVIT-P001", [], None))


def test_what_cannot_be_explained() -> None:
    other = pack_with({"check": {"type": "x"}}, name="q")
    with pytest.raises(AffidavitError) as caught:
        explain("R-1", [PACK, other], None)
    assert caught.value.fault.code == "AF662"
    assert "p@1:R-1, q@1:R-1" in str(caught.value)
    with pytest.raises(AffidavitError, match=r"did you mean closure\.score") as caught:
        explain("closure.scor", [PACK], None)
    assert caught.value.fault.code == "AF661"
    with pytest.raises(AffidavitError, match="write one of: closure"):
        explain("zzzzzzzzz", [PACK], None)


WORDS = {
    "there are at least 3 events": {"type": "event_count", "min": 3},
    "every event of a type a is followed, in the same run, by its b": {
        "type": "event_pairs",
        "start_pattern": "a",
        "finish_pattern": "b",
    },
    "some event has /a or /b": {"type": "event_field_present", "paths_any_of": ["/a", "/b"]},
    "some event has /a": {"type": "json_path_exists", "paths": ["/a"]},
    "some event has /a equal to true": {
        "type": "json_path_exists",
        "paths": ["/a"],
        "value_equals": True,
    },
    "some event has a type a.*": {"type": "event_type_exists", "pattern": "a.*"},
    "the manifest has /a": {"type": "manifest_field", "path": "/a"},
    'every event in which /a is 1 and /b is "x" has /c': {
        "type": "conditional",
        "condition": {"all": [{"path": "/a", "equals": 1}, {"path": "/b", "equals": "x"}]},
        "then": {"type": "json_path_exists", "paths": ["/c"]},
    },
    "some tool decision says on whose authority it was made": {
        "type": "g3_authorization_context_present"
    },
    "something holds that this engine does not know (new)": {"type": "new"},
}


@pytest.mark.parametrize(("words", "check"), WORDS.items())
def test_a_check_in_words(words: str, check: dict[str, object]) -> None:
    (rule,) = pack_with({"check": check}).rules
    assert describe_check(rule) == words


def test_a_scope_in_words() -> None:
    (rule,) = pack_with({"check": {"type": "x"}, "event_types": ["a", "b"]}).rules
    assert describe_check(rule).endswith(", among events of type a or b")


def test_every_signal_has_an_advice() -> None:
    assert all(signal.advice and signal.says for signal in REGISTRY.values())
