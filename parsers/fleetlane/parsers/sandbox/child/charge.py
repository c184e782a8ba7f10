"""What messages use of their flow's time budget, and what is left for the next one."""

import time
from collections.abc import Callable

from fleetlane.parsers.sandbox.runs import TimeAllowance


class Charge:
    """Charges messages that are parsed one after another.

    At first a message costs what it takes beyond ``usual_us``. Once that is more than the budget,
    messages are to be cut short, and one that is costs all that it took: but only as far as those
    that are cut take longer than the others. So the flow takes no more time than if its quick
    messages were twice as many. What the process waits for a CPU costs nothing.

    A message that takes less than ``charged_from_us`` costs nothing, and need not be added.
    """

    def __init__(
        self, allowance: TimeAllowance, *, usual_us: int, waited_ns: Callable[[], int]
    ) -> None:
        self._allowance, self._usual_us, self._waited_ns = allowance, usual_us, waited_ns
        self._waited_before_ns, self._beyond_us, self._cut_us = waited_ns(), 0, 0
        self.is_short, self.charged_from_us = False, usual_us
        self._compare(0)

    def add(self, took_us: int, *, was_cut_short: bool) -> None:
        if was_cut_short:
            self._cut_us += took_us
        else:
            self._beyond_us += max(0, took_us - self._usual_us)
        self._compare(self.used_us())

    def used_us(self) -> int:
        """What all messages so far have used."""
        waited_us = (self._waited_ns() - self._waited_before_ns) // 1000
        cut_us = self._cut_us
        if cut_us:
            others_us = (time.perf_counter_ns() - self._short_from_ns) // 1000 - cut_us
            cut_us = max(0, cut_us - others_us)
        return max(0, self._beyond_us + cut_us - waited_us)

    def _compare(self, used_us: int) -> None:
        budget_us, overdraft_us, short_us, _ = self._allowance
        if used_us > budget_us and not self.is_short:
            self.is_short, self.charged_from_us = True, short_us
            self._short_from_ns = time.perf_counter_ns()
        self.is_overdrawn = used_us > budget_us + overdraft_us
