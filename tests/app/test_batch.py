"""Many answers at once: rows, results, resuming."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from tests.ledger.examples import seed_ledger

from affidavit.app import check_batch as check
from affidavit.app.check_batch import BatchItem, BatchRow, read_batch_rows
from affidavit.base.errors import AffidavitError
from affidavit.base.exits import Exit
from affidavit.base.faults import evidence as faults
from affidavit.decision.decision import Decision
from affidavit.reports.ledger_text import BatchOutcome, batch_outcome


def rows_of(tmp_path: Path, text: str) -> tuple[BatchRow, ...]:
    file = tmp_path / "answers.jsonl"
    file.write_text(text, encoding="utf-8")
    return tuple(read_batch_rows(file))


def test_rows_may_leave_out_what_is_not_known(tmp_path: Path) -> None:
    text = (
        '{"id":"a","answer":"Yes."}\n\n{"id":"b","answer":"No.","query":"?","sources":["x.md"]}\n'
    )
    first, second = rows_of(tmp_path, text)
    assert first == BatchRow(id="a", answer="Yes.")
    assert second == BatchRow(id="b", answer="No.", query="?", sources=("x.md",))


REFUSED = {
    "no rows is nothing to check, never a pass": ("\n\n", "batch.empty", None, None),
    "two rows of one id": (
        '{"id":"a","answer":"x"}\n{"id":"a","answer":"y"}',
        "batch.id_twice",
        2,
        "id",
    ),
    "a row without an answer": ('{"id":"a"}', "batch.row", 1, None),
    "an answer that is not text": ('{"id":"a","answer":5}', "batch.row", 1, "answer"),
    "an unknown field": ('{"id":"a","answer":"x","anwser":"y"}', "batch.row", 1, None),
    "a list instead of an object": ("[1]", "batch.row", 1, None),
    "half a line": ('{"id":"a","answer":"x"}\n{"id":"b","ans', "json.syntax", 2, None),
    "a key twice": ('{"id":"a","id":"b","answer":"x"}', "json.duplicate_key", 1, None),
}


@pytest.mark.parametrize(("text", "name", "line", "field"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(tmp_path: Path, text: str, name: str, line: int | None, field: str | None) -> None:
    with pytest.raises(AffidavitError) as caught:
        rows_of(tmp_path, text)
    error = caught.value
    assert error.fault.name == name
    assert error.where.line == line
    assert error.where.file == str(tmp_path / "answers.jsonl")
    if field is not None:
        assert error.where.field == field


def works(*ids: str, key: str = "k") -> tuple[BatchItem, ...]:
    return tuple(BatchItem(BatchRow(id=each, answer=f"answer {each}"), key) for each in ids)


def holds(work: BatchItem, outcome: BatchOutcome) -> bool:
    return outcome == batch_outcome(work.row.id, work.key, seed_ledger())


class Checker:
    """Checks rows, and remembers which ones."""

    def __init__(self) -> None:
        self.checked: list[str] = []

    def __call__(self, fresh: Iterable[BatchItem]) -> Iterator[BatchOutcome]:
        for work in fresh:
            self.checked.append(work.row.id)
            yield batch_outcome(work.row.id, work.key, seed_ledger())


def test_a_second_run_checks_nothing_again(tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    first, second = Checker(), Checker()
    once = list(check.run_batch(works("a", "b", "c"), results, first, holds))
    again = list(check.run_batch(works("a", "b", "c"), results, second, holds))
    assert first.checked == ["a", "b", "c"]
    assert second.checked == []
    assert again == once


def test_a_stopped_run_resumes(tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    stopped = check.run_batch(works("a", "b", "c"), results, Checker(), holds)
    next(stopped)
    next(stopped)
    resumed = Checker()
    assert len(list(check.run_batch(works("a", "b", "c"), results, resumed, holds))) == 3
    assert resumed.checked == ["c"]


def test_a_torn_line_loses_no_other_answer(tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    list(check.run_batch(works("a", "b"), results, Checker(), holds))
    results.write_bytes(results.read_bytes()[:-20])
    resumed = Checker()
    outcomes = list(check.run_batch(works("a", "b"), results, resumed, holds))
    assert resumed.checked == ["b"]
    assert [outcome.id for outcome in outcomes] == ["a", "b"]
    assert set(check.finished_outcomes(results)) == {"a", "b"}


def test_results_of_other_inputs_are_recomputed(tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    list(check.run_batch(works("a", key="old"), results, Checker(), holds))
    resumed = Checker()
    (outcome,) = check.run_batch(works("a", key="new"), results, resumed, holds)
    assert resumed.checked == ["a"]
    assert outcome.key == "new"
    assert check.finished_outcomes(results)["a"].key == "new"


def test_an_answer_that_could_not_be_checked_is_inconclusive() -> None:
    (work,) = works("a")
    outcome = check.failed_outcome(work, AffidavitError(faults.SOURCES_NONE))
    assert outcome.decision is Decision.INCONCLUSIVE
    assert outcome.evidence_coverage is None
    assert outcome.error is not None
    assert outcome.error.startswith("AF215")


def test_a_line_that_was_changed_is_not_believed(tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    list(check.run_batch(works("a", "b"), results, Checker(), holds))
    results.write_bytes(results.read_bytes().replace(b'"no_ship"', b'"ship"', 1))
    resumed = Checker()
    outcomes = list(check.run_batch(works("a", "b"), results, resumed, holds))
    assert resumed.checked == ["a"]
    assert {outcome.decision for outcome in outcomes} == {Decision.NO_SHIP}


def test_a_file_of_something_else_is_not_written_to(tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("Dear diary\n")
    with pytest.raises(AffidavitError) as caught:
        list(check.run_batch(works("a"), notes, Checker(), holds))
    assert caught.value.fault.name == "batch.results_foreign"
    assert notes.read_text() == "Dear diary\n"


def test_failed_rows_are_tried_again(tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    error = AffidavitError(faults.SOURCES_NONE)
    list(
        check.run_batch(
            works("a"), results, lambda rows: (check.failed_outcome(r, error) for r in rows), holds
        )
    )
    resumed = Checker()
    list(check.run_batch(works("a"), results, resumed, holds))
    assert resumed.checked == ["a"]


ENDS = {
    "all ship": ((Decision.SHIP, Decision.SHIP), Exit.YES),
    "one must not ship": ((Decision.SHIP, Decision.NO_SHIP, Decision.INCONCLUSIVE), Exit.NO),
    "one is inconclusive": ((Decision.SHIP, Decision.INCONCLUSIVE), Exit.UNKNOWN),
    "nothing is never a yes": ((), Exit.UNKNOWN),
}


@pytest.mark.parametrize(("decisions", "wanted"), ENDS.values(), ids=ENDS.keys())
def test_the_exit_code_of_a_batch(decisions: tuple[Decision, ...], wanted: Exit) -> None:
    (work,) = works("a")
    outcomes = [
        BatchOutcome(id=work.row.id, key=work.key, decision=decision) for decision in decisions
    ]
    assert check.batch_exit(outcomes) is wanted
