"""`affidavit gate agreement`, as a user calls it."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cli.gate_files import BAD_FILES, bad_files, code_of, lines, report_of
from tests.cli.running import run

SHORT = {"V": "VALID", "N": "NOT_IN_CONTEXT", "R": "REJECT", "A": "ABSTAIN"}


def pairs(text: str, **fields: object) -> list[dict[str, Any]]:
    return [
        {
            "qid": f"q{n:02}",
            "scholar": {"label": SHORT[first]},
            "auditor": {"label": SHORT[second]},
            **fields,
        }
        for n, (first, second) in enumerate(map(tuple, text.split()))
    ]


GOOD = "VV " * 12 + "NN " * 8
DECIDED: dict[str, tuple[str, list[str], int]] = {
    "they agree, and not by chance": (GOOD, [], 0),
    "they do not": ("VV RV VR NN", [], 1),
    "with only one label, agreement could be chance": ("VV " * 20, [], 3),
    "unless kappa is not asked for": ("VV " * 20, ["--gates", "kappa=off"], 0),
    "no pairs": ("", [], 3),
    "the scholar abstains too often": (GOOD + "AA", ["--gates", "abstain=0.02"], 1),
    "the flags of the consistency page": (
        "VV VV NN NN VR",
        ["--pa_gate", "0.8", "--kappa_gate", "0.5", "--abstain_gate", "0"],
        0,
    ),
    "the same in our spelling": ("VV VV NN NN VR", ["--pa-gate=0.9", "--kappa-gate=0.5"], 1),
    "sure of it": (GOOD, ["--gates", "pa>=0.9@95"], 3),
}


@pytest.mark.parametrize(("text", "options", "exit"), DECIDED.values(), ids=DECIDED.keys())
def test_decision_of_research_runs(
    tmp_path: Path, text: str, options: list[str], exit: int
) -> None:
    file = lines(tmp_path / "p.jsonl", pairs(text))
    ended, report = report_of("agreement", "--pairs", file, *options)
    assert ended == exit
    assert report["decision"] == ["ship", "no_ship", "", "inconclusive"][exit]


def test_kappa_is_shown_with_its_base_rate(tmp_path: Path) -> None:
    _, report = report_of("agreement", "--pairs", lines(tmp_path / "p.jsonl", pairs(GOOD)))
    assert report["details"]["base_rate"] == 0.6
    assert report["metrics"]["kappa"]["value"] == 1
    assert report["metrics"]["percent_agreement"]["ci95"] is not None


def test_every_disagreement_is_in_the_file(tmp_path: Path) -> None:
    flagged = pairs("VR", qid="tab\there", flags={"provenance_violation": True})
    given = [*pairs("VV RV VR NN AV VA"), *flagged]
    out = tmp_path / "d.tsv"
    options = ["--pairs", lines(tmp_path / "p.jsonl", given), "--disagreements", str(out)]
    assert run("gate", "agreement", *options).exit_code == 1
    assert out.read_text().splitlines() == [
        "qid\tscholar\tauditor\tfinal\twhy",
        "q01\tREJECT\tVALID\tREJECT\tincoherent_pair",
        "q02\tVALID\tREJECT\tREJECT\tauditor_veto",
        "q04\tABSTAIN\tVALID\tREJECT\tincoherent_pair",
        "q05\tVALID\tABSTAIN\tREJECT\tauditor_veto",
        "tab\\there\tVALID\tREJECT\tREJECT\thard_flag",
    ]


CELLS = {
    "a tab": ("a\tb", "a\\tb"),
    "a line break": ("a\r\nb", "a\\r\\nb"),
    "a backslash, so that escapes can be read back": ("a\\tb", "a\\\\tb"),
    "a formula": ("=1+1", "\\u003d1+1"),
    "a formula by its sign": ("-1", "\\u002d1"),
    "a function": ("@SUM(A1)", "\\u0040SUM(A1)"),
    "a quote that would swallow what follows": ('"a', "\\u0022a"),
    "what a terminal would obey": ("a\x1b[31m", "a\\u001b[31m"),
    "another order of letters": ("a\u202eb", "a\\u202eb"),
    "signs elsewhere are text": ("a=b+c@d-e", "a=b+c@d-e"),
}


@pytest.mark.parametrize(("qid", "cell"), CELLS.values(), ids=CELLS.keys())
def test_a_cell_cannot_add_cells_or_formulas(tmp_path: Path, qid: str, cell: str) -> None:
    out = tmp_path / "d.tsv"
    given = lines(tmp_path / "p.jsonl", pairs("VR", qid=qid))
    run("gate", "agreement", "--pairs", given, "--disagreements", str(out))
    assert out.read_bytes().decode().split("\n")[1].split("\t")[0] == cell


def test_an_old_file_of_disagreements_is_replaced(tmp_path: Path) -> None:
    out = tmp_path / "d.tsv"
    out.write_text("qid\tscholar\nold\tVALID\n")
    file = lines(tmp_path / "p.jsonl", pairs(GOOD))
    assert run("gate", "agreement", "--pairs", file, "--disagreements", str(out)).exit_code == 0
    assert out.read_text() == "qid\tscholar\tauditor\tfinal\twhy\n"


def test_two_files_of_labels(tmp_path: Path) -> None:
    scholar = [{"qid": pair["qid"], **pair["scholar"]} for pair in pairs(GOOD)]
    auditor = [{"qid": pair["qid"], **pair["auditor"]} for pair in pairs(GOOD)]
    one, two = lines(tmp_path / "s.jsonl", scholar), lines(tmp_path / "a.jsonl", auditor[1:])
    ended, report = report_of("agreement", "--scholar", one, "--auditor", two)
    assert (ended, report["counts"]["pairs"]) == (3, 19)
    assert report["listings"]["labelled_once"] == {"total": 1, "first": ["q00"]}
    assert report["reasons"] == ["questions that only one agent labelled: 1"]
    ended, report = report_of("agreement", "--scholar", one, "--auditor", two, "--allow-missing")
    assert (ended, report["warnings"]) == (0, ["questions that only one agent labelled: 1"])


def test_a_check_in_the_labels_of_one_agent_counts(tmp_path: Path) -> None:
    scholar = [{"qid": pair["qid"], **pair["scholar"]} for pair in pairs(GOOD)]
    flagged = [*scholar[:-1], {**scholar[-1], "flags": {"provenance_violation": True}}]
    one, two = lines(tmp_path / "s.jsonl", flagged), lines(tmp_path / "a.jsonl", scholar)
    ended, report = report_of("agreement", "--scholar", one, "--auditor", two)
    assert (ended, report["counts"]["pairs"]) == (1, 20)
    assert report["reasons"] == ["overruled is 1 (1 of 20), but overruled<=0 is asked"]


def test_a_misspelt_check_is_refused(tmp_path: Path) -> None:
    given = [{**pair, "flags": {"provenance_violatoin": True}} for pair in pairs(GOOD)]
    result = run("gate", "agreement", "--pairs", lines(tmp_path / "p.jsonl", given))
    assert (result.exit_code, result.stderr[:5]) == (2, "AF412")
    assert "provenance_violatoin" in result.stderr


def test_the_last_pair_of_a_question_counts(tmp_path: Path) -> None:
    given = [*pairs("VR"), *pairs(GOOD)]
    ended, report = report_of("agreement", "--pairs", lines(tmp_path / "p.jsonl", given))
    assert (ended, report["counts"]["duplicates"]) == (0, 1)


def test_an_unknown_label_is_refused_not_skipped(tmp_path: Path) -> None:
    given = [*pairs(GOOD), {"qid": "x", "scholar": {"label": "OK"}, "auditor": {"label": "VALID"}}]
    file = lines(tmp_path / "p.jsonl", given)
    result = run("gate", "agreement", "--pairs", file, "--json")
    error = json.loads(result.stdout)["error"]
    assert (result.exit_code, error["code"], error["line"]) == (2, "AF412", 21)
    assert error["field"] == "scholar.label"
    ended, report = report_of("agreement", "--pairs", file, "--skip-bad")
    assert (ended, report["inputs"]["pairs"]["skipped"]) == (3, 1)
    (said,) = report["inputs"]["pairs"]["skipped_lines"]
    assert said.startswith(f"{file}, line 21, field scholar.label")


def test_against_an_earlier_report(tmp_path: Path) -> None:
    last = tmp_path / "last.json"
    first = lines(tmp_path / "a.jsonl", pairs(GOOD))
    assert run("gate", "agreement", "--pairs", first, "--report", str(last)).exit_code == 0
    now = lines(tmp_path / "b.jsonl", pairs("VR " * 6 + "VV " * 6 + "NN " * 8))
    options = ["--gates", "pa=0", "kappa=0", "--fail-on-regression", str(last)]
    ended, report = report_of("agreement", "--pairs", now, *options)
    assert (ended, report["comparison"]["change"]) == (1, "regressed")
    ended, report = report_of("agreement", "--pairs", first, *options)
    assert (ended, report["comparison"]["change"]) == (0, "held")


WRONG = {
    "nothing to read": [],
    "one agent alone": ["--scholar", "s.jsonl"],
    "both ways": ["--pairs", "p.jsonl", "--scholar", "s", "--auditor", "a"],
}


@pytest.mark.parametrize("options", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_command_line(options: list[str]) -> None:
    result = run("gate", "agreement", *options)
    assert (result.exit_code, code_of(result)) == (2, "AF001")


def test_an_input_file_is_never_overwritten(tmp_path: Path) -> None:
    file = lines(tmp_path / "p.jsonl", pairs(GOOD))
    before = Path(file).read_bytes()
    assert run("gate", "agreement", "--pairs", file, "--disagreements", file).exit_code == 2
    assert run("gate", "agreement", "--pairs", file, "--report", file).exit_code == 2
    both = str(tmp_path / "x")
    options = ["--report", both, "--disagreements", both]
    assert run("gate", "agreement", "--pairs", file, *options).exit_code == 2
    assert Path(file).read_bytes() == before


@pytest.mark.parametrize(("name", "code"), BAD_FILES.values(), ids=BAD_FILES.keys())
def test_a_file_that_cannot_be_used(tmp_path: Path, name: str, code: str) -> None:
    bad_files(tmp_path)
    result = run("gate", "agreement", "--pairs", str(tmp_path / name))
    assert result.exit_code == 2
    assert code_of(result).startswith(code)


both = st.lists(st.sampled_from([a + b for a in SHORT for b in SHORT]), max_size=12)


@settings(max_examples=15)
@given(both, st.randoms(use_true_random=False))
def test_the_order_of_lines_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, labels: list[str], chance: Any
) -> None:
    folder = tmp_path_factory.mktemp("order")
    rows = pairs(" ".join(labels))
    one = report_of("agreement", "--pairs", lines(folder / "p.jsonl", rows))
    two = report_of(
        "agreement", "--pairs", lines(folder / "p.jsonl", chance.sample(rows, len(rows)))
    )
    for _, report in (one, two):
        report["inputs"]["pairs"].pop("digest")
    assert json.dumps(one) == json.dumps(two)


def test_the_same_file_for_both_agents_is_refused(tmp_path: Path) -> None:
    labels = lines(tmp_path / "s.jsonl", [{"qid": "a", "label": "VALID"}])
    other = str(tmp_path / "." / "s.jsonl")
    ended = run("gate", "agreement", "--scholar", labels, "--auditor", other)
    assert (ended.exit_code, code_of(ended)) == (2, "AF001")


def test_a_baseline_without_a_common_item_is_inconclusive(tmp_path: Path) -> None:
    last = str(tmp_path / "last.json")
    options = ["--gates", "kappa=off"]
    for name in ("old", "new"):
        given = [{**pair, "qid": f"{name}-{pair['qid']}"} for pair in pairs(GOOD)]
        lines(tmp_path / f"{name}.jsonl", given)
    old, new = str(tmp_path / "old.jsonl"), str(tmp_path / "new.jsonl")
    assert run("gate", "agreement", "--pairs", old, "--report", last, *options).exit_code == 0
    options += ["--fail-on-regression", last]
    assert run("gate", "agreement", "--pairs", old, *options).exit_code == 0
    ended, report = report_of("agreement", "--pairs", new, *options)
    assert (ended, report["decision"]) == (3, "inconclusive")
    assert "no item was measured in both runs" in report["reasons"][0]
