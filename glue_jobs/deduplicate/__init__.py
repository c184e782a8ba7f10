"""Canonical events without the repeats of the last minutes, for the flows that want them so."""
