"""What messages use of their flow's budgets of time and output, and what is left for the next."""

import time
from collections.abc import Callable

from fleetlane.events.lanes import GrowthLimits
from fleetlane.parsers.body_encoding import BodyTooLargeError, decoded_body
from fleetlane.parsers.sandbox.results import OverLimitError, Verdict
from fleetlane.parsers.sandbox.runs import EVENT_BYTES, EncodedBody, TimeAllowance, usual_bytes


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


class Growth:
    """Charges messages of one assignment for what they become, inflated and as events.

    ``left_bytes`` is what they may be charged in all, ``charged_bytes`` what they were so far.
    ``inflated`` has the size of each body that was inflated, by the message's place.
    """

    def __init__(self, limits: GrowthLimits, *, left_bytes: int) -> None:
        self._limits, self._left_bytes = limits, left_bytes
        self.charged_bytes, self.inflated = 0, dict[int, int]()

    def inflated_body(self, body: EncodedBody) -> bytes:
        """Inflate a body, as far as its message may grow.

        Raises:
            MalformedMessage: It cannot be inflated.
            OverLimitError: It inflates to more than it may.
        """
        received_bytes = len(body.data)
        limit = self._limits.inflated_bytes_of(received_bytes)
        allowed = self._allowed(received_bytes)
        try:
            plain = decoded_body(body.data, body.encoding, bytes_max=min(limit, allowed))
        except BodyTooLargeError as problem:
            if allowed < limit:
                raise OverLimitError(Verdict.SHARE_USED_UP, "") from None
            raise self._over(str(problem)) from None
        self.inflated[body.place] = len(plain)
        self.charge(len(plain), received_bytes=received_bytes)
        return plain

    def check(self, total_bytes: int, events: int, *, received_bytes: int) -> None:
        """Check what a message has put out so far; raises ``OverLimitError`` at too much."""
        limits = self._limits
        if total_bytes > limits.output_bytes_max:
            detail = f"the events have over {limits.output_bytes_max} bytes together"
            raise self._over(f"{detail}, which is the limit")
        if events >= (most := limits.events_of(received_bytes)):
            detail = f"more than {most} events of {received_bytes} bytes, which is the limit"
            raise self._over(detail, Verdict.TOO_MANY_EVENTS)
        if total_bytes + EVENT_BYTES * events > self._allowed(received_bytes):
            raise OverLimitError(Verdict.SHARE_USED_UP, "")

    def charge(self, total_bytes: int, events: int = 0, *, received_bytes: int) -> None:
        """Charge what one message has become beyond what is usual."""
        grown_bytes = total_bytes + EVENT_BYTES * events
        self.charged_bytes += max(0, grown_bytes - usual_bytes(received_bytes))

    def _allowed(self, received_bytes: int) -> int:
        return usual_bytes(received_bytes) + max(0, self._left_bytes - self.charged_bytes)

    def _over(self, detail: str, verdict: Verdict = Verdict.TOO_LARGE) -> OverLimitError:
        if self._limits.are_last:
            return OverLimitError(verdict, detail)
        return OverLimitError(Verdict.TOO_LARGE_FOR_LANE, "")
