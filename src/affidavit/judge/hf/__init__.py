"""Any sequence classifier of the Hugging Face kind, as a judge."""
