"""How often supervised queries did not run as they should."""

import threading
from functools import cache
from typing import Final


class EndedQueries:
    """How often a query ended by itself, or could not be started. For any number of threads."""

    def __init__(self) -> None:
        self._lock, self._count = threading.Lock(), 0

    def add(self) -> None:
        with self._lock:
            self._count += 1

    def taken(self) -> int:
        """How often since this was asked last."""
        with self._lock:
            count, self._count = self._count, 0
        return count


ended_queries: Final = cache(EndedQueries)
"""Those of this process, which is one application: it publishes them."""
