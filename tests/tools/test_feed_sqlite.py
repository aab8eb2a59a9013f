"""SQLite as a source: read only, bound values, limits."""

import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.tools.feed_server import request

from affidavit.base.json_values import JsonValue
from affidavit.tools.allow_list import AllowList
from affidavit.tools.feed import Feed, SourceFailedError
from affidavit.tools.feed_factory import FeedContext, build_feed
from affidavit.tools.settings import NamedQuery, QueriesSource, SqlSource

ENDLESS = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "a b?#.db"
    with closing(sqlite3.connect(path)) as made:
        made.execute("create table leave(country text, days integer, at text, raw blob)")
        made.execute("insert into leave values ('de', 20, '2026-01-31T14:00:00+01:00', x'00')")
        made.execute("insert into leave values ('fr', 25, null, null)")
        made.commit()
    return path


def made(path: Path, query: str, **settings: Any) -> Feed:
    wire = SqlSource(sqlite=path.name, query=query, **settings)
    return build_feed(wire, "s", FeedContext(path.parent, AllowList(), {}))


def test_rows(database: Path) -> None:
    query = "select country, days, at from leave where country = ? and days > ?"
    feed = made(database, query, params=("c", "n"), observed_at_path="results.0.at")
    reply = feed.ask({"c": "de", "n": True}, request())
    row = {"country": "de", "days": 20, "at": "2026-01-31T14:00:00+01:00"}
    assert reply.raw == {"results": [row]}
    assert reply.observed_at == "2026-01-31T13:00:00Z"


def test_a_value_is_bound_and_never_part_of_the_query(database: Path) -> None:
    feed = made(database, "select days from leave where country = ?", params=("c",))
    assert feed.ask({"c": "x' or '1'='1"}, request()).raw == {"results": []}
    with pytest.raises(SourceFailedError, match=r"^argument: the argument c is a list"):
        feed.ask({"c": ["de"]}, request())


REFUSED = {
    "it writes": ("delete from leave", "forbidden: "),
    "it makes a table": ("create table x(y)", "refused: "),
    "it attaches another file": ("attach 'x.db' as y", "forbidden: "),
    "it changes a setting": ("pragma query_only = off", "forbidden: "),
    "it loads code": ("select load_extension('x')", "refused: "),
    "two statements": ("select 1; select 2", "refused: SQLite refused the query"),
    "no SQL": ("selekt", 'refused: SQLite refused the query (SQLITE_ERROR): near "selekt"'),
    "no such table": (
        "select * from holidays",
        "refused: SQLite refused the query (SQLITE_ERROR): no such table: holidays",
    ),
    "no such column": (
        "select dayz from leave",
        "refused: SQLite refused the query (SQLITE_ERROR): no such column: dayz",
    ),
    "too few values": (
        "select ?",
        "refused: the query has 1 parameter(s), and `params` names 0 argument(s)",
    ),
    "bytes": ("select raw from leave", 'malformed: the column "raw" holds bytes'),
    "two columns of one name": ("select 1 as a, 2 as a", "malformed: two columns"),
    "an integer beyond doubles": (
        "select 9007199254740993 as n",
        "malformed: the number of 54 bits cannot be represented exactly by every JSON reader"
        " (in a value to write) at results[0].n",
    ),
    "more rows than allowed": ("select a.days from leave a, leave b", "too-large: the query has"),
    "a value that is too large": ("select zeroblob(5000000) as a", "too-large: a value"),
    "a result that is too large": (
        "select printf('%.*c', 900, 'x') as a, printf('%.*c', 900, 'y') as b",
        "too-large: the result has",
    ),
}


@pytest.mark.parametrize(("query", "wanted"), REFUSED.values(), ids=REFUSED.keys())
def test_forbidden_queries_are_refused(query: str, wanted: str, database: Path) -> None:
    before = database.read_bytes()
    with pytest.raises(SourceFailedError) as failure:
        made(database, query, max_rows=3, max_bytes=1000).ask({}, request())
    assert str(failure.value).startswith(wanted)
    assert database.read_bytes() == before


def test_an_endless_query_is_stopped_at_the_deadline(database: Path) -> None:
    with pytest.raises(SourceFailedError, match=r"^late: "):
        made(database, ENDLESS).ask({}, request(0.2))


def test_an_abandoned_query_is_stopped(database: Path) -> None:
    one = request(30)
    threading.Timer(0.2, one.abandon).start()
    start = time.monotonic()
    with pytest.raises(SourceFailedError, match=r"^late: "):
        made(database, ENDLESS).ask({}, one)
    assert time.monotonic() - start < 5


def test_a_missing_database_is_not_created(tmp_path: Path) -> None:
    with pytest.raises(SourceFailedError, match=r"^missing: there is no database x.db"):
        made(tmp_path / "x.db", "select 1").ask({}, request())
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_not_a_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_text("x" * 5000, "utf-8")
    with pytest.raises(
        SourceFailedError, match=r"^refused: SQLite refused the query \(SQLITE_NOTADB\)"
    ):
        made(tmp_path / "x.db", "select * from leave").ask({}, request())


def test_a_locked_database_is_busy_after_a_short_wait(database: Path) -> None:
    with closing(sqlite3.connect(database)) as writer:
        writer.execute("begin exclusive")
        with pytest.raises(SourceFailedError, match=r"^(?:busy|late): "):
            made(database, "select days from leave").ask({}, request(0.3))


NAMED = {
    "by its name": ({"query": "leave", "c": "fr"}, {"results": [{"days": 25}]}),
    "one that is not there": ({"query": "x"}, "argument: no query is named"),
    "SQL is not a query name": ({"query": "select 1"}, "argument: no query is named"),
    "without its argument": ({"query": "leave"}, "argument: the argument c is not given"),
}


@pytest.mark.parametrize(("args", "wanted"), NAMED.values(), ids=NAMED.keys())
def test_queries_by_name(args: dict[str, JsonValue], wanted: object, database: Path) -> None:
    query = NamedQuery("select days from leave where country = ?", ("c",))
    wire = QueriesSource(sqlite=database.name, queries={"leave": query})
    feed = build_feed(wire, "s", FeedContext(database.parent, AllowList(), {}))
    if isinstance(wanted, str):
        with pytest.raises(SourceFailedError, match=f"^{wanted}"):
            feed.ask(args, request())
    else:
        assert feed.ask(args, request()).raw == wanted
