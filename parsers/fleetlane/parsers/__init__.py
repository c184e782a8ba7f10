"""Parsers: what turns the bytes of one message into events. No AWS, no Spark."""
