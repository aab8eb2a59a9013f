"""The revision of a store's tables: upgrade it, and compare it with what this version needs."""

from pathlib import Path
from typing import Final

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import store as faults
from affidavit.store.database import Database
from affidavit.store.tables import METADATA

_SCRIPTS: Final = Path(__file__).parent / "migrations"
_ONE_AT_A_TIME: Final = 4_125_081


def upgrade(database: Database) -> tuple[str | None, str]:
    """Apply what is missing, and return the revision before and after it."""
    if database.file is not None:
        database.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)

    def work(connection: Connection) -> tuple[str | None, str]:
        if database.is_postgresql:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_ONE_AT_A_TIME})")
        before = _revision(connection)
        wanted = newest_revision()
        if before != wanted:
            _require_known(before)
            command.upgrade(_config(connection), "head")
        return before, wanted

    return database.as_owner(work)


def revision_of(database: Database) -> str | None:
    """Return the revision of a database; None if it has no tables."""
    if database.file is not None and not database.file.exists():
        return None
    return database.as_owner(_revision, writes=False)


def require_current(database: Database) -> None:
    """Raise unless the database has the revision that this version needs."""
    found, wanted = revision_of(database), newest_revision()
    if found != wanted:
        raise AffidavitError(faults.STORE_REVISION, found=found or "none", wanted=wanted)


def differences(database: Database) -> list[str]:
    """Return in what the tables differ from those that this version needs."""

    def work(connection: Connection) -> list[str]:
        settings = {"compare_type": True, "compare_server_default": False}
        context = MigrationContext.configure(connection, opts=settings)
        return [str(difference) for difference in compare_metadata(context, METADATA)]

    return database.as_owner(work, writes=False)


def newest_revision() -> str:
    """Return the revision that this version needs."""
    return str(_scripts().get_current_head())


def _revision(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def _require_known(found: str | None) -> None:
    known = {script.revision for script in _scripts().walk_revisions()}
    if found is not None and found not in known:
        raise AffidavitError(faults.STORE_REVISION, found=found, wanted=newest_revision())


def _scripts() -> ScriptDirectory:
    return ScriptDirectory(str(_SCRIPTS))


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS))
    config.attributes["connection"] = connection
    return config
