"""Putting published flows into force: their topics first, then the flows."""
