"""The tests of the store run on SQLite and on PostgreSQL."""

from tests.store.databases import database, postgresql, store_url

__all__ = ["database", "postgresql", "store_url"]
