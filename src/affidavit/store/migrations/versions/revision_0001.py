"""The first tables of the store.

Revision ID: 0001
"""

import sqlalchemy as sa
from alembic import op

from affidavit.store.tables import TimeColumn

revision = "0001"
down_revision = None

_TENANT_TABLES = (
    "documents",
    "document_chunks",
    "sessions",
    "runs",
    "claims",
    "evidence_ledger",
    "evidence_chunks",
    "human_decisions",
    "exports",
    "jobs",
)


def upgrade() -> None:
    """Make the tables, the walls between workspaces, and what keeps decisions as they were made."""
    _documents_and_jobs()
    _sessions_and_ledgers()
    if op.get_bind().dialect.name == "postgresql":
        _walls()
        _guard_decisions_of_postgresql()
    else:
        _guard_decisions_of_sqlite()


def _documents_and_jobs() -> None:
    op.create_table(
        "settings",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_settings")),
    )
    op.create_table(
        "workspaces",
        *(
            sa.Column(
                "id",
                sa.String(length=36).with_variant(sa.Uuid(as_uuid=False), "postgresql"),
                nullable=False,
            ),
            sa.Column("name", sa.Text(), nullable=False),
            sa.Column("created_at", TimeColumn(), nullable=False),
            sa.PrimaryKeyConstraint("id", name=op.f("pk_workspaces")),
            sa.UniqueConstraint("name", name=op.f("uq_workspaces_name")),
        ),
    )
    op.create_table(
        "documents",
        *(
            sa.Column(
                "id",
                sa.String(length=36).with_variant(sa.Uuid(as_uuid=False), "postgresql"),
                nullable=False,
            ),
            sa.Column(
                "workspace_id",
                sa.String(length=36).with_variant(sa.Uuid(as_uuid=False), "postgresql"),
                nullable=False,
            ),
            sa.Column("filename", sa.Text(), nullable=False),
            sa.Column("digest", sa.Text(), nullable=False),
            sa.Column("bytes", sa.BigInteger(), nullable=False),
            sa.Column("status", sa.Text(), nullable=False),
            sa.Column("error", sa.Text(), nullable=True),
            sa.Column("findings", sa.Text(), server_default="[]", nullable=False),
            sa.Column("content_id", sa.Text(), nullable=True),
            sa.Column("media_type", sa.Text(), nullable=True),
            sa.Column("title", sa.Text(), nullable=True),
            sa.Column("date", sa.Text(), nullable=True),
            sa.Column("page_count", sa.Integer(), nullable=True),
            sa.Column("page_marks", sa.LargeBinary(), nullable=True),
            sa.Column("line_boxes", sa.LargeBinary(), nullable=True),
            sa.Column("legal_hold", sa.Boolean(), server_default=sa.false(), nullable=False),
            sa.Column("created_at", TimeColumn(), nullable=False),
            sa.Column("updated_at", TimeColumn(), nullable=False),
            sa.CheckConstraint(
                "status IN ('processing', 'ready', 'error')", name=op.f("ck_documents_status")
            ),
            sa.ForeignKeyConstraint(
                ["workspace_id"],
                ["workspaces.id"],
                name=op.f("fk_documents_workspace_id"),
                ondelete="CASCADE",
            ),
            sa.PrimaryKeyConstraint("id", name=op.f("pk_documents")),
            sa.UniqueConstraint(
                "workspace_id", "digest", name=op.f("uq_documents_workspace_id_digest")
            ),
        ),
    )
    op.create_index(
        "idx_documents_content", "documents", ["workspace_id", "content_id"], unique=False
    )
    op.create_table(
        "jobs",
        *(
            sa.Column(
                "id",
                sa.String(length=36).with_variant(sa.Uuid(as_uuid=False), "postgresql"),
                nullable=False,
            ),
            sa.Column(
                "workspace_id",
                sa.String(length=36).with_variant(sa.Uuid(as_uuid=False), "postgresql"),
                nullable=False,
            ),
            sa.Column("kind", sa.Text(), nullable=False),
            sa.Column(
                "subject_id",
                sa.String(length=36).with_variant(sa.Uuid(as_uuid=False), "postgresql"),
                nullable=False,
            ),
            sa.Column("status", sa.Text(), nullable=False),
            sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
            sa.Column("due_ms", sa.BigInteger(), nullable=False),
            sa.Column("lease", sa.Text(), nullable=True),
            sa.Column("lease_until_ms", sa.BigInteger(), nullable=True),
            sa.Column("error", sa.Text(), nullable=True),
            sa.Column("created_at", TimeColumn(), nullable=False),
            sa.Column("finished_at", TimeColumn(), nullable=True),
            sa.CheckConstraint(
                "(status = 'running') = (lease IS NOT NULL)", name=op.f("ck_jobs_lease")
            ),
            sa.CheckConstraint("kind IN ('ingest', 'check', 'export')", name=op.f("ck_jobs_kind")),
            sa.CheckConstraint(
                "status IN ('queued', 'running', 'done', 'failed')", name=op.f("ck_jobs_status")
            ),
            sa.ForeignKeyConstraint(
                ["workspace_id"],
                ["workspaces.id"],
                name=op.f("fk_jobs_workspace_id"),
                ondelete="CASCADE",
            ),
            sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
        ),
    )
    op.create_index("idx_jobs_next", "jobs", ["status", "due_ms"], unique=False)
    op.create_index(op.f("idx_jobs_subject_id"), "jobs", ["subject_id"], unique=False)
    op.create_index(op.f("idx_jobs_workspace_id"), "jobs", ["workspace_id"], unique=False)
    op.create_table(
        "sessions",
        *(
            sa.Column(
                "id",
                sa.String(length=36).with_variant(sa.Uuid(as_uuid=False), "postgresql"),
                nullable=False,
            ),
            sa.Column(
                "workspace_id",
                sa.String(length=36).with_variant(sa.Uuid(as_uuid=False), "postgresql"),
                nullable=False,
            ),
            sa.Column("title", sa.Text(), nullable=False),
            sa.Column("query", sa.Text(), nullable=True),
            sa.Column("mode", sa.Text(), nullable=False),
            sa.Column("answer", sa.Text(), nullable=False),
            sa.Column("status", sa.Text(), nullable=False),
            sa.Column("imported_from", sa.Text(), nullable=True),
            sa.Column("legal_hold", sa.Boolean(), server_default=sa.false(), nullable=False),
            sa.Column("created_at", TimeColumn(), nullable=False),
            sa.Column("updated_at", TimeColumn(), nullable=False),
            sa.CheckConstraint("mode IN ('answer')", name=op.f("ck_sessions_mode")),
            sa.CheckConstraint(
                "status IN ('queued', 'running', 'done', 'error')", name=op.f("ck_sessions_status")
            ),
            sa.ForeignKeyConstraint(
                ["workspace_id"],
                ["workspaces.id"],
                name=op.f("fk_sessions_workspace_id"),
                ondelete="CASCADE",
            ),
            sa.PrimaryKeyConstraint("id", name=op.f("pk_sessions")),
            sa.UniqueConstraint(
                "workspace_id", "imported_from", name=op.f("uq_sessions_workspace_id_imported_from")
            ),
        ),
    )
    op.create_index("idx_sessions_newest", "sessions", ["workspace_id", "created_at"], unique=False)
    op.create_table(
        "document_chunks",
        *(
            sa.Column(
                "number",
                sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
                autoincrement=True,
                nullable=False,
            ),
            sa.Column(
                "workspace_id",
                sa.String(length=36).with_variant(sa.Uuid(as_uuid=False), "postgresql"),
                nullable=False,
            ),
            sa.Column(
                "document_id",
                sa.String(length=36).with_variant(sa.Uuid(as_uuid=False), "postgresql"),
                nullable=False,
            ),
            sa.Column("id", sa.Text(), nullable=False),
            sa.Column("chunk_hash", sa.Text(), nullable=False),
            sa.Column("position", sa.Integer(), nullable=False),
            sa.Column("content", sa.Text(), nullable=False),
            sa.Column("start_offset", sa.Integer(), nullable=False),
            sa.Column("end_offset", sa.Integer(), nullable=False),
            sa.Column("page_number", sa.Integer(), nullable=True),
            sa.Column("heading_path", sa.Text(), nullable=False),
            sa.ForeignKeyConstraint(
                ["document_id"],
                ["documents.id"],
                name=op.f("fk_document_chunks_document_id"),
                ondelete="CASCADE",
            ),
            sa.ForeignKeyConstraint(
                ["workspace_id"],
                ["workspaces.id"],
                name=op.f("fk_document_chunks_workspace_id"),
                ondelete="CASCADE",
            ),
            sa.PrimaryKeyConstraint("number", name=op.f("pk_document_chunks")),
            sa.UniqueConstraint(
                "document_id", "position", name=op.f("uq_document_chunks_document_id_position")
            ),
        ),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "idx_chunks_hash", "document_chunks", ["workspace_id", "chunk_hash"], unique=False
    )


def _sessions_and_ledgers() -> None:
    op.create_table(
        "runs",
        *(
            sa.Column(
                "id",
                sa.String(length=36).with_variant(sa.Uuid(as_uuid=False), "postgresql"),
                nullable=False,
            ),
            sa.Column(
                "workspace_id",
                sa.String(length=36).with_variant(sa.Uuid(as_uuid=False), "postgresql"),
                nullable=False,
            ),
            sa.Column(
                "session_id",
                sa.String(length=36).with_variant(sa.Uuid(as_uuid=False), "postgresql"),
                nullable=False,
            ),
            sa.Column("number", sa.Integer(), nullable=False),
            sa.Column("status", sa.Text(), nullable=False),
            sa.Column("error", sa.Text(), nullable=True),
            sa.Column("settings", sa.Text(), nullable=False),
            sa.Column("done", sa.Integer(), server_default="0", nullable=False),
            sa.Column("total", sa.Integer(), server_default="0", nullable=False),
            sa.Column("ledger_id", sa.Text(), nullable=True),
            sa.Column("decision", sa.Text(), nullable=True),
            sa.Column("header", sa.Text(), nullable=True),
            sa.Column("reviewed", sa.Text(), nullable=True),
            sa.Column("ledger", sa.LargeBinary(), nullable=True),
            sa.Column("created_at", TimeColumn(), nullable=False),
            sa.Column("finished_at", TimeColumn(), nullable=True),
            sa.CheckConstraint(
                "status IN ('queued', 'running', 'done', 'error')", name=op.f("ck_runs_status")
            ),
            sa.ForeignKeyConstraint(
                ["session_id"], ["sessions.id"], name=op.f("fk_runs_session_id"), ondelete="CASCADE"
            ),
            sa.ForeignKeyConstraint(
                ["workspace_id"],
                ["workspaces.id"],
                name=op.f("fk_runs_workspace_id"),
                ondelete="CASCADE",
            ),
            sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
            sa.UniqueConstraint("session_id", "number", name=op.f("uq_runs_session_id_number")),
        ),
    )
    op.create_index("idx_runs_ledger", "runs", ["workspace_id", "ledger_id"], unique=False)
    op.create_index(op.f("idx_runs_workspace_id"), "runs", ["workspace_id"], unique=False)
    op.create_table(
        "claims",
        *(
            sa.Column(
                "id",
                sa.String(length=36).with_variant(sa.Uuid(as_uuid=False), "postgresql"),
                nullable=False,
            ),
            sa.Column(
                "workspace_id",
                sa.String(length=36).with_variant(sa.Uuid(as_uuid=False), "postgresql"),
                nullable=False,
            ),
            sa.Column(
                "session_id",
                sa.String(length=36).with_variant(sa.Uuid(as_uuid=False), "postgresql"),
                nullable=False,
            ),
            sa.Column(
                "run_id",
                sa.String(length=36).with_variant(sa.Uuid(as_uuid=False), "postgresql"),
                nullable=False,
            ),
            sa.Column("key", sa.Text(), nullable=False),
            sa.Column("position", sa.Integer(), nullable=False),
            sa.Column("claim_text", sa.Text(), nullable=False),
            sa.Column("claim_type", sa.Text(), nullable=False),
            sa.Column("importance", sa.Text(), nullable=False),
            sa.Column("requires_citation", sa.Boolean(), server_default=sa.true(), nullable=False),
            sa.Column("start_offset", sa.Integer(), nullable=True),
            sa.Column("end_offset", sa.Integer(), nullable=True),
            sa.Column("created_at", TimeColumn(), nullable=False),
            sa.CheckConstraint(
                "claim_type IN ('numeric', 'definition', 'policy', 'fact')",
                name=op.f("ck_claims_claim_type"),
            ),
            sa.CheckConstraint(
                "importance IN ('critical', 'material', 'minor')", name=op.f("ck_claims_importance")
            ),
            sa.ForeignKeyConstraint(
                ["run_id"], ["runs.id"], name=op.f("fk_claims_run_id"), ondelete="CASCADE"
            ),
            sa.ForeignKeyConstraint(
                ["session_id"],
                ["sessions.id"],
                name=op.f("fk_claims_session_id"),
                ondelete="CASCADE",
            ),
            sa.ForeignKeyConstraint(
                ["workspace_id"],
                ["workspaces.id"],
                name=op.f("fk_claims_workspace_id"),
                ondelete="CASCADE",
            ),
            sa.PrimaryKeyConstraint("id", name=op.f("pk_claims")),
            sa.UniqueConstraint("run_id", "key", name=op.f("uq_claims_run_id_key")),
        ),
    )
    op.create_index(op.f("idx_claims_run_id"), "claims", ["run_id"], unique=False)
    op.create_index(op.f("idx_claims_session_id"), "claims", ["session_id"], unique=False)
    op.create_index(op.f("idx_claims_workspace_id"), "claims", ["workspace_id"], unique=False)
    op.create_table(
        "exports",
        *(
            sa.Column(
                "id",
                sa.String(length=36).with_variant(sa.Uuid(as_uuid=False), "postgresql"),
                nullable=False,
            ),
            sa.Column(
                "workspace_id",
                sa.String(length=36).with_variant(sa.Uuid(as_uuid=False), "postgresql"),
                nullable=False,
            ),
            sa.Column(
                "run_id",
                sa.String(length=36).with_variant(sa.Uuid(as_uuid=False), "postgresql"),
                nullable=False,
            ),
            sa.Column("format", sa.Text(), nullable=False),
            sa.Column("content", sa.LargeBinary(), nullable=True),
            sa.Column("expires_ms", sa.BigInteger(), nullable=False),
            sa.Column("created_at", TimeColumn(), nullable=False),
            sa.CheckConstraint(
                "format IN ('markdown', 'json', 'pdf', 'html')", name=op.f("ck_exports_format")
            ),
            sa.ForeignKeyConstraint(
                ["run_id"], ["runs.id"], name=op.f("fk_exports_run_id"), ondelete="CASCADE"
            ),
            sa.ForeignKeyConstraint(
                ["workspace_id"],
                ["workspaces.id"],
                name=op.f("fk_exports_workspace_id"),
                ondelete="CASCADE",
            ),
            sa.PrimaryKeyConstraint("id", name=op.f("pk_exports")),
        ),
    )
    op.create_index(op.f("idx_exports_run_id"), "exports", ["run_id"], unique=False)
    op.create_index(op.f("idx_exports_workspace_id"), "exports", ["workspace_id"], unique=False)
    op.create_table(
        "evidence_ledger",
        *(
            sa.Column(
                "id",
                sa.String(length=36).with_variant(sa.Uuid(as_uuid=False), "postgresql"),
                nullable=False,
            ),
            sa.Column(
                "workspace_id",
                sa.String(length=36).with_variant(sa.Uuid(as_uuid=False), "postgresql"),
                nullable=False,
            ),
            sa.Column(
                "session_id",
                sa.String(length=36).with_variant(sa.Uuid(as_uuid=False), "postgresql"),
                nullable=False,
            ),
            sa.Column(
                "claim_id",
                sa.String(length=36).with_variant(sa.Uuid(as_uuid=False), "postgresql"),
                nullable=False,
            ),
            sa.Column(
                "run_id",
                sa.String(length=36).with_variant(sa.Uuid(as_uuid=False), "postgresql"),
                nullable=False,
            ),
            sa.Column("verdict", sa.Text(), nullable=False),
            sa.Column("confidence_score", sa.Float(), nullable=True),
            sa.Column("evidence_snippet", sa.Text(), nullable=True),
            sa.Column("source_document", sa.Text(), nullable=True),
            sa.Column("notes", sa.Text(), nullable=True),
            sa.Column("created_at", TimeColumn(), nullable=False),
            sa.CheckConstraint(
                "verdict IN ('supported', 'weak', 'contradicted', 'not_found')",
                name=op.f("ck_evidence_ledger_verdict"),
            ),
            sa.CheckConstraint(
                "confidence_score >= 0 AND confidence_score <= 1",
                name=op.f("ck_evidence_ledger_confidence_score"),
            ),
            sa.ForeignKeyConstraint(
                ["claim_id"],
                ["claims.id"],
                name=op.f("fk_evidence_ledger_claim_id"),
                ondelete="CASCADE",
            ),
            sa.ForeignKeyConstraint(
                ["run_id"], ["runs.id"], name=op.f("fk_evidence_ledger_run_id"), ondelete="CASCADE"
            ),
            sa.ForeignKeyConstraint(
                ["session_id"],
                ["sessions.id"],
                name=op.f("fk_evidence_ledger_session_id"),
                ondelete="CASCADE",
            ),
            sa.ForeignKeyConstraint(
                ["workspace_id"],
                ["workspaces.id"],
                name=op.f("fk_evidence_ledger_workspace_id"),
                ondelete="CASCADE",
            ),
            sa.PrimaryKeyConstraint("id", name=op.f("pk_evidence_ledger")),
            sa.UniqueConstraint(
                "claim_id", "session_id", name=op.f("uq_evidence_ledger_claim_id_session_id")
            ),
        ),
    )
    op.create_index(op.f("idx_evidence_ledger_run_id"), "evidence_ledger", ["run_id"], unique=False)
    op.create_index(
        op.f("idx_evidence_ledger_session_id"), "evidence_ledger", ["session_id"], unique=False
    )
    op.create_index(
        op.f("idx_evidence_ledger_verdict"), "evidence_ledger", ["verdict"], unique=False
    )
    op.create_index(
        op.f("idx_evidence_ledger_workspace_id"), "evidence_ledger", ["workspace_id"], unique=False
    )
    op.create_table(
        "human_decisions",
        *(
            sa.Column(
                "number",
                sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
                autoincrement=True,
                nullable=False,
            ),
            sa.Column(
                "workspace_id",
                sa.String(length=36).with_variant(sa.Uuid(as_uuid=False), "postgresql"),
                nullable=False,
            ),
            sa.Column(
                "session_id",
                sa.String(length=36).with_variant(sa.Uuid(as_uuid=False), "postgresql"),
                nullable=False,
            ),
            sa.Column(
                "run_id",
                sa.String(length=36).with_variant(sa.Uuid(as_uuid=False), "postgresql"),
                nullable=False,
            ),
            sa.Column(
                "claim_id",
                sa.String(length=36).with_variant(sa.Uuid(as_uuid=False), "postgresql"),
                nullable=True,
            ),
            sa.Column("field", sa.Text(), nullable=False),
            sa.Column("from_value", sa.Text(), nullable=False),
            sa.Column("to_value", sa.Text(), nullable=False),
            sa.Column("reason", sa.Text(), nullable=False),
            sa.Column("decided_by", sa.Text(), nullable=False),
            sa.Column("decided_at", TimeColumn(), nullable=False),
            sa.CheckConstraint(
                "(claim_id IS NULL) = (field = 'approval')", name=op.f("ck_human_decisions_claim")
            ),
            sa.CheckConstraint(
                "field IN ('verdict', 'claim_type', 'importance', 'approval')",
                name=op.f("ck_human_decisions_field"),
            ),
            sa.ForeignKeyConstraint(
                ["claim_id"],
                ["claims.id"],
                name=op.f("fk_human_decisions_claim_id"),
                ondelete="CASCADE",
            ),
            sa.ForeignKeyConstraint(
                ["run_id"], ["runs.id"], name=op.f("fk_human_decisions_run_id"), ondelete="CASCADE"
            ),
            sa.ForeignKeyConstraint(
                ["session_id"],
                ["sessions.id"],
                name=op.f("fk_human_decisions_session_id"),
                ondelete="CASCADE",
            ),
            sa.ForeignKeyConstraint(
                ["workspace_id"],
                ["workspaces.id"],
                name=op.f("fk_human_decisions_workspace_id"),
                ondelete="CASCADE",
            ),
            sa.PrimaryKeyConstraint("number", name=op.f("pk_human_decisions")),
        ),
        sqlite_autoincrement=True,
    )
    op.create_index(
        op.f("idx_human_decisions_claim_id"), "human_decisions", ["claim_id"], unique=False
    )
    op.create_index(op.f("idx_human_decisions_run_id"), "human_decisions", ["run_id"], unique=False)
    op.create_index(
        op.f("idx_human_decisions_session_id"), "human_decisions", ["session_id"], unique=False
    )
    op.create_index(
        op.f("idx_human_decisions_workspace_id"), "human_decisions", ["workspace_id"], unique=False
    )
    op.create_table(
        "evidence_chunks",
        *(
            sa.Column(
                "workspace_id",
                sa.String(length=36).with_variant(sa.Uuid(as_uuid=False), "postgresql"),
                nullable=False,
            ),
            sa.Column(
                "entry_id",
                sa.String(length=36).with_variant(sa.Uuid(as_uuid=False), "postgresql"),
                nullable=False,
            ),
            sa.Column("position", sa.Integer(), nullable=False),
            sa.Column("chunk_hash", sa.Text(), nullable=False),
            sa.Column(
                "chunk_number", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True
            ),
            sa.ForeignKeyConstraint(
                ["chunk_number"],
                ["document_chunks.number"],
                name=op.f("fk_evidence_chunks_chunk_number"),
                ondelete="SET NULL",
            ),
            sa.ForeignKeyConstraint(
                ["entry_id"],
                ["evidence_ledger.id"],
                name=op.f("fk_evidence_chunks_entry_id"),
                ondelete="CASCADE",
            ),
            sa.ForeignKeyConstraint(
                ["workspace_id"],
                ["workspaces.id"],
                name=op.f("fk_evidence_chunks_workspace_id"),
                ondelete="CASCADE",
            ),
            sa.PrimaryKeyConstraint("entry_id", "position", name=op.f("pk_evidence_chunks")),
        ),
    )
    op.create_index(
        op.f("idx_evidence_chunks_chunk_number"), "evidence_chunks", ["chunk_number"], unique=False
    )
    op.create_index(
        op.f("idx_evidence_chunks_workspace_id"), "evidence_chunks", ["workspace_id"], unique=False
    )


_ROLE = """
DO $$ BEGIN
  IF (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'affidavit_service') THEN
      CREATE ROLE affidavit_service NOLOGIN NOBYPASSRLS;
    END IF;
    GRANT USAGE ON SCHEMA public TO affidavit_service;
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO affidavit_service;
    GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO affidavit_service;
  END IF;
END $$
"""
_POLICY = """
CREATE POLICY one_workspace ON {table} USING (
  current_setting('affidavit.workspace', true) IN (workspace_id::text, '*')
)
"""


def _walls() -> None:
    """Let a transaction reach only the rows of the workspace that it has named."""
    op.execute(_ROLE)
    for table in _TENANT_TABLES:
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(_POLICY.format(table=table))


# A decision is never changed. It goes only with its whole session.


def _guard_decisions_of_postgresql() -> None:
    op.execute(
        """
        CREATE FUNCTION keep_decision() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          IF TG_OP = 'DELETE' AND NOT EXISTS (SELECT FROM sessions WHERE id = OLD.session_id) THEN
            RETURN OLD;
          END IF;
          RAISE EXCEPTION 'a decision is kept as it was made';
        END $$
        """
    )
    op.execute(
        "CREATE TRIGGER keep_decision BEFORE UPDATE OR DELETE ON human_decisions"
        " FOR EACH ROW EXECUTE FUNCTION keep_decision()"
    )


def _guard_decisions_of_sqlite() -> None:
    op.execute(
        "CREATE TRIGGER keep_decision_as_it_is BEFORE UPDATE ON human_decisions"
        " BEGIN SELECT RAISE(ABORT, 'a decision is kept as it was made'); END"
    )
    op.execute(
        "CREATE TRIGGER keep_decision BEFORE DELETE ON human_decisions"
        " WHEN EXISTS (SELECT 1 FROM sessions WHERE id = OLD.session_id)"
        " BEGIN SELECT RAISE(ABORT, 'a decision is kept as it was made'); END"
    )
