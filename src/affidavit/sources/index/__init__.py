"""The passages of all sources on disk: found by words, by citation, by neighbourhood."""
