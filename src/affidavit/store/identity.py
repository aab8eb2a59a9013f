"""Ids of stored things: random UUIDs, and workspaces by their name."""

import re
from typing import Final

from sqlalchemy import select

from affidavit.base.errors import AffidavitError
from affidavit.base.faults import store as faults
from affidavit.store.api_keys import WORKSPACE_NAME
from affidavit.store.database import Database, SystemScope
from affidavit.store.tables import workspaces

_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def known_id(kind: str, text: str) -> str:
    """Return an id that a caller gave, if it can be one."""
    if not _UUID.fullmatch(text):
        raise AffidavitError(faults.ITEM_UNKNOWN, kind=kind, id=text[:64])
    return text


def require_workspace_name(name: str) -> str:
    """Return the name of a workspace, if it can be one."""
    if not WORKSPACE_NAME.fullmatch(name):
        raise AffidavitError(faults.WORKSPACE_NAME, name=name)
    return name


def workspace_id(database: Database, name: str, at: str) -> str:
    """Return the id of a workspace, which is made when it is first used."""
    require_workspace_name(name)
    query = select(workspaces.c.id).where(workspaces.c.name == name)

    def find(system: SystemScope) -> str | None:
        found: str | None = system.execute(query).scalar()
        return found

    def make(system: SystemScope) -> str:
        row = {"id": system.new_id(), "name": name, "created_at": at}
        if system.is_postgresql:
            from sqlalchemy.dialects.postgresql import insert

            system.execute(insert(workspaces).on_conflict_do_nothing(), [row])
        elif find(system) is None:  # Nobody else writes to SQLite meanwhile.
            system.execute(workspaces.insert(), [row])
        return str(find(system))

    return database.system(find, writes=False) or database.system(make)
