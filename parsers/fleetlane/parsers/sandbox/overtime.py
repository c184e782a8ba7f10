"""How much of a batch's time each flow may use beyond what is usual."""

import logging
from collections import defaultdict

from fleetlane.parsers.sandbox.runs import Assignment

_log = logging.getLogger(__name__)


class Overtime:
    """The overtime of each flow in one batch, which all of the flow's messages share.

    A message's overtime is what it takes beyond a tenth of its limit. With none left a flow's
    messages are not tried: they would hold up those of the others.
    """

    def __init__(self, *, flow_s_max: float) -> None:
        self._left_us: defaultdict[str, int] = defaultdict(lambda: int(flow_s_max * 1e6))

    def left_us(self, assignment: Assignment) -> int:
        return self._left_us[assignment.flow.stream]

    def use(self, assignment: Assignment, overtime_us: int) -> None:
        stream = assignment.flow.stream
        before_us = self._left_us[stream]
        self._left_us[stream] = before_us - overtime_us
        if before_us >= 0 > self._left_us[stream]:
            _log.warning("flow %s used up its time in this batch: the rest is put off", stream)
