"""Evidence bundles as people use them: recorded, sealed, verified, shown, compared, redacted."""
