"""Ship or no-ship from stored rows: metrics as mergeable counts, thresholds, decisions."""
