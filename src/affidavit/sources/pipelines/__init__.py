"""Pipelines under test: what is asked a question and answers, over HTTP or as a command."""
