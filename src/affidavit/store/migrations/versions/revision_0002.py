"""Users, their roles and sign-ins, and the audit log.

Revision ID: 0002
"""

import sqlalchemy as sa
from alembic import op

from affidavit.store.tables import TimeColumn

revision = "0002"
down_revision = "0001"

_KEY = sa.String(length=36).with_variant(sa.Uuid(as_uuid=False), "postgresql")
_TENANT_TABLES = ("memberships", "sign_ins", "audit_log")


def upgrade() -> None:
    """Make the tables, the walls between workspaces, and what keeps the audit log as it is."""
    _make_users()
    _make_sign_ins()
    op.create_table(
        "audit_log",
        *(
            sa.Column("workspace_id", _KEY, nullable=False),
            sa.Column("number", sa.Integer(), nullable=False),
            sa.Column("entry", sa.Text(), nullable=False),
            sa.Column("digest", sa.Text(), nullable=False),
            _workspace_of("audit_log"),
            sa.PrimaryKeyConstraint("workspace_id", "number", name=op.f("pk_audit_log")),
        ),
    )
    if op.get_bind().dialect.name == "postgresql":
        _walls()
        _guard_log_of_postgresql()
    else:
        _guard_log_of_sqlite()


def _make_users() -> None:
    op.create_table(
        "users",
        *(
            sa.Column("id", _KEY, nullable=False),
            sa.Column("name", sa.Text(), nullable=False),
            sa.Column("password", sa.Text(), nullable=True),
            sa.Column("issuer", sa.Text(), nullable=True),
            sa.Column("subject", sa.Text(), nullable=True),
            sa.Column("disabled", sa.Boolean(), server_default=sa.false(), nullable=False),
            sa.Column("created_at", TimeColumn(), nullable=False),
            sa.CheckConstraint(
                "(issuer IS NULL) = (subject IS NULL)", name=op.f("ck_users_issuer")
            ),
            sa.PrimaryKeyConstraint("id", name=op.f("pk_users")),
            sa.UniqueConstraint("issuer", "subject", name=op.f("uq_users_issuer_subject")),
            sa.UniqueConstraint("name", name=op.f("uq_users_name")),
        ),
    )
    op.create_table(
        "memberships",
        *(
            sa.Column("workspace_id", _KEY, nullable=False),
            sa.Column("user_id", _KEY, nullable=False),
            sa.Column("role", sa.Text(), nullable=False),
            sa.CheckConstraint(
                "role IN ('viewer', 'reviewer', 'admin')", name=op.f("ck_memberships_role")
            ),
            _user_of("memberships"),
            _workspace_of("memberships"),
            sa.PrimaryKeyConstraint("user_id", "workspace_id", name=op.f("pk_memberships")),
        ),
    )
    op.create_index(op.f("idx_memberships_workspace_id"), "memberships", ["workspace_id"])


def _make_sign_ins() -> None:
    op.create_table(
        "sign_ins",
        *(
            sa.Column("token_digest", sa.Text(), nullable=False),
            sa.Column("workspace_id", _KEY, nullable=False),
            sa.Column("user_id", _KEY, nullable=False),
            sa.Column("csrf", sa.Text(), nullable=False),
            sa.Column("expires_ms", sa.BigInteger(), nullable=False),
            sa.Column("created_at", TimeColumn(), nullable=False),
            _user_of("sign_ins"),
            _workspace_of("sign_ins"),
            sa.PrimaryKeyConstraint("token_digest", name=op.f("pk_sign_ins")),
        ),
    )
    for column in ("user_id", "workspace_id"):
        op.create_index(op.f(f"idx_sign_ins_{column}"), "sign_ins", [column])
    op.create_table(
        "sign_in_failures",
        sa.Column("name_digest", sa.Text(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("blocked_until_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name_digest", name=op.f("pk_sign_in_failures")),
    )


def _workspace_of(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["workspace_id"],
        ["workspaces.id"],
        name=op.f(f"fk_{table}_workspace_id"),
        ondelete="CASCADE",
    )


def _user_of(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["user_id"], ["users.id"], name=op.f(f"fk_{table}_user_id"), ondelete="CASCADE"
    )


def _walls() -> None:
    """Let a transaction reach only the rows of the workspace that it has named."""
    op.execute(
        """
        DO $$ BEGIN
          IF (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
            GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public
              TO affidavit_service;
          END IF;
        END $$
        """
    )
    for table in _TENANT_TABLES:
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(
            f"CREATE POLICY one_workspace ON {table} USING ("
            " current_setting('affidavit.workspace', true) IN (workspace_id::text, '*'))"
        )


def _guard_log_of_postgresql() -> None:
    op.execute(
        """
        CREATE FUNCTION keep_audit_log() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          RAISE EXCEPTION 'the audit log is kept as it is';
        END $$
        """
    )
    op.execute(
        "CREATE TRIGGER keep_audit_log BEFORE UPDATE OR DELETE ON audit_log"
        " FOR EACH ROW EXECUTE FUNCTION keep_audit_log()"
    )


def _guard_log_of_sqlite() -> None:
    for event in ("UPDATE", "DELETE"):
        op.execute(
            f"CREATE TRIGGER keep_audit_log_{event.lower()} BEFORE {event} ON audit_log"
            " BEGIN SELECT RAISE(ABORT, 'the audit log is kept as it is'); END"
        )
