"""Flows that halt on an error: their own queries, which wait for an operator's answer."""
