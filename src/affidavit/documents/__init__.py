"""Source documents: reading files, cutting them into chunks, indexing and searching them."""
