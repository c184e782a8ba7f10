"""Buckets, queues and the lake's catalog, and access to them."""
