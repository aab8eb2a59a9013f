"""The changes of the store's tables, forward only. `affidavit db upgrade` applies them."""
