"""Fetches what a fresh checkout needs, on first use. Runs on any Python from 3.9 on."""
