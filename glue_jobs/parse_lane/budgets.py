"""What each flow may use of a lane: time and output; in the last two also messages and bodies."""

import math
import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

from fleetlane.events.envelope import Message
from fleetlane.events.flows.flow import Flow
from fleetlane.events.lanes import PARSE_GRACE_FACTOR, PAYLOAD_BYTES_MAX, Lane, LaneLimits
from fleetlane.parsers.sandbox.budgets import NO_END_S, OutputBudget, TimeBudget
from fleetlane.parsers.sandbox.canonical_records import CanonicalRecords
from fleetlane.parsers.sandbox.runs import Assignment

SLOW_FLOW_S_MAX: Final = 80.0
"""Of each task of a batch in the slow lane, and of what is over there: a message, and little more.
Tasks may be three times as many as slots, and an owner has the time of four flows."""

REGAINED_SHARE: Final = 1 / 50
"""In the fast and standard lanes: of all time that passes, of each core's."""

MESSAGES_SAVED_UP: Final = 2
"""There: what a flow has at most, in messages that take their whole limit. While one does the
others of its task wait, and at a batch's end those of all tasks. Of output in every lane."""

OUTPUT_REGAINED_S: Final = 60
"""So long it takes until a flow that has used up its output may put out so much again."""

OUTPUT_FLOWS: Final = 4
"""A task's part of a batch has the unusual output of so many flows that use up theirs."""

BULK_FLOW_S_MAX: Final = 1.0
"""Of each task of a batch in the bulk lane, and charged in full. Its batches are to be short: the
other flows' next messages wait for their end."""

OVER_FLOW_S_MAX: Final = 2.0
"""The same of what is over a budget already; what exceeds this goes to the slow lane."""

BULK_MESSAGES_SHARE: Final = 1 / 4
"""Of a batch of the bulk lane; what one flow has of each task's part while others are in it."""

SLOW_MESSAGES_SHARE: Final = 1 / 100
"""The same of the slow lane, alone or not: a parser that fails brings each message thrice."""

BULK_BATCH_BYTES_MAX: Final = 4 * PAYLOAD_BYTES_MAX
"""Fetched and put out by all flows of a task's part of a batch."""

SLOW_BYTES_FACTOR: Final = 4
"""How many more bytes a flow, and all together, may have in the slow lane than in the bulk one."""

_ALL_US: Final = int(NO_END_S * 1e6)


class FlowBudgets:
    """The budgets of one lane's flows, as one task counts them. For one thread.

    A flow has time and output. Time gives both back, but in the bulk and slow lanes each batch
    begins with all of its time, and there messages and bodies have a share too. What ``is_over``
    already has no share, in the slow lane no end of output; what blocks has no end of anything.
    """

    def __init__(
        self,
        lane: Lane,
        limits: LaneLimits,
        *,
        is_over: bool = False,
        is_blocking: bool = False,
        shared: Path | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """All workers with a folder ``shared`` count output together, and in some lanes time."""
        self._shared, self._cores = shared, 1 if shared is None else os.cpu_count() or 1
        self._monotonic = monotonic
        self.lane, self.is_over, self.children_max = lane, is_over, limits.children_max
        self._limits, self._is_blocking = limits, is_blocking
        is_counted = lane in (Lane.BULK, Lane.SLOW) and not (is_over or is_blocking)
        self._shares = _Shares(lane, limits) if is_counted else None
        saved_up_bytes = MESSAGES_SAVED_UP * limits.growth.output_bytes_max
        output = OutputBudget(
            flow_bytes_max=saved_up_bytes,
            batch_bytes_max=OUTPUT_FLOWS * saved_up_bytes,
            regained_bytes_per_s=self._cores * saved_up_bytes / OUTPUT_REGAINED_S,
            shared=shared and shared / ("output of what is over" if is_over else "output"),
            monotonic=monotonic,
        )
        self.time = self._full_time(output)

    def begin_batch(self) -> None:
        self.time.begin_batch()
        if self.lane in (Lane.BULK, Lane.SLOW):
            self.time = self._full_time(self.time.output)
        if self._shares is not None:
            self._shares = _Shares(self.lane, self._limits)

    def begin_records(self, streams: Callable[[], int]) -> None:
        """Take note of how many streams the next records are of."""
        if self._shares is not None and self.lane is Lane.BULK:
            self._shares.is_alone = streams() <= 1

    def admitted(self, assignment: Assignment, messages: int) -> int:
        """How many of a flow's next messages may be tried; they count as used."""
        if self._shares is None:
            return messages
        if self.time.left_us(assignment) < 0:
            return 0
        return self._shares.admitted(assignment.flow, messages)

    def is_refused(self, assignment: Assignment, message: Message) -> bool:
        """Whether a message is over a budget, before its body is fetched; else it is counted."""
        if self._shares is None:
            return self.is_over and self.time.left_us(assignment) < 0
        if not self.admitted(assignment, 1):
            return True
        body_bytes = message.body_bytes
        is_small = body_bytes <= assignment.growth.inflated_bytes_max  # a larger one is parked
        is_fetched = message.reference is not None and is_small
        return is_fetched and not self._shares.admits_body(assignment.flow.owner, body_bytes)

    def charge_output(self, assignment: Assignment, records: CanonicalRecords) -> None:
        """Count output. A flow that puts out too much stops, as if its time were used up."""
        if self._shares is None:
            return
        output_bytes = len(records.keys) + len(records.values)
        if not self._shares.put_out(assignment.flow.owner, output_bytes):
            self.time.charge(assignment, _ALL_US)

    def _full_time(self, output: OutputBudget) -> TimeBudget:
        if self._is_blocking:
            return TimeBudget(flow_s_max=NO_END_S)
        if self.lane is Lane.BULK:
            flow_s_max = OVER_FLOW_S_MAX if self.is_over else BULK_FLOW_S_MAX
            return TimeBudget(flow_s_max=flow_s_max, output=output)
        if self.lane is Lane.SLOW:  # what it cut short would come back to it, its time lost
            return TimeBudget(flow_s_max=SLOW_FLOW_S_MAX, output=None if self.is_over else output)
        saved_up_s = MESSAGES_SAVED_UP * PARSE_GRACE_FACTOR * self._limits.parse_ms_max / 1000
        return TimeBudget(
            flow_s_max=saved_up_s,
            overdraft_s_max=saved_up_s,
            regained_share=REGAINED_SHARE * self._cores,
            output=output,
            shared=self._shared,
            monotonic=self._monotonic,
        )


class _Shares:
    """What is used of a task's part of a batch of the bulk or slow lane.

    A flow has its share of messages. All flows of an owner have, of fetched bodies and of output
    each, as many bytes as the largest body, in the slow lane as four; the first is always fetched.
    """

    def __init__(self, lane: Lane, limits: LaneLimits) -> None:
        is_slow, self.is_alone = lane is Lane.SLOW, False
        factor = SLOW_BYTES_FACTOR if is_slow else 1
        self._owner_bytes_max = factor * PAYLOAD_BYTES_MAX
        self._batch_bytes_max = factor * BULK_BATCH_BYTES_MAX
        share = SLOW_MESSAGES_SHARE if is_slow else BULK_MESSAGES_SHARE
        self._messages_max = math.ceil(limits.messages_per_batch_max * share)
        self._batch_bytes = 0
        self._messages = Counter[str]()  # by stream
        self._fetched_bytes, self._output_bytes = Counter[str](), Counter[str]()  # by owner

    def admitted(self, flow: Flow, messages: int) -> int:
        had = self._messages[flow.stream]
        left = messages if self.is_alone else max(0, self._messages_max - had)
        admitted = 0 if self._are_bytes_used_up(flow.owner) else min(messages, left)
        self._messages[flow.stream] += admitted
        return admitted

    def admits_body(self, owner: str, body_bytes: int) -> bool:
        fetched_bytes = self._fetched_bytes[owner]
        if fetched_bytes and fetched_bytes + body_bytes > self._owner_bytes_max:
            return False
        self._fetched_bytes[owner] += body_bytes
        self._batch_bytes += body_bytes
        return True

    def put_out(self, owner: str, output_bytes: int) -> bool:
        self._output_bytes[owner] += output_bytes
        self._batch_bytes += output_bytes
        return not self._are_bytes_used_up(owner)

    def _are_bytes_used_up(self, owner: str) -> bool:
        is_batch_full = self._batch_bytes > self._batch_bytes_max
        return is_batch_full or self._output_bytes[owner] > self._owner_bytes_max
