"""Events to a webhook: each until it is answered, and none that is refused holds up the others."""

import json
from collections.abc import Sequence

import httpx

from readers.webhook_alerts import deliver
from tests.readers.events import an_event

URL = "http://alerts.test"


class Receiver:
    """Answers with these codes, one after the other, and with 204 from then on; 0 is no answer."""

    def __init__(self, *codes: int) -> None:
        self._codes = list(codes)
        self.ids: list[str] = []
        self.types: set[str] = set()
        self.pauses_s: list[float] = []

    def receive(self, *events: str) -> Sequence[str]:
        with httpx.Client(transport=httpx.MockTransport(self._answer)) as client:
            deliver(client, URL, map(an_event, events), wait=self.pauses_s.append)
        return self.ids

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.ids.append(json.loads(request.content)["id"])
        self.types.add(request.headers["content-type"])
        code = self._codes.pop(0) if self._codes else 204
        if not code:
            raise httpx.ReadTimeout("it does not answer", request=request)
        return httpx.Response(code)


def test_events_are_delivered_in_order_as_cloudevents() -> None:
    receiver = Receiver()

    assert receiver.receive("a", "b") == ["a", "b"]
    assert receiver.types == {"application/cloudevents+json"}


def test_what_is_not_answered_is_sent_again_ever_more_slowly() -> None:
    receiver = Receiver(0, 503, 429)

    assert receiver.receive("a", "b") == ["a", "a", "a", "a", "b"]
    assert receiver.pauses_s == [0.5, 1.0, 2.0]


def test_what_is_refused_is_passed_over() -> None:
    assert Receiver(400).receive("a", "b") == ["a", "b"]


def test_pauses_end_at_half_a_minute() -> None:
    receiver = Receiver(*[503] * 10)
    receiver.receive("a")

    assert receiver.pauses_s[-3:] == [30.0, 30.0, 30.0]
