"""Claims and what they rest on: splitting, verdicts, confidence, risk flags. Pure."""
