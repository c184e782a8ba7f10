"""One module a stack, split by how long what is in it lives."""
