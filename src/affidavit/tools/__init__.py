"""Tools that can be asked: feeds (files, SQL, HTTP, MCP, Python) and pipelines under test."""
