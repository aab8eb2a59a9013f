"""The functions of `import affidavit`: results, errors, what a notebook shows, what is imported."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.cli.running import run
from tests.repository import ROOT

import affidavit
from affidavit.app.api import text_file
from affidavit.base.exits import Exit
from affidavit.base.notebook import MAX_ROWS, coloured_text, result_table

POLICY = "# Leave\nEmployees have 25 days of annual leave.\n"
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGE = (ROOT / "docs" / "python.md").read_text("utf-8")


def test_the_examples_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for language, text in BLOCK.findall(PAGE):
        if language == "python":
            exec(compile(text, "docs/python.md", "exec"), {})  # noqa: S102 - our own page
        else:
            assert run(*shlex.split(text)[1:]).exit_code == 0


def test_the_page_names_every_function() -> None:
    functions = [name for name in affidavit.__all__ if name.islower() and not name.startswith("_")]
    assert [name for name in functions if f"| `affidavit.{name}(" not in PAGE] == []


def test_importing_loads_nothing_else() -> None:
    code = "import sys; before = set(sys.modules); import affidavit; print(set(sys.modules)-before)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "{'affidavit'}"


def test_the_package_judge_is_callable_once_it_is_imported() -> None:
    import affidavit.judge.protocol

    assert isinstance(vars(affidavit)["judge"], ModuleType)
    row = affidavit.judge("The sky is blue.", ["The sky is blue."], judge="lexical")
    assert row.verdict == "supported"


def test_a_check_is_stored_only_in_a_project(tmp_path: Path) -> None:
    answer = tmp_path / "answer.md"
    answer.write_text("\ufeffEmployees have 25 days of annual leave.", "utf-8")
    given: dict[str, Any] = {"contexts": POLICY, "judge": "lexical", "at": "2026-11-16"}
    kept = affidavit.check(answer, **given, project=tmp_path)
    assert affidavit.check(answer, **given) == kept
    assert [each.name for each in (tmp_path / ".affidavit").rglob(f"{kept.session_id}*")] != []


ANSWERS: dict[str, tuple[str, dict[str, Any], str]] = {
    "an empty answer": (" ", {"contexts": POLICY}, "AF276"),
    "an answer that is not text": ("a\0b", {"contexts": POLICY}, "AF277"),
    "half of a surrogate pair": ("a \ud800", {"contexts": POLICY}, "AF277"),
    "no source": ("A claim.", {}, "AF215"),
    "contexts without words": ("A claim.", {"contexts": ["", " \n"]}, "AF215"),
    "a mistyped path": ("A claim.", {"sources": "handbok.md"}, "AF216"),
    "a mistyped path of another type": ("A claim.", {"contexts": Path("handbok.md")}, "AF216"),
    "a sentence is no path that exists": ("A claim.", {"sources": "The sky is blue."}, "AF216"),
    "a paragraph is no path": ("A claim.", {"sources": "The sky is blue. " * 20}, "AF265"),
    "several lines are no path": ("A claim.", {"sources": POLICY}, "AF265"),
    "nothing is no path": ("A claim.", {"sources": ""}, "AF265"),
    "a zero byte is in no path": ("A claim.", {"sources": "a\0b"}, "AF265"),
    "an object among contexts": ("A claim.", {"contexts": [POLICY, {"text": "x"}]}, "AF247"),
    "one object for contexts": ("A claim.", {"contexts": {"text": POLICY}}, "AF247"),
    "a missing context": ("A claim.", {"contexts": [POLICY, None]}, "AF247"),
    "no contexts at all": ("A claim.", {"contexts": None}, "AF247"),
    "an answer that is its own source": (POLICY, {"contexts": POLICY}, "AF280"),
}


@pytest.mark.parametrize(("answer", "given", "code"), ANSWERS.values(), ids=ANSWERS.keys())
def test_invalid_inputs_of_check(answer: str, given: dict[str, Any], code: str) -> None:
    with pytest.raises(affidavit.AffidavitError) as caught:
        affidavit.check(answer, **given, judge="lexical")
    assert caught.value.fault.code == code


CONTEXTS = {
    "a word": "docs",
    "a name of a document": "handbook.md",
    "a long line, which is no file name": "Employees have 25 days of annual leave. " * 20,
    "a very long line": "Employees have 25 days of annual leave. " * 2000,
    "the name of a file that exists": __file__,
}


@pytest.mark.parametrize("context", CONTEXTS.values(), ids=CONTEXTS.keys())
def test_a_context_is_never_taken_for_a_path(context: str) -> None:
    ledger = affidavit.check("A claim about leave.", contexts=[context], judge="lexical")
    assert [document.filename for document in ledger.documents] == ["context 1"]


def test_contexts_beside_sources(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("Requests need two weeks' notice.")
    answer = "Employees have 25 days of annual leave. Requests need two weeks' notice."
    given: dict[str, Any] = {"contexts": [POLICY], "judge": "lexical", "at": "2026-11-16"}
    ledger = affidavit.check(answer, tmp_path, **given)
    assert sorted(each.filename for each in ledger.documents) == ["context 1.txt", "other.md"]
    assert ledger.gates.decision == "ship"


def test_a_binary_answer_names_its_file(tmp_path: Path) -> None:
    (tmp_path / "answer.md").write_bytes(b"\xff\xfe")
    with pytest.raises(affidavit.AffidavitError) as caught:
        affidavit.check(tmp_path / "answer.md", contexts=POLICY)
    assert caught.value.where.file == str(tmp_path / "answer.md")


def test_the_same_text_is_the_same_file(tmp_path: Path) -> None:
    first = text_file("some text", 1, tmp_path)
    assert first == text_file("some text", 1, tmp_path)
    assert first.read_text() == "some text"


def test_a_claim_that_nothing_was_read_for_is_shown_without_a_passage() -> None:
    answer = "Die Pause dauert dreißig Minuten und wird bezahlt."
    page = affidavit.check(answer, contexts=["The break is paid."])._repr_html_()
    assert "dreißig Minuten" in page
    assert "The break is paid." not in page


def test_a_gate_of_a_file_and_a_project(tmp_path: Path) -> None:
    rows = tmp_path / "latency.jsonl"
    rows.write_text('{"e2e_ms": 100}\n{"e2e_ms": 200}\n')
    report = affidavit.gate("latency", rows=rows)
    assert report == affidavit.gate("latency", rows=[str(rows)])
    (tmp_path / "affidavit.toml").write_text('[gates.latency]\nrows = "latency.jsonl"\n')
    together = affidavit.gate("all", config=tmp_path / "affidavit.toml")
    assert together.decision == report.decision
    assert "All gates" in together._repr_html_()
    assert "p95_ms" in report._repr_html_()


def test_a_configuration_without_a_trace_is_refused(tmp_path: Path) -> None:
    (tmp_path / "gates.toml").write_text('[gates.rag]\ngold = "gold.jsonl"\ntrace = []\n')
    with pytest.raises(affidavit.AffidavitError) as caught:
        affidavit.gate("all", config=tmp_path / "gates.toml")
    assert (caught.value.fault.code, caught.value.where.field) == ("AF452", "gates.rag.trace")
    with pytest.raises(TypeError, match="colour"):
        affidavit.gate("all", colour="red")


GATES: dict[str, tuple[str, dict[str, Any], str]] = {
    "no such gate": ("rags", {}, "AF451"),
    "no such setting": ("latency", {"rows": "x", "rpz": 1}, "AF451"),
    "a row that JSON cannot hold": ("rag", {"trace": [{"qid": object()}]}, "AF407"),
}


@pytest.mark.parametrize(("kind", "settings", "code"), GATES.values(), ids=GATES.keys())
def test_invalid_inputs_of_gate(kind: str, settings: dict[str, Any], code: str) -> None:
    with pytest.raises(affidavit.AffidavitError) as caught:
        affidavit.gate(kind, **settings)
    assert caught.value.fault.code == code


def test_a_receipt_is_verified_by_path_and_by_bytes(tmp_path: Path) -> None:
    cases = ROOT / "samples" / "answers"
    assert run("keys", "new", "--project", str(tmp_path)).exit_code == 0
    made = run("answer", str(cases / "checks.json"), "--json", "--project", str(tmp_path))
    receipt = tmp_path / "receipt.json"
    receipt.write_bytes(made.stdout_bytes)
    verified = affidavit.verify(receipt, project=tmp_path)
    assert verified.exit is Exit.YES
    assert "valid" in verified._repr_html_()
    changed = json.loads(made.stdout)
    changed["verdict"] = "contradicted"
    broken = affidavit.verify(json.dumps(changed).encode(), project=tmp_path)
    assert broken.exit is Exit.TAMPERED
    assert "not valid" in broken._repr_html_()


UNREADABLE = {
    "no receipt": (b"{}", "AF3"),
    "nothing": (b"", "AF"),
    "half of a bundle": (b"\x1f\x8b\x08", None),
}


@pytest.mark.parametrize(("data", "code"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_invalid_inputs_of_verify(data: bytes, code: str | None, tmp_path: Path) -> None:
    if code is None:
        found = affidavit.verify(data)
        assert found.exit is not Exit.YES
        assert "not valid" in found._repr_html_()
        return
    with pytest.raises(affidavit.AffidavitError) as caught:
        affidavit.verify(data, project=tmp_path)
    assert caught.value.fault.code.startswith(code)


def test_a_notebook_shows_what_documents_say_as_text() -> None:
    answer = "Employees have <script>alert(1)</script> 30 days of annual leave."
    shown = affidavit.check(answer, contexts=POLICY, judge="lexical")._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
    assert (
        "#cf222e"
        in affidavit.judge("Leave is 5 days.", "Leave is 6 days.", judge="lexical")._repr_html_()
    )


def test_a_long_table_is_cut_and_says_so() -> None:
    rows = [("pass", str(number)) for number in range(MAX_ROWS + 3)]
    assert result_table("Gates", "ship", ("Status", "Name"), rows).endswith("<p>3 more rows</p>")


def test_another_name_is_an_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'chek'"):
        _ = affidavit.chek


def test_a_notebook_shows_the_answer_in_colours() -> None:
    answer = "Employees have 25 days of annual leave. They have <b>40</b> days of sick leave."
    shown = affidavit.check(answer, contexts=POLICY, judge="lexical")._repr_html_()
    assert shown.startswith("<p")
    assert 'title="supported:' in shown
    assert "&lt;b&gt;40" in shown


def test_a_notebook_shows_the_nearest_passage_and_what_it_lacks() -> None:
    context = "Requests are sent to the team lead."
    shown = affidavit.check("The CEO signs requests.", contexts=context, judge="lexical")
    cells = shown._repr_html_().split("<td>")
    assert [context in cell for cell in cells].count(True) == 1
    assert "&quot;CEO&quot; is not in the source" in cells[-1]


def test_marks_that_overlap_are_shown_once() -> None:
    shown = coloured_text("one two", [(0, 3, "supported", "yes"), (1, 5, "weak", "half")])
    assert shown.count("<span") == 1
    assert shown.endswith("one</span> two</p>")
