"""What this takes from the environment."""

import os


def environment() -> dict[str, str]:
    """The whole environment, for a process that differs from this one in a variable or two."""
    return dict(os.environ)
