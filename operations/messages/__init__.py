"""Stored messages: where they are, what became of one, what is parked."""
