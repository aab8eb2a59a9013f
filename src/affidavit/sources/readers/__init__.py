"""One module per format: bytes in, a text with its blocks out, or one coded error."""
