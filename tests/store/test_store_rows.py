"""Documents, sessions, ledgers and decisions in rows: the same on both databases."""

from functools import partial
from typing import Any

import msgspec
import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from tests.ledger.examples import CHUNKS, ENTITLED, HR, seed_ledger
from tests.store.making import AT, LATER, add_checked_session, add_sources, workspace

from affidavit.base.digest import chunk_hash
from affidavit.base.errors import AffidavitError
from affidavit.ledger.adjudication import find_ledger_problem
from affidavit.ledger.record import ledger_to_json
from affidavit.ledger.review import DecidedField
from affidavit.store.database import Database, Scope
from affidavit.store.decision_rows import decide, decisions_of
from affidavit.store.document_rows import (
    add_document,
    chunks_by_content_id,
    chunks_by_hash,
    delete_document,
    document,
    fail_document,
    hold_document,
    list_documents,
)
from affidavit.store.session_rows import (
    RunSettings,
    StoredRun,
    add_run,
    add_session,
    delete_session,
    entries_of,
    exact_ledger,
    fail_run,
    finished_run,
    hold_session,
    runs_of,
    session,
    stored_header,
    stored_ledger,
)


def _checked(database: Database) -> tuple[str, StoredRun]:
    mine = workspace(database)
    database.write(mine, add_sources)
    return mine, database.write(mine, add_checked_session)


def test_a_ledger_is_kept_byte_for_byte_and_replays(database: Database) -> None:
    mine, run = _checked(database)
    exact = database.read(mine, lambda scope: exact_ledger(scope, run.id))
    assert exact == ledger_to_json(seed_ledger())
    ledger = database.read(mine, lambda scope: stored_ledger(scope, run.id))
    assert not find_ledger_problem(ledger)
    assert run.ledger_id == ledger.ledger_id
    assert run.status == "done"
    assert run.decision == ledger.gates.decision.value


def test_the_rows_of_a_ledger_say_what_the_ledger_says(database: Database) -> None:
    mine, run = _checked(database)
    rows = database.read(mine, lambda scope: entries_of(scope, run.id))
    entries = seed_ledger().entries
    assert [row.key for row in rows] == [entry.claim_id for entry in entries]
    for row, entry in zip(rows, entries, strict=True):
        assert row.verdict == entry.verdict
        assert row.confidence_score == entry.confidence_score
        assert tuple(row.chunk_hashes) == entry.evidence.chunk_ids
        assert (row.start_offset, row.end_offset) == (entry.claim_span.start, entry.claim_span.end)
    header = database.read(mine, lambda scope: stored_header(scope, run.id))
    assert header.summary == seed_ledger().summary


def test_both_databases_give_the_same_json(
    database: Database, tmp_path_factory: pytest.TempPathFactory
) -> None:
    mine, run = _checked(database)
    shown = {
        "documents": database.read(mine, list_documents),
        "rows": database.read(mine, lambda scope: entries_of(scope, run.id)),
        "header": database.read(mine, lambda scope: stored_header(scope, run.id)),
        "run": run,
    }
    seen = _without_ids(msgspec.json.decode(msgspec.json.encode(shown)))
    kept = tmp_path_factory.getbasetemp() / "same.json"
    if kept.exists():  # What the other database gave.
        assert msgspec.json.decode(kept.read_bytes()) == seen
    kept.write_bytes(msgspec.json.encode(seen))


def _without_ids(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: "an id" if name in ("id", "claim_id", "session_id") else _without_ids(part)
            for name, part in value.items()
        }
    if isinstance(value, list):
        parts = [_without_ids(part) for part in value]
        named = all(isinstance(part, dict) and "digest" in part for part in parts)
        return sorted(parts, key=lambda part: str(part["digest"])) if named else parts
    return value


def test_a_session_has_many_runs_and_the_newest_finished_one_counts(database: Database) -> None:
    mine, run = _checked(database)
    settings = RunSettings(answer_date="2026-01-03", gates=("coverage>=0.9",))
    again = database.write(mine, lambda scope: add_run(scope, run.session_id, settings, LATER))
    assert again.number == 2
    assert again.settings == settings
    every = database.read(mine, lambda scope: runs_of(scope, run.session_id))
    assert [each.number for each in every] == [2, 1]
    newest = database.read(mine, lambda scope: finished_run(scope, run.session_id))
    assert newest.number == 1
    with pytest.raises(AffidavitError, match=r"^AF860: .* status is queued"):
        database.read(mine, lambda scope: finished_run(scope, run.session_id, 2))
    with pytest.raises(AffidavitError, match=r"^AF855: .* no run 3"):
        database.read(mine, lambda scope: finished_run(scope, run.session_id, 3))
    database.write(mine, lambda scope: fail_run(scope, again, {"code": "AF265"}, LATER))
    assert database.read(mine, lambda scope: session(scope, run.session_id)).status == "error"


def test_offsets_are_code_points(database: Database) -> None:
    mine = workspace(database)
    answer = "\U0001f600 caf\u00e9 \u6f22"
    stored = database.write(
        mine, lambda scope: add_session(scope, title="t", query=None, answer=answer, at=AT)
    )
    assert database.read(mine, lambda scope: session(scope, stored.id)).answer == answer


def test_the_chunks_of_a_document_by_the_id_that_ledgers_use(database: Database) -> None:
    mine, _ = _checked(database)
    found = database.read(mine, lambda scope: chunks_by_content_id(scope, HR.id))
    assert [chunk.index for chunk in found.values()] == [
        chunk.index for chunk in CHUNKS if chunk.document_id == HR.id
    ]
    assert database.read(mine, lambda scope: chunks_by_content_id(scope, "doc_none")) == {}


def test_a_deleted_document_leaves_citations_that_do_not_resolve(database: Database) -> None:
    mine, run = _checked(database)
    wanted = chunk_hash(ENTITLED)
    found = database.read(mine, lambda scope: chunks_by_hash(scope, wanted))
    assert [chunk.text for chunk in found.values()] == [ENTITLED]
    for each in database.read(mine, list_documents):
        database.write(mine, partial(delete_document, document_id=each.id))
    assert database.read(mine, lambda scope: chunks_by_hash(scope, wanted)) == {}
    rows = database.read(mine, lambda scope: entries_of(scope, run.id))
    assert rows[0].chunk_hashes == [wanted]


def test_what_is_under_a_legal_hold_is_not_deleted(database: Database) -> None:
    mine, run = _checked(database)
    held = database.read(mine, list_documents)[0].id
    database.write(mine, lambda scope: hold_document(scope, held, hold=True, at=LATER))
    database.write(mine, lambda scope: hold_session(scope, run.session_id, hold=True, at=LATER))
    with pytest.raises(AffidavitError, match=r"^AF856: the document"):
        database.write(mine, lambda scope: delete_document(scope, held))
    with pytest.raises(AffidavitError, match=r"^AF856: the session"):
        database.write(mine, lambda scope: delete_session(scope, run.session_id))
    database.write(mine, lambda scope: hold_document(scope, held, hold=False, at=LATER))
    assert database.write(mine, lambda scope: delete_document(scope, held)).id == held


def test_a_document_that_could_not_be_read_may_be_uploaded_again(database: Database) -> None:
    mine = workspace(database)

    def add(scope: Scope) -> tuple[str, bool]:
        stored, is_new = add_document(scope, "a.pdf", "sha256:a", 3, AT)
        return stored.id, is_new

    first = database.write(mine, add)
    database.write(mine, lambda scope: fail_document(scope, first[0], {"code": "AF231"}, LATER))
    failed = database.read(mine, lambda scope: document(scope, first[0]))
    assert (failed.status, failed.error) == ("error", {"code": "AF231"})
    assert database.write(mine, add) == (first[0], True)
    assert database.read(mine, lambda scope: document(scope, first[0])).status == "processing"


def _decide(database: Database, mine: str, run: StoredRun, **changes: Any) -> Any:
    settings = {
        "field": DecidedField.VERDICT,
        "value": "supported",
        "expected": None,
        "reason": "the annex says so",
        "by": "ana",
        "at": LATER,
        **changes,
    }
    return database.write(mine, lambda scope: decide(scope, run, **settings))


def test_a_decision_stands_beside_the_verdict_of_the_judge(database: Database) -> None:
    mine, run = _checked(database)
    fourth = database.read(mine, lambda scope: entries_of(scope, run.id))[3]
    made = _decide(database, mine, run, claim_id=fourth.claim_id)
    assert (made.claim_id, made.from_value, made.to_value) == ("clm_004", "not_found", "supported")
    assert made.decided_by == "ana"
    header = database.read(mine, lambda scope: stored_header(scope, run.id))
    assert header.summary.by_verdict.not_found == 0
    assert not find_ledger_problem(database.read(mine, lambda scope: stored_ledger(scope, run.id)))
    again = _decide(database, mine, run, claim_id=fourth.claim_id, value="weak")
    assert again.from_value == "supported"
    approved = _decide(
        database, mine, run, claim_id=None, field=DecidedField.APPROVAL, value="approved"
    )
    assert (approved.from_value, approved.claim_id) == ("open", None)
    every = database.read(mine, lambda scope: decisions_of(scope, run.id))
    assert every == (made, again, approved)


REFUSED = {
    "no such verdict": ({"value": "true"}, "AF861: field verdict: .*'true' is no verdict"),
    "no reason": ({"reason": " "}, "AF861: field reason: "),
    "a very long reason": ({"reason": "x" * 2001}, "AF861: field reason: "),
    "somebody else was faster": ({"expected": "weak"}, "AF862: .* not_found now, and not weak"),
    "another claim": ({"claim_id": "0" * 8 + "-0000" * 3 + "-" + "0" * 12}, "AF855: .* no claim"),
    "no id": ({"claim_id": "clm_001"}, "AF855: .* no claim clm_001"),
}


@pytest.mark.parametrize(("changes", "problem"), REFUSED.values(), ids=REFUSED.keys())
def test_a_decision_that_cannot_stand_is_refused(
    changes: dict[str, Any], problem: str, database: Database
) -> None:
    mine, run = _checked(database)
    fourth = database.read(mine, lambda scope: entries_of(scope, run.id))[3]
    with pytest.raises(AffidavitError, match=problem):
        _decide(database, mine, run, **{"claim_id": fourth.claim_id, **changes})
    assert database.read(mine, lambda scope: decisions_of(scope, run.id)) == ()


@pytest.mark.parametrize(
    "statement",
    ["UPDATE human_decisions SET to_value = 'weak'", "DELETE FROM human_decisions"],
)
def test_a_decision_is_neither_changed_nor_deleted(statement: str, database: Database) -> None:
    mine, run = _checked(database)
    _decide(database, mine, run, claim_id=None, field=DecidedField.APPROVAL, value="rejected")
    with pytest.raises((AffidavitError, DBAPIError), match="kept as it was made"):
        database.system(lambda system: system.execute(text(statement)))
    assert len(database.read(mine, lambda scope: decisions_of(scope, run.id))) == 1
    database.write(mine, lambda scope: delete_session(scope, run.session_id))
    assert database.read(mine, lambda scope: decisions_of(scope, run.id)) == ()
