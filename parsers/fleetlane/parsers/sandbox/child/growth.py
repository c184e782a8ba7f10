"""What messages become, inflated and as events, and what of it their flow is charged for."""

from typing import Final

from fleetlane.events.lanes import GrowthLimits
from fleetlane.parsers.body_encoding import BodyTooLargeError, decoded_body
from fleetlane.parsers.sandbox.results import OverLimitError, Verdict
from fleetlane.parsers.sandbox.runs import EncodedBody

USUAL_BYTES: Final = 64 << 10
USUAL_RATIO: Final = 64
"""A body inflates to so many bytes, and so many times what came, without a charge; and its events
likewise."""

EVENT_BYTES: Final = 512
"""What each event counts besides its own bytes: the identity that the worker adds, and that a
record costs something, however small it is."""


class Growth:
    """Counts for messages of one assignment that are parsed one after another.

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
        limit, allowed = (
            self._limits.inflated_bytes_of(received_bytes),
            self._allowed(received_bytes),
        )
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
        """Check what a message has put out so far.

        Raises:
            OverLimitError: It is more than it may.
        """
        limits = self._limits
        if total_bytes > limits.output_bytes_max:
            detail = f"the events have over {limits.output_bytes_max} bytes together"
            raise self._over(f"{detail}, which is the limit")
        if events >= limits.events_max:
            raise self._over(f"more than {limits.events_max} events, which is the limit")
        if total_bytes + EVENT_BYTES * events > self._allowed(received_bytes):
            raise OverLimitError(Verdict.SHARE_USED_UP, "")

    def charge(self, total_bytes: int, events: int = 0, *, received_bytes: int) -> None:
        """Charge what one message has become beyond what is usual."""
        usual_bytes = USUAL_BYTES + USUAL_RATIO * received_bytes
        grown_bytes = total_bytes + EVENT_BYTES * events
        self.charged_bytes += max(0, grown_bytes - usual_bytes)

    def _allowed(self, received_bytes: int) -> int:
        left_bytes = max(0, self._left_bytes - self.charged_bytes)
        return USUAL_BYTES + USUAL_RATIO * received_bytes + left_bytes

    def _over(self, detail: str) -> OverLimitError:
        if self._limits.are_last:
            return OverLimitError(Verdict.TOO_LARGE, detail)
        return OverLimitError(Verdict.TOO_LARGE_FOR_LANE, "")
