"""The tests of the service with a store run on SQLite and on PostgreSQL."""

from tests.store.databases import postgresql, store_url

__all__ = ["postgresql", "store_url"]
