"""How much of the time each flow may use beyond what is usual."""

import logging
import time
from collections.abc import Callable

from fleetlane.parsers.sandbox.runs import Assignment

_log = logging.getLogger(__name__)


class Overtime:
    """The overtime of each flow, which all of the flow's messages share.

    A message's overtime is what it takes beyond a tenth of its limit. With none left a flow's
    messages are not tried: they would hold up those of the others. It comes back as time passes.
    """

    def __init__(
        self,
        *,
        flow_s_max: float,
        regained_share: float = 0.0,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Give each flow all of its overtime.

        Args:
            flow_s_max: The most that a flow may have left, and what it begins with.
            regained_share: Of the time that passes, what each flow may use besides.
            monotonic: The clock, in seconds.
        """
        self._max_us, self._share, self._monotonic = flow_s_max * 1e6, regained_share, monotonic
        self._left_us: dict[str, tuple[float, float]] = {}
        self._told = set[str]()

    def left_us(self, assignment: Assignment) -> int:
        return int(self._now_left(assignment.flow.stream)[0])

    def use(self, assignment: Assignment, overtime_us: int) -> None:
        stream = assignment.flow.stream
        before_us, now_s = self._now_left(stream)
        left_us = before_us - overtime_us
        self._left_us[stream] = left_us, now_s
        if before_us >= 0 > left_us and stream not in self._told:
            self._told.add(stream)
            _log.warning("flow %s used up its time: what is left of it is put off", stream)

    def begin_batch(self) -> None:
        """Say it anew of whoever uses up its time from now on."""
        self._told.clear()

    def _now_left(self, stream: str) -> tuple[float, float]:
        """What a flow has left, in microseconds, and at which time."""
        now_s = self._monotonic()
        left_us, at_s = self._left_us.get(stream, (self._max_us, now_s))
        return min(self._max_us, left_us + (now_s - at_s) * 1e6 * self._share), now_s
