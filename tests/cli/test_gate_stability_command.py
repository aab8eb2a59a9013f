"""`affidavit gate stability`, as a user calls it: over recorded runs, and recording them."""

import json
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cli.gate_files import BAD_FILES, GOLD, NONE, REFUSED, RIGHT, bad_files, code_of, lines
from tests.cli.gate_files import report_of as gate_report
from tests.cli.running import HANDLING_CTRL_C, REAL, run, start
from tests.tools.pipeline_server import asking
from tests.tools.test_pipelines import is_running


def runs(qid: str, *answers: dict[str, Any] | None) -> list[dict[str, Any]]:
    return [
        {
            "qid": qid,
            "seed": seed,
            "jitter": "none",
            "answer_json": answer,
            "retrieved_ids": ["p1#1", "p1#2"],
        }
        for seed, answer in enumerate(answers)
    ]


def given_files(folder: Path, gold: list[Any], rows: list[Any]) -> list[str]:
    return [
        *("--gold", lines(folder / "gold.jsonl", gold)),
        *("--runs", lines(folder / "runs.jsonl", rows)),
    ]


STEADY = [*runs("A1", RIGHT, RIGHT), *runs("U1", REFUSED, REFUSED)]
WRONG = {"claim": "It depends on the version.", "citations": ["p1#1"]}
IN_WORDS = {"claim": "I'm sorry, but the documents do not mention it."}
DECIDED: dict[str, tuple[list[Any], list[Any], list[str], int]] = {
    "the same in every run": ([GOLD, NONE], STEADY, [], 0),
    "an answer that flips": ([GOLD], runs("A1", RIGHT, WRONG), [], 1),
    "unanswerable, and answered every time": ([NONE], runs("U1", RIGHT, RIGHT), [], 1),
    "unanswerable, and answered once": ([NONE], runs("U1", *[REFUSED] * 9, RIGHT), [], 1),
    "a question without runs": ([GOLD, NONE], runs("A1", RIGHT, RIGHT), [], 3),
    "which may be allowed": ([GOLD, NONE], runs("A1", RIGHT, RIGHT), ["--allow-missing"], 0),
    "a run without an answer": ([GOLD], runs("A1", RIGHT, RIGHT, None), [], 3),
    "an empty gold set": ([], STEADY, [], 3),
    "no runs": ([GOLD], [], [], 3),
    "no qid in common": ([GOLD], runs("B1", RIGHT, RIGHT), ["--allow-missing"], 3),
    "half of them is enough": (
        [GOLD, NONE],
        [*runs("A1", RIGHT, WRONG), *runs("U1", REFUSED, REFUSED)],
        ["--gates", "stable=0.5"],
        0,
    ),
    "another refusal": (
        [NONE],
        runs("U1", *[{"claim": "I do not know"}] * 2),
        ["--refusal", " I do not know "],
        0,
    ),
    "one run is not enough": ([NONE], runs("U1", REFUSED), [], 3),
    "a refusal in another case": ([NONE], runs("U1", *[{"claim": "Not In Context"}] * 2), [], 0),
    "which is an answer if only the token counts": (
        [NONE],
        runs("U1", {"claim": "Not In Context"}),
        ["--refusal-mode", "exact"],
        1,
    ),
    "a refusal in other words": ([NONE], runs("U1", REFUSED, IN_WORDS), [], 0),
    "which is one answer in the exact mode": (
        [NONE],
        runs("U1", REFUSED, IN_WORDS),
        ["--refusal-mode", "exact"],
        1,
    ),
    "a second token, of another language": (
        [NONE],
        runs("U1", REFUSED, {"claim": " Keine Angabe. "}),
        ["--refusal", "not in context", "--refusal", "keine Angabe"],
        0,
    ),
    "a limit of the user's own": (
        [GOLD],
        runs("A1", RIGHT, RIGHT, WRONG),
        ["--gates", "acr>=0.6", "cghc>=0.6", "css=off", "ned50<=0.9"],
        0,
    ),
    "which is strict": (
        [GOLD],
        runs("A1", RIGHT, WRONG),
        ["--gates", "acr>0.5", "cghc=0.5", "css=off", "ned50=off"],
        1,
    ),
    "without any limit nothing can be told": (
        [GOLD],
        runs("A1", RIGHT, RIGHT),
        ["--gates", "acr=off", "cghc=off", "css=off", "ned50=off"],
        3,
    ),
}


@pytest.mark.parametrize(("gold", "rows", "options", "exit"), DECIDED.values(), ids=DECIDED.keys())
def test_decision_of_research_runs(
    tmp_path: Path, gold: list[Any], rows: list[Any], options: list[str], exit: int
) -> None:
    ended, report = gate_report("stability", *given_files(tmp_path, gold, rows), *options)
    assert ended == exit
    assert report["decision"] == ["ship", "no_ship", "", "inconclusive"][exit]


def test_a_limit_has_no_confidence(tmp_path: Path) -> None:
    files = given_files(tmp_path, [GOLD], STEADY)
    assert code_of(run("gate", "stability", *files, "--gates", "acr>=0.9@95")) == "AF405"


def test_refusals_in_words_and_limits_are_stated(tmp_path: Path) -> None:
    files = given_files(tmp_path, [NONE], runs("U1", REFUSED, IN_WORDS))
    _, report = gate_report("stability", *files, "--gates", "acr=0.9", "css=off")
    assert report["listings"]["refused_in_words"] == {"total": 1, "first": ["U1#seed=1;j=none"]}
    assert report["settings"] == {
        "refusal": "not in context",
        "more_refusals": [],
        "refusal_mode": "words",
        "limits": ["acr>=0.9", "cghc>=0.95", "ned50<=0.2"],
        "allow_missing": False,
    }
    assert "refuse in other words" in report["warnings"][0]


def test_the_figures_of_each_question(tmp_path: Path) -> None:
    _, report = gate_report("stability", *given_files(tmp_path, [GOLD, NONE], STEADY))
    first, second = report["details"]["questions"]
    assert (first["acr"], first["cghc"], first["css"], first["ned50"]) == (1, 1, 1, 0)
    assert (first["rcr"], first["scu_cons"], second["refused"]) == (1, None, 2)


def test_the_last_run_counts_and_unknown_questions_are_reported(tmp_path: Path) -> None:
    rows = [*runs("A1", WRONG), *runs("A1", RIGHT, RIGHT), *runs("Z9", RIGHT)]
    ended, report = gate_report("stability", *given_files(tmp_path, [GOLD], rows))
    assert (ended, report["counts"]["duplicates"]) == (0, 1)
    assert report["listings"]["runs_without_gold"] == {"total": 1, "first": ["Z9"]}


def test_invalid_runs_can_be_skipped_and_are_listed(tmp_path: Path) -> None:
    files = given_files(tmp_path, [GOLD, NONE], [*STEADY, "{", {"qid": 1}])
    assert run("gate", "stability", *files).exit_code == 2
    ended, report = gate_report("stability", *files, "--skip-bad")
    assert (ended, report["inputs"]["runs"]["skipped"]) == (3, 2)
    assert "line 5" in report["inputs"]["runs"]["skipped_lines"][0]


def test_a_changed_gold_set_is_refused(tmp_path: Path) -> None:
    files = given_files(tmp_path, [GOLD, NONE], STEADY)
    _, report = gate_report("stability", *files)
    digest = report["inputs"]["gold"]["digest"]
    assert gate_report("stability", *files, "--expect-gold-digest", digest)[0] == 0
    lines(tmp_path / "gold.jsonl", [GOLD, {**NONE, "notes": "changed"}])
    changed = run("gate", "stability", *files, "--expect-gold-digest", digest)
    assert (changed.exit_code, code_of(changed)) == (4, "AF409")


def test_against_an_earlier_report(tmp_path: Path) -> None:
    gold = [{**GOLD, "qid": f"A{n}"} for n in range(6)]
    good = [row for item in gold for row in runs(item["qid"], RIGHT, RIGHT)]
    bad = [row for item in gold for row in runs(item["qid"], RIGHT, WRONG)]
    last = tmp_path / "last.json"
    files = given_files(tmp_path, gold, good)
    assert run("gate", "stability", *files, "--report", str(last)).exit_code == 0
    options = ["--gates", "stable=0", "--fail-on-regression", str(last)]
    ended, report = gate_report("stability", *given_files(tmp_path, gold, bad), *options)
    assert (ended, report["comparison"]["change"]) == (1, "regressed")


@pytest.mark.parametrize(("name", "code"), BAD_FILES.values(), ids=BAD_FILES.keys())
def test_a_file_that_cannot_be_used(tmp_path: Path, name: str, code: str) -> None:
    bad_files(tmp_path)
    files = given_files(tmp_path, [GOLD], STEADY)
    as_gold = run("gate", "stability", "--gold", str(tmp_path / name), *files[2:])
    as_runs = run("gate", "stability", *files[:2], "--runs", str(tmp_path / name))
    for result in (as_gold, as_runs):
        assert result.exit_code == 2
        assert code_of(result).startswith(code)


@settings(max_examples=15)
@given(
    st.lists(st.sampled_from([RIGHT, WRONG, REFUSED, None]), max_size=6),
    st.lists(st.sampled_from([RIGHT, REFUSED]), max_size=4),
    st.randoms(use_true_random=False),
)
def test_the_order_of_lines_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, first: list[Any], second: list[Any], chance: Any
) -> None:
    folder = tmp_path_factory.mktemp("order")
    rows = [*runs("A1", *first), *runs("U1", *second)]
    made = []
    for gold, given_rows in (([GOLD, NONE], rows), ([NONE, GOLD], chance.sample(rows, len(rows)))):
        ended, report = gate_report("stability", *given_files(folder, gold, given_rows))
        for each in report["inputs"].values():
            each.pop("digest")
        made.append(json.dumps([ended, report]))
    assert made[0] == made[1]


ASK = """
import json, sys
asked = sys.stdin.read()
open(sys.argv[1], "a").write(asked + "|")
if "this" in asked:
    print(json.dumps({"claim": "not in context"}))
elif "fail" in asked:
    sys.exit("no luck")
else:
    answer = {"claim": "X rejects null keys.", "citations": ["p1#2"]}
    print(json.dumps({"answer_json": answer, "retrieved_ids": ["p1#2"]}))
"""


def command(folder: Path) -> list[str]:
    (folder / "ask.py").write_text(ASK)
    return ["--command", f"{sys.executable} -I {folder / 'ask.py'} {folder / 'asked'}"]


def test_a_command_is_asked_and_its_runs_are_kept(tmp_path: Path) -> None:
    gold = lines(tmp_path / "gold.jsonl", [GOLD, NONE])
    place = tmp_path / "new" / "stability.jsonl"
    options = [
        *("--mode", "run", "--gold", gold, "--stability", str(place), "--seeds", "0,1"),
        *("--jitters", "none,syn", *command(tmp_path)),
    ]
    ended, report = gate_report("stability", *options, "-j", "2")
    assert (ended, report["inputs"]["runs"]["rows"]) == (0, 8)
    kept = [json.loads(line) for line in place.read_text().splitlines()]
    assert sorted(line["run_id"] for line in kept)[0] == "A1#seed=0;j=none"
    assert kept[0]["answer_json"] == RIGHT or kept[0]["answer_json"] == {"claim": "not in context"}
    asked = (tmp_path / "asked").read_text().split("|")[:-1]
    assert sorted(asked) == sorted(
        [GOLD["question"], "enumerate the rules for null keys", *[NONE["question"]] * 2] * 2
    )
    again = run("gate", "stability", *options)
    assert "8 runs, 8 of them recorded before" in again.stderr
    assert len((tmp_path / "asked").read_text().split("|")) == 9


def test_a_stopped_run_resumes(tmp_path: Path) -> None:
    gold = lines(tmp_path / "gold.jsonl", [GOLD, NONE])
    place = tmp_path / "runs.jsonl"
    options = [
        *("--mode", "run", "--gold", gold, "--runs", str(place), "--seeds", "0-1"),
        *("--jitters", "none", *command(tmp_path)),
    ]
    assert run("gate", "stability", *options).exit_code == 0
    whole = place.read_bytes()
    place.write_bytes(whole[: whole.rindex(b"{", 0, len(whole) - 60) + 20])
    result = run("gate", "stability", *options)
    assert result.exit_code == 0
    assert "was cut off; its run is made again" in result.stderr
    assert [json.loads(line)["run_id"] for line in place.read_text().splitlines()][-1:]
    assert len(place.read_text().splitlines()) == 4


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_stopped_leaves_nothing_running(tmp_path: Path, sent: signal.Signals) -> None:
    gold = lines(tmp_path / "gold.jsonl", [GOLD])
    script = tmp_path / "slow.py"
    script.write_text(
        "import os, pathlib, sys, time\n"
        "pathlib.Path(sys.argv[1]).write_text(str(os.getpid()))\ntime.sleep(60)\n"
    )
    process = start(
        HANDLING_CTRL_C + REAL,
        *(
            "gate",
            "stability",
            "--mode",
            "run",
            "--gold",
            gold,
            "--runs",
            str(tmp_path / "r.jsonl"),
        ),
        *("--command", f"{sys.executable} -I {script} {tmp_path / 'pid'}"),
    )
    with process:
        wait_until(lambda: (tmp_path / "pid").exists() and bool((tmp_path / "pid").read_text()))
        process.send_signal(sent)
        try:
            _, told = process.communicate(timeout=30)
        finally:
            process.kill()
    assert (process.returncode, told.decode().splitlines()[-1][:5]) == (3, "AF002")
    pid = int((tmp_path / "pid").read_text())
    wait_until(lambda: not is_running(pid))


def wait_until(holds: Callable[[], bool]) -> None:
    for _ in range(400):
        if holds():
            return
        time.sleep(0.05)
    raise AssertionError("it does not come about")


def test_a_missing_answer_is_not_a_refusal(tmp_path: Path) -> None:
    gold = lines(tmp_path / "gold.jsonl", [{**NONE, "question": "please fail"}])
    place = tmp_path / "runs.jsonl"
    options = [
        *("--mode", "run", "--gold", gold, "--runs", str(place), "--seeds", "0,1"),
        *("--jitters", "none", *command(tmp_path)),
    ]
    ended, report = gate_report("stability", *options)
    assert ended == 3
    assert report["listings"]["runs_without_answer"]["total"] == 2
    kept = [json.loads(line) for line in place.read_text().splitlines()]
    assert kept[0]["answer_json"] is None
    assert kept[0]["fault"] == "the command ended with 1 (no luck)"
    ended, report = gate_report("latency", str(place))
    assert (ended, report["counts"]) == (3, {"answers": 0, "no_answer": 2})
    # It is asked again in the next run; the later line counts.
    again = run("gate", "stability", *options)
    assert "2 runs, 0 of them recorded before" in again.stderr
    assert "2 of 2 runs brought no answer" in again.stderr


def test_a_url_is_queried(tmp_path: Path) -> None:
    gold = lines(tmp_path / "gold.jsonl", [{**GOLD, "question": "Once more"}, NONE])
    with asking() as server:
        ended, report = gate_report(
            *("stability", "--mode", "run", "--gold", gold, "--http", server.url),
            *("--runs", str(tmp_path / "r.jsonl"), "--seeds", "0,1", "--jitters", "none,ws"),
            *("--body", '{"question": "{question}", "seed": "{seed}"}', "--rps", "1000"),
        )
    assert ended == 0
    assert report["counts"]["questions"] == 2
    # The first connection was closed, so that question was sent twice.
    assert len(server.bodies) == 9
    assert {body["seed"] for body in server.bodies} == {0, 1}


def test_an_unreachable_url_is_reported(tmp_path: Path) -> None:
    gold = lines(tmp_path / "gold.jsonl", [GOLD])
    result = run(
        *("gate", "stability", "--mode", "run", "--gold", gold, "--url", "http://127.0.0.1:9/"),
        *("--runs", str(tmp_path / "r.jsonl"), "--retries", "0"),
    )
    assert (result.exit_code, code_of(result)) == (3, "AF446")


MISTAKES: dict[str, tuple[list[str], str]] = {
    "nothing to ask": ([], "AF440"),
    "no seeds": (["--command", "true", "--seeds", "a"], "AF448"),
    "a range that goes down": (["--command", "true", "--seeds", "4-0"], "AF448"),
    "a jitter that is none": (["--command", "true", "--jitters", "none,typo"], "AF418"),
    "no such program": (["--command", "no-such-program-here"], "AF442"),
    "two files to write": (["--command", "true", "--runs", "a", "--runs", "b"], "AF001"),
}


@pytest.mark.parametrize(("options", "code"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_wrong_option_is_reported_before_any_question(
    tmp_path: Path, options: list[str], code: str
) -> None:
    gold = lines(tmp_path / "gold.jsonl", [GOLD])
    place = [] if "--runs" in options else ["--runs", str(tmp_path / "r.jsonl")]
    result = run("gate", "stability", "--mode", "run", "--gold", gold, *place, *options)
    assert (result.exit_code, code_of(result)) == (2, code)
    assert not (tmp_path / "r.jsonl").exists()


def test_addresses_are_for_runs(tmp_path: Path) -> None:
    files = given_files(tmp_path, [GOLD], STEADY)
    result = run("gate", "stability", *files, "--url", "http://127.0.0.1/")
    assert (result.exit_code, code_of(result)) == (2, "AF001")


def test_a_gold_item_without_a_question(tmp_path: Path) -> None:
    gold = lines(tmp_path / "gold.jsonl", [{"qid": "a", "answerable": True}])
    result = run(
        *("gate", "stability", "--mode", "run", "--gold", gold, "--command", "true"),
        *("--runs", str(tmp_path / "r.jsonl")),
    )
    assert (result.exit_code, code_of(result)) == (2, "AF447")


@pytest.mark.parametrize("refusal", ["", "  "], ids=["nothing", "spaces"])
def test_a_refusal_is_explained(refusal: str) -> None:
    ended = run("gate", "stability", "--gold", "g", "--runs", "r", "--refusal", refusal)
    assert (ended.exit_code, code_of(ended)) == (2, "AF001")


def test_standard_input_is_one_file() -> None:
    ended = run("gate", "stability", "--gold", "-", "--runs", "-")
    assert (ended.exit_code, code_of(ended)) == (2, "AF001")
