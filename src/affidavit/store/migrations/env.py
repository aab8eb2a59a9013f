"""Run by Alembic, with the connection that `store/schema.py` passes to it."""

from alembic import context

from affidavit.store.tables import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA)
context.run_migrations()
