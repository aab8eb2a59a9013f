"""Evidence bundles: the container that Assay and Affidavit both read, written and verified."""
