"""Batches and upkeep take turns, and only while this process holds the lease."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from clients.lease import Lease, keep_renewed


class Turns:
    """Hands out one turn at a time. The first waits for the lease; then it is kept renewed.

    ``prepare`` makes ready what the turns are for, once the lease is held.
    """

    def __init__(
        self,
        lease: Lease,
        *,
        prepare: Callable[[], None],
        keep: Callable[[Lease], object] = keep_renewed,
    ) -> None:
        self._lease, self._prepare, self._keep = lease, prepare, keep
        self._lock = threading.Lock()
        self._is_taken = False

    @contextmanager
    def turn(self) -> Iterator[Callable[[], None]]:
        """A turn, and what raises ``LeaseLostError`` once nothing may be written any more.

        Raises:
            LeaseLostError: It was lost since the last turn. The process has to start anew.
        """
        with self._lock:
            if not self._is_taken:
                self._lease.take()
                self._keep(self._lease)
                self._prepare()
                self._is_taken = True
            self._lease.check()
            yield self._lease.check
