"""How much time each flow may use, and how much it may put out, beyond what is usual."""

import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from fleetlane.parsers.sandbox.runs import Assignment, TimeAllowance
from fleetlane.parsers.sandbox.shared_buckets import token_buckets

_log = logging.getLogger(__name__)

NO_END_S: Final = 1e6
NO_END_BYTES: Final = 1 << 60
"""A budget of so much is not charged: a child may report anything."""

SHORT_US_MIN: Final = 5_000
"""No message is cut before: a computer that does something else in between would cut quick ones."""

SEVERAL_FROM_US: Final = 1_000
"""Beside such a message the start of another child, and its share of a run, cost nothing."""

OWNER_FLOWS: Final = 4
"""An owner's flows have together what so many have, however many it publishes."""

_SHORT_TO_USUAL: Final = 4
_USUAL_SHARE: Final = 0.9
_USUAL_AMONG: Final = 1_000
_SAMPLE_MAX: Final = 64


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
        shared: Path | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Of all processes that name a folder ``shared`` together, but for the batch's."""
        self._flow_bytes_max, self._batch_bytes_max = flow_bytes_max, batch_bytes_max
        self.has_end = flow_bytes_max < NO_END_BYTES
        self._monotonic, self._batch_bytes = monotonic, 0
        self._flows = token_buckets(shared, burst=flow_bytes_max, per_s=regained_bytes_per_s)

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


class TimeBudget:
    """The time budget of each flow, which all of the flow's messages share: see docs/sandbox.md.

    ``output`` is what the flows may put out: it is handed on, and charged, with the time.
    """

    def __init__(
        self,
        *,
        flow_s_max: float,
        overdraft_s_max: float = 0.0,
        regained_share: float = 0.0,
        output: OutputBudget | None = None,
        shared: Path | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Give each flow ``flow_s_max``, the most that it may have left; ``output`` has no end.

        ``overdraft_s_max`` is how much more its messages may use while they have the shorter limit,
        ``regained_share`` what each flow may use besides of the time that passes. With a folder
        ``shared`` all processes that name it count together.
        """
        self._overdraft_us, self._monotonic = int(overdraft_s_max * 1e6), monotonic
        self._flow_us_max = int(flow_s_max * 1e6) + self._overdraft_us
        self.output = output or OutputBudget()
        self.has_end = self.output.has_end or flow_s_max < NO_END_S
        burst_us, us_per_s = flow_s_max * 1e6, regained_share * 1e6
        self._flows, self._owners = (
            token_buckets(shared and shared / kind, burst=burst_us, per_s=us_per_s)
            for kind in ("flows", "owners")
        )
        self._usual_us: dict[str, float] = {}
        self._reported = set[str]()

    def left_us(self, assignment: Assignment) -> int:
        """What the flow or its owner has left; negative once more was used than there was."""
        now_s, flow = self._monotonic(), assignment.flow
        buckets = self._flows[flow.stream], self._owners[flow.owner]
        return int(min(bucket.left_at(now_s) for bucket in buckets))

    def may_try(self, assignment: Assignment, *, beyond_us: int = 0) -> bool:
        """Whether messages of the flow may be tried, if only with the shorter limit."""
        return self.left_us(assignment) + self._overdraft_us + beyond_us >= 0

    def is_slow(self, assignment: Assignment) -> bool:
        """Whether a tenth of the flow's messages take so long that several are parsed at once."""
        return self._usual_us.get(assignment.flow.stream, 0.0) >= SEVERAL_FROM_US

    def allowance(self, assignment: Assignment, *, sharers: int = 1) -> TimeAllowance:
        """What messages that are tried now may use, of so many that are tried at once."""
        tenth_us = assignment.usual_s * 1e6
        usual_us = self._usual_us.get(assignment.flow.stream, tenth_us)
        short_us = min(tenth_us, max(SHORT_US_MIN, _SHORT_TO_USUAL * usual_us))
        left_us = max(-self._overdraft_us, self.left_us(assignment)) // sharers
        output_bytes = self.output.left_bytes(assignment.flow.stream) // sharers
        return TimeAllowance(left_us, self._overdraft_us // sharers, int(short_us), output_bytes)

    def charge(self, assignment: Assignment, charged_us: int, parse_us: Sequence[int] = ()) -> None:
        """Take what messages have used. ``parse_us`` of each: 0 where it was not tried."""
        stream, owner, now_s = assignment.flow.stream, assignment.flow.owner, self._monotonic()
        was_left = self.left_us(assignment) >= 0
        if self.has_end:
            self._flows[stream].overdraw(now_s, charged_us)
            self._owners[owner].overdraw(now_s, min(charged_us, self._flow_us_max) / OWNER_FLOWS)
        if was_left and self.left_us(assignment) < 0 and stream not in self._reported:
            self._reported.add(stream)
            _log.warning("flow %s used up its time budget: its slow messages are deferred", stream)
        self._learn(stream, parse_us, assignment.usual_s * 1e6)

    def begin_batch(self) -> None:
        """Report again whoever uses up its time from now on."""
        self._reported.clear()
        self.output.begin_batch()

    def _learn(self, stream: str, parse_us: Sequence[int], tenth_us: float) -> None:
        step = 1 + len(parse_us) // _SAMPLE_MAX
        in_order_us = sorted(filter(None, parse_us[::step]))
        if not in_order_us:
            return
        now_us = min(tenth_us, in_order_us[int(_USUAL_SHARE * len(in_order_us))])
        usual_us = self._usual_us.setdefault(stream, now_us)
        weight = min(1.0, step * len(in_order_us) / _USUAL_AMONG)
        self._usual_us[stream] = usual_us + (now_us - usual_us) * weight
