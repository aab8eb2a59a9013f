"""PostgreSQL: a read-only transaction, one statement, under limits of time, rows and size.

The address comes from an environment variable and is never shown. What the server may write into
an error is not shown either: only its code (SQLSTATE).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from affidavit.base.json_limits import DOCUMENT_LIMITS, JsonLimits, JsonValue
from affidavit.base.strict_json import decode
from affidavit.checks.facts import Source
from affidavit.sources.feeds.event_loop import run_errand
from affidavit.sources.feeds.feed import Args, Errand, Reply, Silence, SilentError
from affidavit.sources.feeds.observed import Timing
from affidavit.sources.feeds.secret import refuse_echo, secret_from
from affidavit.sources.feeds.settings import FromEnvironmentV1
from affidavit.sources.feeds.sql_values import Queries, Query, bound_values, rows_result


@dataclass(frozen=True, slots=True)
class PostgresFeed:
    """A query of the database that an environment variable names."""

    source: Source
    address: FromEnvironmentV1
    chosen: Queries
    timing: Timing
    environment: Mapping[str, str] = field(repr=False)

    def ask(self, args: Args, errand: Errand) -> Reply:
        """Return the rows."""
        query = self.chosen(args)
        values = bound_values(query.params, args)
        address = secret_from(self.address, self.environment)
        raw = self._rows(address, query, values, errand)
        refuse_echo(raw, (address,))
        return Reply(raw, self.timing.moment(raw, errand.asked_at))

    def _rows(
        self, address: str, query: Query, values: Sequence[JsonValue], errand: Errand
    ) -> JsonValue:
        try:
            import asyncpg
        except ImportError:
            problem = "PostgreSQL needs the package asyncpg: pip install 'affidavit[server]'"
            raise SilentError(Silence.NOT_INSTALLED, problem) from None
        try:
            return run_errand(_asked(address, query, values, errand), errand)
        except asyncpg.PostgresError as error:
            errand.seconds_left()
            code = error.sqlstate or "no code"
            raise SilentError(Silence.REFUSED, f"PostgreSQL refused ({code})") from None
        except (asyncpg.InterfaceError, asyncpg.InternalClientError, ValueError):
            problem = "the arguments or the address do not fit (see docs/tools.md)"
            raise SilentError(Silence.REFUSED, problem) from None
        except OSError:
            raise SilentError(Silence.UNREACHABLE, "no connection to PostgreSQL") from None


async def _asked(
    address: str, query: Query, values: Sequence[JsonValue], errand: Errand
) -> JsonValue:
    import asyncpg

    left = errand.seconds_left()
    connection: Any = await asyncpg.connect(
        address,
        timeout=left,
        server_settings={
            "default_transaction_read_only": "on",
            "statement_timeout": str(max(int(left * 1000), 1)),
            "application_name": "affidavit",
        },
    )
    try:
        limits = JsonLimits(query.max_bytes, DOCUMENT_LIMITS.max_depth)
        for kind in ("json", "jsonb"):
            await connection.set_type_codec(
                kind,
                schema="pg_catalog",
                encoder=str,
                decoder=lambda text: decode(text.encode(), limits),
            )
        async with connection.transaction(readonly=True):
            statement = await connection.prepare(query.sql)
            columns = [attribute.name for attribute in statement.get_attributes()]
            cursor = await statement.cursor(*values)
            rows = await cursor.fetch(query.max_rows + 1)
        return rows_result(columns, [tuple(row) for row in rows], query.max_rows, query.max_bytes)
    finally:
        # A polite goodbye would wait for the server; the transaction has only read.
        connection.terminate()
