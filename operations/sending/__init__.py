"""Sending messages as a device does."""
