"""Feeds: what a tool's sources say, and when they observed it. One module per kind of source."""
