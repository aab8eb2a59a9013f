"""The tables of the store: evidence-ledger.md, section 10, and what a service needs around them.

Every table of a tenant has the column `workspace_id`, through which alone its rows are reached
(`store/database.py`). Offsets are in code points. Times are RFC 3339, and JSON is text, so that
both databases give the same values.
"""

from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import (
    TIMESTAMP,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    Uuid,
    false,
    true,
)
from sqlalchemy.types import TypeEngine

from affidavit.ledger.model import ClaimType, Importance, Verdict

METADATA: Final = MetaData(
    naming_convention={
        "ix": "idx_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)


class TimeColumn(TypeDecorator[str]):
    """A time as RFC 3339 text with Z: `timestamptz` in PostgreSQL, text in SQLite."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the type of a database."""
        kind = TIMESTAMP(timezone=True) if dialect.name == "postgresql" else Text()
        return dialect.type_descriptor(kind)

    def process_bind_param(self, value: str | None, dialect: Dialect) -> Any:
        """Return a time as the database stores it."""
        if value is None or dialect.name != "postgresql":
            return value
        return datetime.fromisoformat(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> str | None:
        """Return a stored time as text."""
        if isinstance(value, datetime):
            return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return None if value is None else str(value)


# SQLite stores it as it is written; converting every value would cost more than the query.
_KEY: Final = String(36).with_variant(Uuid(as_uuid=False), "postgresql")
_NUMBER: Final = BigInteger().with_variant(Integer, "sqlite")


def _id() -> Column[str]:
    return Column("id", _KEY, primary_key=True)


def _workspace(*, index: bool = True) -> Column[str]:
    parent = ForeignKey("workspaces.id", ondelete="CASCADE")
    return Column("workspace_id", _KEY, parent, nullable=False, index=index)


def _child_of(table: str, name: str, *, index: bool = True) -> Column[str]:
    parent = ForeignKey(f"{table}.id", ondelete="CASCADE")
    return Column(name, _KEY, parent, nullable=False, index=index)


def _time(name: str = "created_at", *, nullable: bool = False) -> Column[str]:
    return Column(name, TimeColumn, nullable=nullable)


def _one_of(column: str, values: Any) -> CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=column)


DOCUMENT_STATES: Final = ("processing", "ready", "error")
SESSION_STATES: Final = ("queued", "running", "done", "error")
JOB_STATES: Final = ("queued", "running", "done", "failed")
JOB_KINDS: Final = ("ingest", "check", "export")

workspaces = Table(
    "workspaces",
    METADATA,
    _id(),
    Column("name", Text, nullable=False, unique=True),
    _time(),
)

documents = Table(
    "documents",
    METADATA,
    *(
        _id(),
        _workspace(index=False),
        Column("filename", Text, nullable=False),
        Column("digest", Text, nullable=False),
        Column("bytes", BigInteger, nullable=False),
        Column("status", Text, nullable=False),
        Column("error", Text),  # JSON
        Column("findings", Text, nullable=False, server_default="[]"),  # JSON
        # Known when the document was read. `content_id` is its id in ledgers.
        Column("content_id", Text),
        Column("media_type", Text),
        Column("title", Text),
        Column("date", Text),
        Column("page_count", Integer),
        Column("page_marks", LargeBinary),
        Column("line_boxes", LargeBinary),
        Column("legal_hold", Boolean, nullable=False, server_default=false()),
        _time(),
        _time("updated_at"),
        _one_of("status", DOCUMENT_STATES),
        UniqueConstraint("workspace_id", "digest"),
        Index("idx_documents_content", "workspace_id", "content_id"),
    ),
)

document_chunks = Table(
    "document_chunks",
    METADATA,
    # In the word index a chunk is a number, which is never used again.
    *(
        Column("number", _NUMBER, primary_key=True, autoincrement=True),
        _workspace(index=False),
        _child_of("documents", "document_id", index=False),
        Column("id", Text, nullable=False),
        Column("chunk_hash", Text, nullable=False),
        Column("position", Integer, nullable=False),
        Column("content", Text, nullable=False),
        Column("start_offset", Integer, nullable=False),
        Column("end_offset", Integer, nullable=False),
        Column("page_number", Integer),
        Column("heading_path", Text, nullable=False),  # JSON
        UniqueConstraint("document_id", "position"),
        Index("idx_chunks_hash", "workspace_id", "chunk_hash"),
    ),
    sqlite_autoincrement=True,
)

sessions = Table(
    "sessions",
    METADATA,
    *(
        _id(),
        _workspace(index=False),
        Column("title", Text, nullable=False),
        Column("query", Text),
        Column("mode", Text, nullable=False),
        Column("answer", Text, nullable=False),
        Column("status", Text, nullable=False),
        Column("imported_from", Text),
        Column("legal_hold", Boolean, nullable=False, server_default=false()),
        _time(),
        _time("updated_at"),
        _one_of("status", SESSION_STATES),
        CheckConstraint("mode IN ('answer')", name="mode"),
        UniqueConstraint("workspace_id", "imported_from"),
        Index("idx_sessions_newest", "workspace_id", "created_at"),
    ),
)

runs = Table(
    "runs",
    METADATA,
    *(
        _id(),
        _workspace(),
        _child_of("sessions", "session_id", index=False),
        Column("number", Integer, nullable=False),
        Column("status", Text, nullable=False),
        Column("error", Text),  # JSON
        Column("settings", Text, nullable=False),  # JSON: judge, gates, day of the answer
        Column("done", Integer, nullable=False, server_default="0"),
        Column("total", Integer, nullable=False, server_default="0"),
        # Known when the run is done.
        Column("ledger_id", Text),
        Column("decision", Text),
        Column("header", Text),  # JSON: the parts of the ledger that are not in rows
        Column("reviewed", Text),  # JSON: the same after what people decided
        Column("ledger", LargeBinary),  # The exact JSON of the ledger, compressed
        _time(),
        _time("finished_at", nullable=True),
        _one_of("status", SESSION_STATES),
        UniqueConstraint("session_id", "number"),
        Index("idx_runs_ledger", "workspace_id", "ledger_id"),
    ),
)

claims = Table(
    "claims",
    METADATA,
    *(
        _id(),
        _workspace(),
        _child_of("sessions", "session_id"),
        _child_of("runs", "run_id"),
        Column("key", Text, nullable=False),
        Column("position", Integer, nullable=False),
        Column("claim_text", Text, nullable=False),
        Column("claim_type", Text, nullable=False),
        Column("importance", Text, nullable=False),
        Column("requires_citation", Boolean, nullable=False, server_default=true()),
        Column("start_offset", Integer),
        Column("end_offset", Integer),
        _time(),
        _one_of("claim_type", ClaimType),
        _one_of("importance", Importance),
        UniqueConstraint("run_id", "key"),
    ),
)

evidence_ledger = Table(
    "evidence_ledger",
    METADATA,
    *(
        _id(),
        _workspace(),
        _child_of("sessions", "session_id"),
        _child_of("claims", "claim_id", index=False),
        _child_of("runs", "run_id"),
        Column("verdict", Text, nullable=False, index=True),
        Column("confidence_score", Float),
        Column("evidence_snippet", Text),
        Column("source_document", Text),  # JSON
        Column("notes", Text),
        _time(),
        _one_of("verdict", Verdict),
        CheckConstraint("confidence_score >= 0 AND confidence_score <= 1", name="confidence_score"),
        UniqueConstraint("claim_id", "session_id"),
    ),
)

evidence_chunks = Table(
    "evidence_chunks",
    METADATA,
    *(
        _workspace(),
        Column(
            "entry_id",
            _KEY,
            ForeignKey("evidence_ledger.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        Column("position", Integer, primary_key=True),
        Column("chunk_hash", Text, nullable=False),
        # Null once the document is deleted: then the citation does not resolve any more.
        Column(
            "chunk_number",
            _NUMBER,
            ForeignKey("document_chunks.number", ondelete="SET NULL"),
            index=True,
        ),
    ),
)

DECIDED_FIELDS: Final = ("verdict", "claim_type", "importance", "approval")

human_decisions = Table(
    "human_decisions",
    METADATA,
    # The order in which decisions were made.
    *(
        Column("number", _NUMBER, primary_key=True, autoincrement=True),
        _workspace(),
        _child_of("sessions", "session_id"),
        _child_of("runs", "run_id"),
        Column("claim_id", _KEY, ForeignKey("claims.id", ondelete="CASCADE"), index=True),
        Column("field", Text, nullable=False),
        Column("from_value", Text, nullable=False),
        Column("to_value", Text, nullable=False),
        Column("reason", Text, nullable=False),
        Column("decided_by", Text, nullable=False),
        _time("decided_at"),
        _one_of("field", DECIDED_FIELDS),
        CheckConstraint("(claim_id IS NULL) = (field = 'approval')", name="claim"),
    ),
    sqlite_autoincrement=True,
)

exports = Table(
    "exports",
    METADATA,
    *(
        _id(),
        _workspace(),
        _child_of("runs", "run_id"),
        Column("format", Text, nullable=False),
        Column("content", LargeBinary),
        Column("expires_ms", BigInteger, nullable=False),
        _time(),
        CheckConstraint("format IN ('markdown', 'json', 'pdf', 'html')", name="format"),
    ),
)

jobs = Table(
    "jobs",
    METADATA,
    *(
        _id(),
        _workspace(),
        Column("kind", Text, nullable=False),
        Column("subject_id", _KEY, nullable=False, index=True),
        Column("status", Text, nullable=False),
        Column("attempts", Integer, nullable=False, server_default="0"),
        Column("due_ms", BigInteger, nullable=False),
        Column("lease", Text),
        Column("lease_until_ms", BigInteger),
        Column("error", Text),  # JSON
        _time(),
        _time("finished_at", nullable=True),
        _one_of("kind", JOB_KINDS),
        _one_of("status", JOB_STATES),
        CheckConstraint("(status = 'running') = (lease IS NOT NULL)", name="lease"),
        Index("idx_jobs_next", "status", "due_ms"),
    ),
)

ROLES: Final = ("viewer", "reviewer", "admin")

users = Table(
    "users",
    METADATA,
    *(
        _id(),
        Column("name", Text, nullable=False, unique=True),
        Column("password", Text),  # A digest of Argon2; null if somebody else signs the user in
        Column("issuer", Text),
        Column("subject", Text),
        Column("disabled", Boolean, nullable=False, server_default=false()),
        _time(),
        UniqueConstraint("issuer", "subject"),
        CheckConstraint("(issuer IS NULL) = (subject IS NULL)", name="issuer"),
    ),
)

memberships = Table(
    "memberships",
    METADATA,
    *(
        _workspace(),
        _child_of("users", "user_id", index=False),
        Column("role", Text, nullable=False),
        _one_of("role", ROLES),
        PrimaryKeyConstraint("user_id", "workspace_id"),
    ),
)

sign_ins = Table(
    "sign_ins",
    METADATA,
    # The token itself is only in the cookie of the browser.
    *(
        Column("token_digest", Text, primary_key=True),
        _workspace(),
        _child_of("users", "user_id"),
        Column("csrf", Text, nullable=False),
        Column("expires_ms", BigInteger, nullable=False),
        _time(),
    ),
)

sign_in_failures = Table(
    "sign_in_failures",
    METADATA,
    *(
        Column("name_digest", Text, primary_key=True),
        Column("failures", Integer, nullable=False),
        Column("blocked_until_ms", BigInteger, nullable=False),
    ),
)

audit_log = Table(
    "audit_log",
    METADATA,
    *(
        _workspace(index=False),
        Column("number", Integer, nullable=False),
        Column("entry", Text, nullable=False),  # JSON, as it is digested
        Column("digest", Text, nullable=False),
        PrimaryKeyConstraint("workspace_id", "number"),
    ),
)

settings = Table(
    "settings",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
)

TENANT_TABLES: Final = tuple(
    table for table in METADATA.sorted_tables if "workspace_id" in table.columns
)
