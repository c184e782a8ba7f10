"""Saying how far a benchmark is."""

import sys


def tell(text: str) -> None:
    """Print a line at once, for whoever runs it."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
