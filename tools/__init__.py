"""Programs for the people who work on Affidavit; none of them is installed."""
