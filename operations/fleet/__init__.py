"""Queries about the fleet over the lake and the registry: row types, SQL and what they mean."""
