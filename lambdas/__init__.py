"""The functions: each a handler that routes, a service that decides, and its settings."""
