"""Deploys over running jobs, with stand-ins for what AWS does in them."""
