"""`affidavit gate rag` through the real command line."""

import hashlib
import json
import shutil
import tempfile
import zlib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.cli.running import REAL, run, run_process
from tests.gates.making import ANSWER, GOLD, REFUSED, TRACE
from tests.rights import as_nobody

from affidavit.app import gate_inputs, gate_rag_inputs
from affidavit.cli.program import cli

Row = dict[str, Any]
FREE: Row = {name: value for name, value in GOLD.items() if name != "constraints"}
WRONG: Row = {**ANSWER, "claim": "It depends.", "citations": ["p2#1"]}


def item(qid: str, **changes: Any) -> Row:
    return {**FREE, "qid": qid, **changes}


def unanswerable(qid: str) -> Row:
    return item(qid, answerable=False, gold_claim_substr=[], gold_citations=[])


def answer(qid: str, answered: Row | None = ANSWER, **changes: Any) -> Row:
    return {**TRACE, "qid": qid, "answer_json": answered, **changes}


def good() -> tuple[list[Row], list[Row]]:
    """Return a gold set of ten and the traces that ship."""
    gold = [*(item(f"A{n}") for n in range(8)), unanswerable("U0"), unanswerable("U1")]
    traces = [*(answer(f"A{n}") for n in range(8)), answer("U0", REFUSED), answer("U1", REFUSED)]
    return gold, traces


def lines(rows: list[Row]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


class Folder:
    """A folder with a gold set and traces, in which commands are run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.write(*good())

    def write(self, gold: list[Row] | bytes, traces: list[Row] | bytes) -> None:
        self.gold = self._file("gold.jsonl", gold)
        self.trace = self._file("trace.jsonl", traces)

    def _file(self, name: str, rows: list[Row] | bytes) -> str:
        path = self.path / name
        path.write_bytes(rows if isinstance(rows, bytes) else lines(rows))
        return str(path)

    def gate(self, *more: str) -> Result:
        return run("gate", "rag", "--gold", self.gold, "--trace", self.trace, *more)

    def report(self, *more: str) -> tuple[int, Row]:
        result = self.gate("--json", *more)
        return result.exit_code, json.loads(result.stdout)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_ship(folder: Folder) -> None:
    result = folder.gate()
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("Decision: ship")


def test_no_ship_names_what_failed_and_what_to_do(folder: Folder) -> None:
    gold, traces = good()
    folder.write(gold, [*(answer(f"A{n}", WRONG) for n in range(3)), *traces[3:]])
    code, report = folder.report()
    assert (code, report["decision"]) == (1, "no_ship")
    assert report["metrics"]["precision"]["numerator"] == 5
    first = report["offenders"][0]
    assert (first["qid"], first["failed"]) == ("A0", ["C", "H"])
    assert report["inputs"]["trace"]["places"]["A0"] == {"file": folder.trace, "line": 1}
    assert first["question"] == GOLD["question"]
    assert first["retrieved_ids"] == TRACE["retrieved_ids"]
    assert [step["metrics"] for step in report["next_steps"]] == [["precision", "chr"]]
    said = folder.gate()
    assert said.stdout.startswith("Decision: do not ship")
    assert "pattern_rag_semantic_drift" in said.stdout


def test_the_seeds_own_command_line(folder: Folder) -> None:
    gold, traces = good()
    folder.write([*gold, {**GOLD, "qid": "K"}], [*traces, answer("K")])
    code, report = folder.report(
        *("--gates", "precision=0.80", "chr=0.75", "under_refusal=0.05", "over_refusal=0.10"),
        "--scu_enforced",
    )
    assert code == 0
    assert [gate["metric"] for gate in report["gates"]] == [
        *("precision", "chr", "under_refusal", "over_refusal", "scu_violations")
    ]
    commas = folder.report("--gates", "precision=0.80,chr=0.75,under=0.05,over=0.10")
    assert commas[1]["gates"] == report["gates"]


LOCKED = "The map rejects null keys."


def locked(claim: str) -> tuple[list[Row], list[Row]]:
    """Return ten good rows, and one whose claim is to keep a constraint that it echoes."""
    gold, traces = good()
    answered = {**ANSWER, "claim": claim, "constraints_echo": [LOCKED]}
    return (
        [*gold, item("K", constraints=[LOCKED], gold_claim_substr=["null keys"])],
        [*traces, answer("K", {**ANSWER, "constraints_echo": [LOCKED]}), answer("K", answered)],
    )


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_contradiction_that_no_rule_describes_is_found_by_the_judge(
    folder: Folder, jobs: str
) -> None:
    folder.write(*locked("Yes, null keys are accepted by the map."))
    code, report = folder.report("-j", jobs)
    assert (code, report["metrics"]["scu_violations"]["value"]) == (1, 1)
    (offender,) = report["offenders"]
    assert (offender["qid"], offender["failed"]) == ("K", ["K"])
    assert offender["expected"] == ["null keys", f"a claim that keeps: {LOCKED}"]
    assert report["settings"]["scu_judge"] == "lexical 1"
    # Without judging, only the rules read it.
    code, report = folder.report("-j", jobs, "--no-groundedness")
    assert (code, report["metrics"]["scu_violations"]["value"]) == (0, 0)
    assert "scu_judge" not in report["settings"]


def test_a_claim_that_keeps_its_constraint_in_other_words_ships(folder: Folder) -> None:
    folder.write(*locked("An error is raised, because null keys are refused by the map."))
    code, report = folder.report()
    assert (code, report["metrics"]["scu_violations"]["value"]) == (0, 0)


def test_a_gate_with_confidence_needs_enough_items(folder: Folder) -> None:
    code, report = folder.report("--gates", "precision>=0.80@95")
    assert (code, report["decision"]) == (3, "inconclusive")
    assert report["metrics"]["precision"]["ci95"] == [0.675592, 1.0]
    assert "too few items" in report["reasons"][0]
    # It was measured: the table shows its figure, and does not call it "not measured" beside that.
    (row,) = (
        line
        for line in folder.gate("--gates", "precision>=0.80@95").stdout.splitlines()
        if line.startswith("precision")
    )
    assert (row.split()[1], row.endswith("could not tell")) == ("1", True)


SETTINGS = {
    "k": (("--k", "1"), "recall_at_k", 0),
    "k as it is": ((), "recall_at_k", 8),
    "another refusal token": (("--refusal", "X rejects null keys."), "over_refusal", 8),
}


@pytest.mark.parametrize(("options", "metric", "hits"), SETTINGS.values(), ids=SETTINGS.keys())
def test_settings(folder: Folder, options: tuple[str, ...], metric: str, hits: int) -> None:
    _, report = folder.report(*options)
    assert report["metrics"][metric]["numerator"] == hits


def test_rules_of_contradiction_from_a_file(folder: Folder) -> None:
    locked = {"constraints": ["Fees are waived"], "gold_claim_substr": ["five euros"]}
    claim = {**ANSWER, "claim": "It costs five euros.", "constraints_echo": ["Fees are waived"]}
    gold, traces = good()
    folder.write([*gold, item("K", **locked)], [*traces, answer("K", claim)])
    assert folder.report()[0] == 0
    rule = {"id": "fees", "lock": "waived", "claim": "euros"}
    as_json, as_toml = folder.path / "rules.json", folder.path / "rules.toml"
    as_json.write_text(json.dumps([rule]))
    as_toml.write_text("[[rule]]\n" + "".join(f"{key} = '{text}'\n" for key, text in rule.items()))
    for file in (as_json, as_toml):
        code, report = folder.report("--scu-rules", str(file))
        assert (code, report["settings"]["scu_rules"][-1]) == (1, "fees")


BAD_RULES = {
    "not a list": ("r.json", b"{}", "AF410"),
    "not JSON": ("r.json", b"[", "AF020"),
    "not TOML": ("r.toml", b"rule", "AF410"),
    "not text": ("r.toml", b"\xff", "AF410"),
    "no rules in it": ("r.toml", b"x = 1", "AF410"),
}


@pytest.mark.parametrize(("name", "raw", "code"), BAD_RULES.values(), ids=BAD_RULES.keys())
def test_rules_that_cannot_be_read(folder: Folder, name: str, raw: bytes, code: str) -> None:
    (folder.path / name).write_bytes(raw)
    result = folder.gate("--scu-rules", str(folder.path / name))
    assert result.exit_code == 2
    assert result.stderr.startswith(f"{code}: {folder.path / name}")


def test_a_gold_set_with_another_digest_is_refused(folder: Folder) -> None:
    digest = f"sha256:{hashlib.sha256(Path(folder.gold).read_bytes()).hexdigest()}"
    code, report = folder.report("--expect-gold-digest", digest)
    assert (code, report["inputs"]["gold"]["digest"]) == (0, digest)
    changed = folder.gate("--expect-gold-digest", "sha256:" + "0" * 64)
    assert (changed.exit_code, changed.stderr[:5]) == (4, "AF409")
    assert folder.gate("--expect-gold-digest", "abc").exit_code == 2


NOTHING = {
    "an empty gold set": (b"", lines(good()[1]), "the gold set is empty"),
    "no traces": (lines(good()[0]), b"", "there are no traces"),
    "only blank lines": (lines(good()[0]), b"\n \n", "there are no traces"),
    "nothing at all": (b"", b"", "the gold set is empty"),
    "no qid in common": (
        lines(good()[0]),
        lines([answer("other")]),
        "no trace has a qid of the gold set",
    ),
}


@pytest.mark.parametrize(("gold", "traces", "reason"), NOTHING.values(), ids=NOTHING.keys())
@pytest.mark.parametrize("allowed", [(), ("--allow-missing",)], ids=["", "allowed"])
def test_nothing_to_measure_is_never_a_yes(
    folder: Folder, gold: bytes, traces: bytes, reason: str, allowed: tuple[str, ...]
) -> None:
    folder.write(gold, traces)
    code, report = folder.report(*allowed)
    assert (code, report["decision"]) == (3, "inconclusive")
    assert reason in report["reasons"]


def test_a_missing_trace_is_inconclusive_unless_allowed(folder: Folder) -> None:
    gold, traces = good()
    folder.write(gold, traces[1:])
    code, report = folder.report()
    assert (code, report["listings"]["missing_traces"]["first"]) == (3, ["A0"])
    assert folder.report("--allow-missing")[0] == 0


def test_a_malformed_line_is_named_and_can_be_skipped(folder: Folder) -> None:
    gold, traces = good()
    rows = lines(traces).splitlines(keepends=True)
    broken = json.dumps({**TRACE, "qid": "A3", "answer_json": {"claim": 7}}).encode() + b"\n"
    folder.write(gold, b"".join([*rows[:3], broken, b"{\n", *rows[4:]]))
    refused = folder.gate()
    assert refused.exit_code == 2
    assert refused.stderr.startswith(
        f"AF407: {folder.trace}, line 4, field answer_json.claim: this is not a trace"
    )
    code, report = folder.report("--skip-bad", "--allow-missing")
    assert code == 0
    assert report["inputs"]["trace"]["skipped"] == 2
    first, second = report["inputs"]["trace"]["skipped_lines"]
    assert first.startswith(f"{folder.trace}, line 4, field answer_json.claim")
    assert second.startswith(f"{folder.trace}, line 5")
    assert any("skipped: 2" in said for said in report["warnings"])
    code, report = folder.report("--skip-bad")
    assert (code, report["decision"]) == (3, "inconclusive")
    assert "lines that were not rows and were skipped: 2" in report["reasons"]


HOSTILE = {
    "binary": (bytes(range(256)), "AF02"),
    "broken UTF-8": (b'{"qid": "\xff", "answer_json": null}\n', "AF02"),
    "not an object": (b"7\n", "AF4"),
    "a key twice": (b'{"qid": "a", "qid": "b", "answer_json": null}\n', "AF024"),
    "no qid": (b'{"answer_json": null}\n', "AF407"),
    "a line that is too long": (b'{"answer_json": null, "qid": "' + b"a" * (1 << 21), "AF030"),
    "deeply nested": (b'{"answer_json": null, "x": ' + b"[" * 100_000 + b"\n", "AF02"),
}


@pytest.mark.parametrize(("raw", "code"), HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_traces(folder: Folder, raw: bytes, code: str) -> None:
    folder.write(good()[0], raw)
    result = folder.gate("--report", str(folder.path / "r.json"))
    assert result.exit_code == 2
    assert result.stderr.startswith(code), result.stderr
    assert result.stderr.count("\n") == 1
    assert not (folder.path / "r.json").exists()


def test_a_duplicate_gold_item_is_refused(folder: Folder) -> None:
    gold, traces = good()
    folder.write([*gold, gold[0]], traces)
    result = folder.gate()
    assert result.exit_code == 2
    assert result.stderr.startswith(f"AF408: {folder.gold}, line 11, field qid")


def test_unreadable_files_are_reported(folder: Folder) -> None:
    for place, code in ((folder.path, "AF296"), (folder.path / "none.jsonl", "AF010")):
        result = run("gate", "rag", "--gold", str(place), "--trace", folder.trace)
        assert (result.exit_code, result.stderr[:5]) == (2, code)
        result = run("gate", "rag", "--gold", folder.gold, "--trace", str(place))
        assert (result.exit_code, result.stderr[:5]) == (2, code)


@pytest.mark.parametrize("closed", ["gold.jsonl", "trace.jsonl"])
def test_a_file_without_permission(folder: Folder, closed: str) -> None:
    with tempfile.TemporaryDirectory() as place:  # The folders of pytest are closed to others.
        Path(place).chmod(0o755)
        for name, file in (("gold.jsonl", folder.gold), ("trace.jsonl", folder.trace)):
            shutil.copy(file, Path(place, name))
        line = ("gate", "rag", "--gold", f"{place}/gold.jsonl", "--trace", f"{place}/trace.jsonl")
        # Import everything before root's rights are given up.
        assert run(*line).exit_code == 0
        Path(place, closed).chmod(0)
        with as_nobody():
            refused = run(*line)
    assert refused.exit_code == 2
    assert refused.stderr.startswith(f"AF011: {place}/{closed}: ")


USAGE = {
    "a refusal that is not text": (("t.jsonl", "--refusal", "x\udcff"), "not text in UTF-8"),
    "no file": ((), "there are no traces"),
    "standard input twice": (("--gold", "-", "--trace", "-"), "standard input can be one file"),
}


@pytest.mark.parametrize(("options", "said"), USAGE.values(), ids=USAGE.keys())
def test_usage(options: tuple[str, ...], said: str) -> None:
    result = run("gate", "rag", *options)
    assert result.exit_code == 2
    assert said in result.stderr


def test_traces_without_gold_are_refused(folder: Folder) -> None:
    result = run("gate", "rag", folder.trace)
    assert (result.exit_code, result.stderr[:5]) == (2, "AF419")


def test_spark_is_an_extra(folder: Folder) -> None:
    result = folder.gate("--engine", "spark")
    assert result.exit_code == 2
    assert result.stderr.startswith("AF003")
    assert "affidavit[spark]" in result.stderr


def test_a_report_cannot_replace_an_input(folder: Folder) -> None:
    result = folder.gate("--report", folder.trace)
    assert (result.exit_code, result.stderr[:5]) == (2, "AF281")
    assert Path(folder.trace).read_bytes() == lines(good()[1])


def test_every_form_from_one_run(folder: Folder) -> None:
    names = ("report.json", "junit.xml", "s.sarif", "c.md", "page.html", "history.jsonl")
    report, junit, sarif, markdown, html, history = (str(folder.path / name) for name in names)
    result = folder.gate(
        *("--report", report, "--junit", junit, "--sarif", sarif),
        *("--markdown", markdown, "--html", html, "--history", history),
    )
    assert result.exit_code == 0
    assert result.stderr.count("wrote ") == 5
    assert all((folder.path / name).stat().st_size for name in names)
    printed = folder.gate("--json")
    assert Path(report).read_bytes() == printed.stdout_bytes
    folder.gate("--history", history)
    assert Path(history).read_bytes().count(b"\n") == 2


def test_a_byte_order_mark_changes_nothing_but_the_digest(folder: Folder) -> None:
    plain = folder.report()[1]
    folder.write(*(b"\xef\xbb\xbf" + lines(rows) for rows in good()))
    code, marked = folder.report()
    for report in (plain, marked):
        for given in report["inputs"].values():
            given.pop("digest")
    assert (code, marked) == (0, plain)


def test_standard_input_several_files_and_patterns(folder: Folder) -> None:
    whole = folder.report()[1]
    raw = Path(folder.trace).read_bytes()
    piped = CliRunner().invoke(
        cli, ["gate", "rag", "--json", "--gold", folder.gold, "--trace", "-"], input=raw
    )
    found = json.loads(piped.stdout)
    assert found["inputs"]["trace"].pop("path") == "standard input"
    whole["inputs"]["trace"].pop("path")
    assert found == whole
    rows = raw.splitlines(keepends=True)
    for name, part in (("t-1.jsonl", rows[:4]), ("t-2.jsonl", rows[4:])):
        (folder.path / name).write_bytes(b"".join(part))
    folder.trace = str(folder.path / "t-*.jsonl")
    found = folder.report()[1]
    for report in (found, whole):
        report.pop("inputs")
    assert found == whole


def test_the_last_trace_wins_over_files_too(folder: Folder) -> None:
    (folder.path / "again.jsonl").write_bytes(lines([answer("A5", WRONG)]))
    code, report = folder.report("--trace", str(folder.path / "again.jsonl"))
    assert (code, report["counts"]["duplicates"]) == (0, 1)
    places = report["inputs"]["trace"]["places"]
    assert places == {"A5": {"file": str(folder.path / "again.jsonl"), "line": 1}}


def test_a_regression_does_not_ship(folder: Folder) -> None:
    before, after = folder.path / "before.json", folder.path / "after.json"
    assert folder.gate("--report", str(before)).exit_code == 0
    gold, traces = good()
    folder.write(gold, [*(answer(f"A{n}", WRONG) for n in range(8)), *traces[8:]])
    code, report = folder.report(
        *("--gates", "precision=0", "chr=0", "--fail-on-regression", str(before)),
        *("--report", str(after)),
    )
    assert (code, report["comparison"]["change"]) == (1, "regressed")
    assert report["reasons"][0].startswith("worse than the baseline")
    folder.write(*good())
    code, report = folder.report("--fail-on-regression", str(after))
    assert (code, report["comparison"]["change"]) == (0, "improved")


def test_a_baseline_needs_items(folder: Folder) -> None:
    before = str(folder.path / "before.json")
    folder.gate("--report", before, "--no-items")
    result = folder.gate("--fail-on-regression", before)
    assert (result.exit_code, result.stderr[:5]) == (2, "AF417")


def test_a_file_of_another_tool_has_gold_and_traces(folder: Folder) -> None:
    file = folder.path / "ragas.csv"
    file.write_text(
        "user_input,retrieved_contexts,response,reference\n"
        '"How many days?","[\'Employees get 15 days.\']","15 days of leave","15 days"\n'
        '"Who approves?","[\'A manager approves.\']","Nobody does","the manager"\n'
    )
    result = run("gate", "rag", "--json", str(file))
    report = json.loads(result.stdout)
    assert report["counts"]["gold"] == report["counts"]["traces"] == 2
    assert result.exit_code in (1, 3)
    assert report["inputs"]["gold"]["digest"] == report["inputs"]["trace"]["digest"]
    with_gates = run(
        *("gate", "rag", "--json", str(file)),
        *("--gates", "precision=0.5", "chr=off", "under=off"),
    )
    assert json.loads(with_gates.stdout)["metrics"]["over_refusal"]["value"] == 0


def many(count: int, salt: int) -> tuple[list[Row], list[Row]]:
    """Return rows of every kind in a mixed order, so that every list of the report is used."""
    gold = [unanswerable(f"q{n}") if n % 5 == 0 else item(f"q{n}") for n in range(count)]
    for row in gold[::7]:
        row["constraints"] = GOLD["constraints"]
    answers = [ANSWER, WRONG, REFUSED, {**ANSWER, "claim": "Not in context."}, None]
    scrambled = (zlib.crc32(b"%d-%d" % (salt, n)) for n in range(2 * count))
    return gold, [answer(f"q{n % (count + 5)}", answers[n // 9973 % 5]) for n in scrambled]


def shuffled(rows: list[Row], salt: int) -> list[Row]:
    return sorted(rows, key=lambda row: zlib.crc32(f"{salt}{row}".encode()))


@pytest.mark.parametrize("salt", range(3))
def test_processes_change_no_byte(
    folder: Folder, salt: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write(*many(200, salt))
    whole = folder.gate("--json").stdout_bytes
    monkeypatch.setattr(gate_rag_inputs, "SMALLEST_PART_BYTES", 1000)
    monkeypatch.setattr(gate_inputs, "BLOCK_BYTES", 700)
    for jobs in ("2", "3"):
        assert folder.gate("--json", "-j", jobs).stdout_bytes == whole


@pytest.mark.parametrize("salt", range(5))
@pytest.mark.parametrize("bad", [[], ["--skip-bad"]], ids=["whole", "with lines that are no rows"])
def test_the_order_of_lines_changes_no_byte_but_what_names_the_files(
    folder: Folder, salt: int, bad: list[str]
) -> None:
    """Another order is another file: only `inputs` has its digest and its lines."""
    gold, traces = many(100, salt)
    traces = list({row["qid"]: row for row in traces}.values())
    traces += [{"qid": "no answer"}, {"qid": "nor here"}] if bad else []
    folder.write(gold, traces)
    _, before = folder.report(*bad)
    folder.write(shuffled(gold, salt), shuffled(traces, salt))
    _, after = folder.report(*bad)
    read, again = before.pop("inputs"), after.pop("inputs")
    assert json.dumps(before) == json.dumps(after)
    assert read != again
    for inputs in (read, again):
        assert len(inputs["trace"].pop("places")) == len(before["offenders"]) > 10
        assert len(inputs["trace"].pop("skipped_lines", ())) == (2 if bad else 0)
        for given in inputs.values():
            given.pop("digest")
    assert json.dumps(read) == json.dumps(again)


def test_places_have_the_lines_of_the_offenders(folder: Folder) -> None:
    folder.write(*many(100, 1))
    _, report = folder.report()
    rows = Path(folder.trace).read_bytes().splitlines()
    places = report["inputs"]["trace"]["places"]
    assert [*places] == [offender["qid"] for offender in report["offenders"]]
    for qid, place in places.items():
        assert place["file"] == folder.trace
        assert json.loads(rows[place["line"] - 1])["qid"] == qid


@pytest.mark.parametrize("jobs", ["1", "2", "3"])
def test_the_first_bad_line_is_reported_for_any_number_of_processes(
    folder: Folder, jobs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate_rag_inputs, "SMALLEST_PART_BYTES", 500)
    gold, traces = many(100, 1)
    rows = lines(traces).splitlines(keepends=True)
    for place in (50, 51, 170):
        rows[place] = b'{"qid": "q1"}\n'
    folder.write(gold, b"".join(rows))
    refused = folder.gate("-j", jobs)
    assert refused.stderr.startswith(f"AF407: {folder.trace}, line 51, field answer_json")
    _, report = folder.report("-j", jobs, "--skip-bad")
    given = report["inputs"]["trace"]
    assert given["skipped"] == 3
    places = [said.split(",")[1] for said in given["skipped_lines"]]
    assert places == [" line 51", " line 52", " line 171"]


def test_several_processes_from_a_separate_process(folder: Folder) -> None:
    folder.write(*many(20_000, 5))
    line = ("gate", "rag", "--json", "--gold", folder.gold, "--trace", folder.trace)
    one, two = (run_process(REAL, *line, "-j", jobs) for jobs in ("1", "2"))
    assert (one.returncode, one.stderr) == (two.returncode, two.stderr) == (1, b"")
    assert one.stdout == two.stdout


CORRECTED: dict[str, tuple[list[str], int, list[float | None]]] = {
    "both need more items for half of the error": (
        ["precision>=0.93@95", "chr>=0.93@95"],
        3,
        [97.5, 97.5],
    ),
    "what holds leaves its share to the other": (
        ["precision>=0.93@95", "chr>=0.5@95"],
        0,
        [95, 97.5],
    ),
    "one gate is not corrected": (["precision>=0.93@95", "chr>=0.93"], 0, [95, None]),
    "a gate that fails leaves nothing": (["precision>1@95", "chr>=0.93@95"], 1, [97.5, 97.5]),
}


@pytest.mark.parametrize(("gates", "exit", "asked"), CORRECTED.values(), ids=CORRECTED.keys())
def test_gates_corrected_for_their_number(
    folder: Folder, gates: list[str], exit: int, asked: list[float | None]
) -> None:
    gold, traces = good()
    more = range(8, 60)
    folder.write(
        [*gold, *(item(f"A{n}") for n in more)], [*traces, *(answer(f"A{n}") for n in more)]
    )
    ended, report = folder.report("--gates", *gates, "--correction", "holm")
    assert (ended, report["settings"]["correction"]) == (exit, "holm")
    assert [gate.get("corrected") for gate in report["gates"][:2]] == asked
    shown = folder.gate("--gates", *gates, "--correction", "holm").stdout
    assert "97.5% by Holm" in shown or "97.5" not in str(asked)


def test_without_a_correction_none_is_stated(folder: Folder) -> None:
    _, report = folder.report("--gates", "precision>=0.1@95")
    assert "correction" not in report["settings"]
    assert all("corrected" not in gate for gate in report["gates"])
