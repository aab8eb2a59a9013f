"""Gates over stored files: what is read, what decides, and what is remembered."""
