"""The whole platform, end to end."""
