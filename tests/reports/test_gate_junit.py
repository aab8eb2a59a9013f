"""JUnit XML: what continuous integration shows of a gate."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from tests.golden_files import Golden
from tests.reports import gate_samples

# What the schema of Jenkins, which the other readers follow, allows.
ATTRIBUTES = {
    "testsuites": {"name", "tests", "failures", "errors", "skipped"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped"},
    "properties": set(),
    "property": {"name", "value"},
    "testcase": {"classname", "name"},
    "failure": {"message", "type"},
    "error": {"message", "type"},
    "skipped": {"message"},
    "system-out": set(),
}


def parsed(text: str) -> etree._Element:
    return etree.fromstring(text.encode())


@pytest.mark.parametrize("kind", gate_samples.KINDS)
def test_the_document(kind: str, golden: Golden) -> None:
    text = gate_samples.junit_of(gate_samples.KINDS[kind]())
    golden.check(f"gate_{kind}.xml", text)
    root = parsed(text)
    for element in root.iter():
        assert set(element.attrib) == ATTRIBUTES[element.tag]
    for suite in root:
        cases = suite.findall("testcase")
        assert int(suite.attrib["tests"]) == len(cases)
        for name, attribute in (
            ("failure", "failures"),
            ("error", "errors"),
            ("skipped", "skipped"),
        ):
            assert int(suite.attrib[attribute]) == len(suite.findall(f"testcase/{name}"))


def test_a_gate_that_was_not_measured_is_skipped_but_the_decision_errs() -> None:
    root = parsed(gate_samples.junit_of(gate_samples.rag()))
    outcomes = {
        str(case.get("name")): [child.tag for child in case] for case in root.iter("testcase")
    }
    assert outcomes["precision>=0.8"] == []
    assert outcomes["scu_violations<=0"] == ["skipped"]
    assert outcomes["decision"] == ["error", "system-out"]


def test_a_gate_that_failed_names_its_reason_and_the_offenders_stand_in_the_output() -> None:
    root = parsed(gate_samples.junit_of(gate_samples.rag(5, 5)))
    failure = root.find(".//testcase[@name='precision>=0.8']/failure")
    assert failure is not None
    assert failure.get("message") == "precision is 0.5 (5 of 10), but precision>=0.8 is asked"
    said = root.findtext(".//system-out") or ""
    assert "A0005 (line 6): Does X support null keys? | wrong answer (fails C, H)" in said


def test_a_release_that_may_ship_has_no_failure() -> None:
    root = parsed(gate_samples.junit_of(gate_samples.latency(overrides=["p95_ms<=9000"])))
    assert (root.get("failures"), root.get("errors"), root.get("skipped")) == ("0", "0", "0")


@given(st.text(max_size=60))
def test_any_text_makes_a_document_that_can_be_read(text: str) -> None:
    wire = gate_samples.rag(5, 5)
    wire["reasons"] = [text]
    wire["offenders"][0]["claim"] = text
    wire["inputs"]["gold"]["path"] = text
    root = parsed(gate_samples.junit_of(wire))
    assert root.get("name") == "affidavit"


def test_characters_that_xml_forbids_are_shown() -> None:
    wire = gate_samples.rag(5, 5)
    wire["reasons"] = ["a\x00b\x1b\ufffe]]>"]
    assert "a\\u0000b\\u001b\\ufffe]]&gt;" in gate_samples.junit_of(wire)
