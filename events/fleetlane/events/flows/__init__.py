"""Flows: take this stream, parse it with this, put it there. Files, parser rules and schemas."""
