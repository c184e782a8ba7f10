"""Devices as operators handle them: import, keys, quarantine, erasure."""
