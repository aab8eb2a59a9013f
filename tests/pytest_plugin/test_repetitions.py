"""Repetitions, the summary and the report, by a pytest inside pytest."""

import json
import sys

import pytest

from affidavit.pytest_plugin.hooks import RepeatedTest, RunOutcome, split_run_name

pytest_plugins = ["pytester"]

FLAKY = """
    import pytest
    SEEN = []

    def test_flaky(affidavit):
        SEEN.append(1)
        assert len(SEEN) != 2, "the second run"

    def test_other():
        pass
"""


def test_each_run_is_listed_with_pass_hat_k(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it=FLAKY)
    result = pytester.runpytest("--affidavit-repeat", "4", "--affidavit-report", "out.json")
    result.assert_outcomes(passed=4, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*affidavit: repeated tests*",
            "test_it.py::test_flaky: 3 of 4 passed; pass^1 0.750, pass^2 0.500, pass^4 0.000",
            "  run 1: passed",
            "  run 2: failed: AssertionError: the second run",
            "  run 3: passed",
            "  run 4: passed",
        ]
    )
    report = json.loads((pytester.path / "out.json").read_text())
    (test,) = report["tests"]
    assert report["schema_version"] == "affidavit-pytest/1"
    assert (test["test"], test["passed"], test["runs"]) == ("test_it.py::test_flaky", 3, 4)
    assert test["pass_hat_k"] == {"1": 0.75, "2": 0.5, "4": 0.0}


def test_workers_bring_their_runs_home(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_it="""
        def test_steady(affidavit):
            pass
        """
    )
    result = pytester.runpytest(
        "--affidavit-repeat", "3", "-n", "2", "--affidavit-report", "out.json"
    )
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["test_it.py::test_steady: 3 of 3 passed; pass^1 1.000*"])
    assert json.loads((pytester.path / "out.json").read_text())["tests"][0]["runs"] == 3


def test_a_mark_repeats_a_test_and_the_option_decides(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_it="""
        import pytest

        @pytest.mark.affidavit(repeat=2)
        @pytest.mark.parametrize("word", ["a", "b"])
        def test_marked(word):
            pass

        def test_number(affidavit_repetition):
            assert affidavit_repetition == 1
        """
    )
    result = pytester.runpytest("--strict-markers")
    result.assert_outcomes(passed=5)
    result.stdout.fnmatch_lines(["test_it.py::test_marked*: 2 of 2 passed*"])
    pytester.runpytest("--affidavit-repeat", "3").assert_outcomes(passed=7)


def test_without_the_options_nothing_is_added(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it=FLAKY)
    result = pytester.runpytest()
    result.assert_outcomes(passed=2)
    result.stdout.no_fnmatch_line("*affidavit: repeated*")


def test_what_a_check_found_is_in_the_report(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_it="""
        GOLD = {"qid": "a", "question": "q", "answerable": True,
                "gold_claim_substr": ["right"], "gold_citations": ["p"]}
        TRACE = {"qid": "a", "retrieved_ids": ["p"],
                 "answer_json": {"claim": "quite wrong", "citations": ["p"]}}

        def test_gate(affidavit):
            affidavit.assert_gate(gold=[GOLD], trace=[TRACE], gates="under_refusal=off")
        """
    )
    result = pytester.runpytest("--affidavit-report", "out.json")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["E*AssertionError: the gate does not pass: do not ship: 2 passed, 1 failed"]
    )
    result.stdout.no_fnmatch_line("*run_rag*")
    (test,) = json.loads((pytester.path / "out.json").read_text())["tests"]
    (run,) = test["each"]
    assert run["checks"][0]["decision"] == "no_ship"
    assert (
        run["reason"] == "AssertionError: the gate does not pass: do not ship: 2 passed, 1 failed"
    )


def test_what_cannot_be_checked_is_one_line(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_it="""
        from pathlib import Path

        def test_grounded(affidavit):
            affidavit.assert_grounded("A claim.", Path("none"), judge="lexical")
        """
    )
    result = pytester.runpytest("--affidavit-report", "out.json")
    result.assert_outcomes(failed=1)
    said = [line for line in result.outlines if line.startswith("AF216: none:")]
    assert len(said) == 1
    result.stdout.no_fnmatch_line("*During handling*")
    (test,) = json.loads((pytester.path / "out.json").read_text())["tests"]
    (check,) = test["each"][0]["checks"]
    assert (check["check"], check["decision"]) == ("grounded", "inconclusive")
    assert check["reasons"] == said


def test_a_report_that_cannot_be_written_is_refused_before_the_first_test(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(test_it="def test_it():\n    open('ran', 'w').close()")
    result = pytester.runpytest("--affidavit-report", "none/out.json")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: AF014: none/out.json: *"])
    assert not (pytester.path / "ran").exists()


def test_a_report_that_can_no_longer_be_written_hides_no_failure(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        test_it="""
        from pathlib import Path

        def test_it():
            Path("out.json").unlink()
            Path("out.json").mkdir()
            assert 1 == 2
        """
    )
    result = pytester.runpytest("--affidavit-report", "out.json")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stdout.fnmatch_lines(["*assert 1 == 2*", "ERROR: AF01*out.json*", "FAILED *test_it*"])


def test_half_a_letter_does_not_keep_the_report_from_being_written(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(test_it="def test_it(affidavit):\n    assert 0, 'half \\udc80 letter'")
    result = pytester.runpytest("--affidavit-repeat", "2", "--affidavit-report", "out.json")
    result.assert_outcomes(failed=2)
    (test,) = json.loads((pytester.path / "out.json").read_text("utf-8"))["tests"]
    assert test["each"][0]["reason"] == "AssertionError: half ? letter"


MARKS = {
    "none at all": "repeat=0",
    "a word": "repeat='many'",
    "a truth": "repeat=True",
    "another name": "times=3",
    "no name": "3",
}


@pytest.mark.parametrize("mark", MARKS.values(), ids=MARKS.keys())
def test_a_mark_that_means_nothing_is_refused(mark: str, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_it=f"import pytest\n\n@pytest.mark.affidavit({mark})\ndef test_it():\n    pass"
    )
    result = pytester.runpytest()
    assert result.ret != 0
    said = [line for line in result.outlines if "repeat=N" in line]
    assert said[0].startswith("test_it.py::test_it: ")
    result.stdout.no_fnmatch_line("*hooks.py*")


def test_skips_and_broken_fixtures(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_it="""
        import pytest

        @pytest.fixture
        def broken(affidavit_repetition):
            if affidavit_repetition == 2:
                raise RuntimeError("no server")
            yield
            if affidavit_repetition == 3:
                raise RuntimeError("no end")

        def test_it(affidavit, broken, affidavit_repetition):
            if affidavit_repetition == 1:
                pytest.skip("not today")
        """
    )
    result = pytester.runpytest("--affidavit-repeat", "4")
    result.stdout.fnmatch_lines(
        [
            "test_it.py::test_it: 1 of 3 passed; pass^1 0.333, pass^2 0.000, pass^3 0.000",
            "  run 1: skipped",
            "  run 2: error: RuntimeError: no server",
            "  run 3: error: RuntimeError: no end",
            "  run 4: passed",
        ]
    )


BAD = {
    "no repetition at all": (["--affidavit-repeat", "0"], "*needs a number of at least 1*"),
    "a folder as the report": (["--affidavit-report", "."], "*AF0*"),
}


@pytest.mark.parametrize(("options", "said"), BAD.values(), ids=BAD.keys())
def test_bad_options(options: list[str], said: str, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it=FLAKY)
    result = pytester.runpytest(*options)
    assert result.ret != 0
    said_by = [*result.stderr.lines, *result.stdout.lines]
    assert any(said.strip("*") in line for line in said_by)
    assert not any("Traceback" in line for line in said_by)


NAMES = {
    "the only parameter": ("t.py::test[run2of3]", ("t.py::test", 2)),
    "after another": ("t.py::test[a-run2of3]", ("t.py::test[a]", 2)),
    "before another": ("t.py::test[run2of3-a]", ("t.py::test[a]", 2)),
    "between two": ("t.py::test[a-run2of3-b]", ("t.py::test[a-b]", 2)),
    "not repeated": ("t.py::test_run2of3", ("t.py::test_run2of3", None)),
    "plain": ("t.py::test", ("t.py::test", None)),
}


@pytest.mark.parametrize(("nodeid", "wanted"), NAMES.values(), ids=NAMES.keys())
def test_apart(nodeid: str, wanted: tuple[str, int | None]) -> None:
    assert split_run_name(nodeid) == wanted


def test_a_test_of_which_all_runs_were_skipped_measured_nothing() -> None:
    test = RepeatedTest("t", [RunOutcome(1, "skipped"), RunOutcome(2, "skipped")])
    assert next(test.lines()) == "t: 0 of 0 passed"


def test_the_plugin_loads_little(pytester: pytest.Pytester) -> None:
    code = (
        "import sys; import affidavit.pytest_plugin.hooks;"
        "heavy = {'msgspec', 'numpy', 'onnxruntime', 'rich', 'jinja2', 'orjson', 'click'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    result = pytester.run(sys.executable, "-c", code)
    assert result.outlines == ["[]"]
