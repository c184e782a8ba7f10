"""A message's hops, each with the time that its own record has, in the order of the way."""

from collections.abc import Iterator

import msgspec

from fleetlane.cli.output.tables import escaped
from fleetlane.cli.output.waiting import number_of
from fleetlane.events.metadata import Outcome, Parsed
from fleetlane.events.times import time_text
from operations.messages.trace import MessageTrace


def hop_lines(trace: MessageTrace) -> Iterator[str]:
    """A line a hop, then each event as JSON.

    The door's time is the message's arrival, a record's is Kafka's, an attempt's the job's: three
    clocks, so no difference between them is shown.
    """
    if trace.message is not None:
        yield _line("door", trace.message.arrival_millis, f"{trace.message.lane} lane")
    for landing in trace.landings:
        yield _line("Kafka", landing.written_ms, str(landing.position))
    for attempt in trace.attempts:
        yield _line(attempt.outcome, attempt.parsed_ms, _attempt_text(attempt))
    for event in trace.events:
        yield _line("canonical", event.written_ms, str(event.position))
    for event in trace.events:
        yield escaped(msgspec.json.encode(event.event).decode())


def _line(hop: str, time_ms: int, text: str) -> str:
    return escaped(f"{hop:<10}{time_text(time_ms)}  {text}").rstrip()


def _attempt_text(attempt: Parsed) -> str:
    parser = f" by {attempt.parser}" if attempt.parser else ""
    came = f": {number_of(attempt.events, 'event')}" if attempt.outcome is Outcome.PARSED else ""
    why = attempt.reason or attempt.put_off
    return f"in the {attempt.lane} lane{parser}{came}{f': {why}' if why else ''}"
