"""A second try for a call that failed at once, where there is no time for one that took long."""

import time
from collections.abc import Callable
from typing import Final

from botocore.exceptions import BotoCoreError, ClientError

PROMPT_S: Final = 0.25
"""An answer of 500 or a connection that was closed while idle comes sooner than this."""


def again_if_prompt[T](call: Callable[[], T]) -> T:
    """Call; once more if it failed within a quarter of a second. Twice is safe for what is put."""
    began_s = time.monotonic()
    try:
        return call()
    except (BotoCoreError, ClientError):
        if time.monotonic() - began_s > PROMPT_S:
            raise
    return call()
