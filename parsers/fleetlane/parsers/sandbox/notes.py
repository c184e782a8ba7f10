"""What is noted of messages that were tried: a column a fact, so that nothing is made of each."""

from array import array
from collections.abc import Sequence
from typing import Final, NamedTuple

from fleetlane.parsers.sandbox.verdicts import Attempt, Verdict

NO_TIME: Final = -(1 << 62)
PARSE_US_MAX: Final = (1 << 32) - 1
NOTE_BYTES: Final = (1, 4, 4, 8, 8)
"""What a message takes in each column of ``Notes``."""

_VERDICTS: Final = {int(verdict): verdict for verdict in Verdict}
_OK: Final = bytes([Verdict.OK])
_ROW: Final = 5


class Notes(NamedTuple):
    """``verdicts`` has one byte a message; ``events`` and ``parse_us`` 32 bits, without a sign.

    The times of its first and last event have 64 bits, or are ``NO_TIME``.
    """

    verdicts: memoryview
    events: memoryview
    parse_us: memoryview
    first_event_ms: memoryview
    last_event_ms: memoryview

    def failures(self) -> Sequence[int]:
        """The places of those that are not ``OK``."""
        if not self.verdicts.tobytes().strip(_OK):
            return ()
        return [place for place, verdict in enumerate(self.verdicts) if verdict]

    def attempt(self, place: int, details: dict[int, str]) -> Attempt:
        """What came of one message; ``details`` of failures, by place."""
        verdict, events, parse_us, first_ms, last_ms = (column[place] for column in self)
        return Attempt(
            _VERDICTS[verdict],
            details.get(place, "") if verdict else "",
            events,
            parse_us,
            None if first_ms == NO_TIME else first_ms,
            None if last_ms == NO_TIME else last_ms,
        )


def notes_of(rows: list[int]) -> Notes:
    """Turn notes, taken as five numbers a message in the order of ``Notes``, into columns."""
    return Notes(
        memoryview(bytes(rows[0::_ROW])),
        memoryview(array("I", rows[1::_ROW])),
        memoryview(array("I", rows[2::_ROW])),
        memoryview(array("q", rows[3::_ROW])),
        memoryview(array("q", rows[4::_ROW])),
    )
