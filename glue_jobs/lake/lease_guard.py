"""Batches and upkeep take turns, and only while this process holds the lease."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from clients.s3.lease import Lease, keep_renewed

type IsKept = Callable[[], bool]


class LeaseGuard:
    """Hands out one turn at a time. The first waits for the lease; then it is kept renewed.

    ``prepare`` is called whenever the lease was taken, before the turn. ``keep`` returns whether it
    is still renewed: once it is lost, the next turn waits for it again.
    """

    def __init__(
        self,
        lease: Lease,
        *,
        prepare: Callable[[], None],
        keep: Callable[[Lease], IsKept] = keep_renewed,
    ) -> None:
        self._lease, self._prepare, self._keep = lease, prepare, keep
        self._lock = threading.Lock()
        self._is_kept: IsKept | None = None
        self._is_prepared = False
        self.token = 0
        """Grows whenever the lease was taken: what was known of the tables before may be old."""

    @contextmanager
    def turn(self) -> Iterator[Callable[[], None]]:
        """A turn, and what raises ``LeaseLostError`` once nothing may be written any more.

        Raises:
            LeaseLostError: The lease cannot be relied on at this moment.
        """
        with self._lock:
            if self._is_kept is None or not self._is_kept():
                self.token = self._lease.take()
                self._is_kept, self._is_prepared = self._keep(self._lease), False
            if not self._is_prepared:
                self._prepare()
                self._is_prepared = True
            self._lease.check()
            yield self._lease.check
