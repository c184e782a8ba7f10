"""Avro: container files, and single records behind a schema's id."""
