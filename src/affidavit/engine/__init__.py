"""Runs many independent pieces of work: in this process, or in several local ones."""
