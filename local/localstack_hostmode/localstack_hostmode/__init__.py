"""Plug-ins that let LocalStack community run without Docker and keep its state over a restart.

LocalStack finds them by their entry points. Their modules import LocalStack inside functions where
it must not be loaded yet.
"""
