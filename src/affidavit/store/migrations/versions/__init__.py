"""One module for each change, numbered in order; a released one is never edited."""
