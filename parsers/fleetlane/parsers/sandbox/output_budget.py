"""How much each flow may put out, or inflate, beyond what is usual."""

import logging
import time
from collections.abc import Callable
from typing import Final

from fleetlane.events.token_bucket import TokenBucket

NO_END_BYTES: Final = 1 << 60

_log = logging.getLogger(__name__)


class OutputBudget:
    """The output budget of each flow, which all of the flow's messages share. In bytes.

    ``child.charge`` says what is charged, docs/sandbox.md what becomes of a message that would take
    more than is left. Time gives all of it back; all flows together have a batch's budget besides.
    """

    def __init__(
        self,
        *,
        flow_bytes_max: int = NO_END_BYTES,
        batch_bytes_max: int = NO_END_BYTES,
        regained_bytes_per_s: float = 0.0,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._flow_bytes_max, self._batch_bytes_max = flow_bytes_max, batch_bytes_max
        self.has_end = flow_bytes_max < NO_END_BYTES
        self._monotonic, self._batch_bytes = monotonic, 0
        self._flows = TokenBucket.by_name(burst=flow_bytes_max, per_s=regained_bytes_per_s)

    def left_bytes(self, stream: str) -> int:
        """What the flow's next messages may take in all; never negative."""
        left_bytes = int(self._flows[stream].left_at(self._monotonic()))
        return max(0, min(left_bytes, self._batch_bytes_max - self._batch_bytes))

    def is_overdrawn(self, stream: str) -> bool:
        """Whether more is missing than a flow may have: many little ones, or a child that lies."""
        return self._flows[stream].left_at(self._monotonic()) < -self._flow_bytes_max

    def charge(self, stream: str, charged_bytes: int) -> None:
        """Take what messages have become beyond what is usual."""
        if not (charged_bytes and self.has_end):  # without one, a child may report anything
            return
        now_s, bucket = self._monotonic(), self._flows[stream]
        left_bytes = max(0, int(bucket.left_at(now_s)))
        bucket.overdraw(now_s, min(charged_bytes, self._flow_bytes_max))
        self._batch_bytes += min(charged_bytes, left_bytes)
        if left_bytes and bucket.left <= 0:
            _log.warning("flow %s used up its output budget: what grows much is deferred", stream)

    def begin_batch(self) -> None:
        """Give all flows together their whole budget again; each one's own it keeps."""
        self._batch_bytes = 0
