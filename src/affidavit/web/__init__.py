"""The service: the same use cases as the command line, over HTTP."""
