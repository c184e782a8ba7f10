"""Sends the canary's messages each minute, as a device does, in every lane."""
