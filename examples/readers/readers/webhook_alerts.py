"""Events of a fast flow to a webhook, each as a CloudEvent, at least once.

    python -m readers.webhook_alerts --kafka HOST:PORT --url https://alerts.example canonical.alarm

The receiver tells repeats by the event's id. While it does not answer, or answers with 5xx or 429,
events wait; what it refuses with another 4xx is logged, and passed over.
"""

import argparse
import logging
import time
from collections.abc import Callable, Iterable
from typing import Final

import httpx
import msgspec

from fleetlane.events.canonical import CANONICAL_CONTENT_TYPE, CanonicalEvent
from readers.counting import events_that_count
from readers.event_reader import EventReader

_EVENTS_MAX: Final = 100
_FASTEST_WAIT_S: Final = 0.05
_FIRST_PAUSE_S: Final = 0.5
_PAUSE_S_MAX: Final = 30.0
_log = logging.getLogger(__name__)


def deliver(
    client: httpx.Client,
    url: str,
    events: Iterable[CanonicalEvent],
    *,
    wait: Callable[[float], None] = time.sleep,
) -> None:
    """Deliver one after the other; blocks until the receiver has answered to each."""
    for event in events_that_count(events):
        pause_s = _FIRST_PAUSE_S
        while not _is_answered(client, url, event):
            wait(pause_s)
            pause_s = min(2 * pause_s, _PAUSE_S_MAX)


def _is_answered(client: httpx.Client, url: str, event: CanonicalEvent) -> bool:
    headers = {"content-type": CANONICAL_CONTENT_TYPE}
    try:
        answer = client.post(url, content=msgspec.json.encode(event), headers=headers)
    except httpx.TransportError as problem:
        _log.warning("not delivered, tried again: %r", problem)
        return False
    if answer.is_client_error and answer.status_code != httpx.codes.TOO_MANY_REQUESTS:
        _log.error("event %s is refused: %d", event.id, answer.status_code)
        return True
    return answer.is_success


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("topics", nargs="+", metavar="TOPIC")
    parser.add_argument("--kafka", required=True, metavar="HOST:PORT")
    parser.add_argument("--url", required=True)
    parser.add_argument("--group", default="webhook-alerts")
    given = parser.parse_args()
    with (
        httpx.Client(timeout=10) as client,
        EventReader(given.kafka, group=given.group, topics=given.topics) as reader,
    ):
        while True:
            with reader.batch(events_max=_EVENTS_MAX, wait_s=_FASTEST_WAIT_S) as events:
                deliver(client, given.url, events)


if __name__ == "__main__":
    main()
