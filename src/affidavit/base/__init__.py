"""What every other package stands on: errors, strict JSON, canonical forms, digests, statistics."""
