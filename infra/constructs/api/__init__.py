"""The REST API that devices call."""
