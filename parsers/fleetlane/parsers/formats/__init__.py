"""The formats that need no parser of one's own; a flow names them without a version."""
