"""Parked messages replayed from the console: by whom, after which question, and once."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from clients.aws import AwsSettings
from clients.kafka.producer import NotDurableError
from clients.kafka.producer_record import ProducerRecord
from fleetlane.events.envelope import KafkaPosition
from fleetlane.events.errors import ParkedReason
from fleetlane.events.times import now_ms
from operations.console.app import ConsoleApp
from operations.console.pages import Page, Pages
from operations.console.replays import Replays
from operations.endpoints import Endpoints
from operations.fleet.issues import ISSUES
from operations.flows.publisher import NoSuchFlowError
from operations.platform import Platform
from tests.unit.operations.stored_messages import (
    OTHER_ID,
    RAW_ID,
    FakeStore,
    by_reference,
    message_of,
)
from tests.unit.operations.test_console import ADDRESS, TOKEN, Get, asking

NOWHERE = Endpoints(api="", kafka="", s3="", dynamodb="", region="")
OWN = {"Cookie": f"fleetlane_console_8000={TOKEN}", "Origin": ADDRESS}
ROW: Mapping[str, object] = {
    "stream": "tank", "reason": "malformed", "problem": "… bytes", "messages": 2, "devices": 1,
    "first_ms": 1, "last_ms": 1, "hours": [], "firmware": [], "parsers": [], "new_since": None,
    "id": RAW_ID,
}  # fmt: skip


@dataclass
class FakeKafka:
    """Takes all that lands, or nothing."""

    landed: list[ProducerRecord] = field(default_factory=list)
    problem: NotDurableError | None = None

    def land_all(
        self, records: Sequence[ProducerRecord]
    ) -> Sequence[KafkaPosition | NotDurableError]:
        if self.problem is not None:
            return [self.problem] * len(records)
        self.landed.extend(records)
        return [KafkaPosition(topic="raw.bulk.replayed", partition=0, offset=0)] * len(records)


@dataclass
class FakePlatform:
    """Has a flow for the stream ``tank``, and what a store holds."""

    store: FakeStore = field(default_factory=FakeStore)
    kafka: FakeKafka = field(default_factory=FakeKafka)

    @property
    def publisher(self) -> Any:
        def check_stream(stream: str) -> None:
            if stream != "tank":
                raise NoSuchFlowError(stream, ("tank",))

        return SimpleNamespace(check_stream=check_stream)

    @property
    def messages(self) -> Any:
        return SimpleNamespace(
            records=lambda: self.store,
            payloads=SimpleNamespace(located=lambda _: None),
            producer=lambda: self.kafka,
        )


@pytest.fixture
def platform() -> FakePlatform:
    platform = FakePlatform()
    platform.store.park(message_of(RAW_ID), at_ms=now_ms() - 1_000)
    platform.store.park(message_of(OTHER_ID), ParkedReason.TIMEOUT, at_ms=now_ms() - 1_000)
    return platform


@pytest.fixture
def replays(platform: Any) -> Replays:
    return Replays(platform, token=TOKEN)


class IssuePages(Pages):
    """Has an issue of the flow ``tank``, and one that no flow has."""

    def __init__(self) -> None:
        aws = AwsSettings(region_name="eu-central-1")
        super().__init__(Platform(resources=NOWHERE.resources, aws=aws))

    def parked(self) -> Page:
        rows = [ROW, {**ROW, "stream": None, "reason": "bad_envelope"}]
        return Page(title="Parked", template="parked.html.j2", tables=[ISSUES.of(rows)])


@pytest.fixture
def send(replays: Replays) -> Get:
    return asking(ConsoleApp(IssuePages(), token=TOKEN, replays=replays))


def form_in(page: str) -> Mapping[str, str]:
    """The hidden fields of its only form of a replay."""
    (form,) = re.findall(r'<form[^>]* action="/replay".*?</form>', page, re.DOTALL)
    return dict(re.findall(r'name="(\w+)" value="([^"]*)"', form))


def test_a_button_asks_and_a_second_one_replays_once(send: Get, platform: FakePlatform) -> None:
    asked = send("/replay", OWN, "POST", data=form_in(send("/parked", OWN).text))
    landed_before = len(platform.kafka.landed)
    confirmed = form_in(asked.text)

    done, again = (send("/replay", OWN, "POST", data=confirmed) for _ in range(2))

    assert (asked.status_code, landed_before) == (200, 0)
    assert "1 message would be replayed" in asked.text
    assert (done.status_code, len(platform.kafka.landed)) == (200, 1)
    assert "1 message replayed" in done.text
    assert again.status_code == 409
    assert "these messages were replayed since they were shown" in again.text


def test_unless_replays_are_allowed_no_page_has_a_button_and_no_form_is_taken(
    replays: Replays,
) -> None:
    get = asking(ConsoleApp(IssuePages(), token=TOKEN))
    form = {"stream": "tank", "reason": "malformed", "signature": replays.signed("tank", "x")}

    page, refused = get("/parked", OWN), get("/replay", OWN, "POST", data=form)

    assert 'action="/replay"' not in page.text
    assert "It changes nothing in the platform.</p>" in page.text
    assert (refused.status_code, "--allow-replay" in refused.text) == (404, True)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://127.0.0.1:8001"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": ""},
    ],
)
def test_a_form_of_another_site_is_refused(
    send: Get, platform: FakePlatform, replays: Replays, headers: dict[str, str]
) -> None:
    form = {"stream": "tank", "reason": "malformed", "shown_ms": str(now_ms())}
    form["signature"] = replays.signed(*form.values())

    answer = send("/replay", OWN | headers, "POST", data=form)

    assert (answer.status_code, platform.kafka.landed) == (403, [])


@pytest.mark.parametrize("given", [{}, {"signature": "é"}, {"reason": "timeout"}, {"shown_ms": ""}])
def test_a_form_that_was_made_elsewhere_or_altered_is_refused(
    send: Get, platform: FakePlatform, replays: Replays, given: dict[str, str]
) -> None:
    form = {"stream": "tank", "reason": "malformed", "shown_ms": str(now_ms())}
    signature = {"signature": replays.signed(*form.values())} if given else {}

    answer = send("/replay", OWN, "POST", data=form | signature | given)

    assert (answer.status_code, platform.kafka.landed) == (403, [])


def test_a_replay_needs_the_cookie_a_post_and_a_form_that_is_no_flood(send: Get) -> None:
    answers = [
        send("/replay", {"Origin": ADDRESS}, "POST"),
        send("/replay", OWN),
        send("/replay", OWN, "POST", content=b"x" * 5_000),
    ]

    assert [one.status_code for one in answers] == [401, 405, 413]


def test_only_of_an_issue_that_can_be_replayed_is_there_a_button(send: Get) -> None:
    assert send("/parked", OWN).text.count('action="/replay"') == 1


def test_what_was_parked_since_it_was_shown_stays(replays: Replays, platform: FakePlatform) -> None:
    shown_ms = now_ms()
    platform.store.park(message_of("1" + "00" * 16), at_ms=shown_ms + 1)

    replays.page("tank", "malformed", str(shown_ms))

    assert len(platform.kafka.landed) == 1


def test_where_kafka_confirms_nothing_the_page_says_how_far_it_came(
    send: Get, replays: Replays, platform: FakePlatform
) -> None:
    platform.kafka.problem = NotDurableError("raw.bulk.replayed", 1.0, "no answer")
    form = {"stream": "tank", "reason": "malformed", "shown_ms": str(now_ms())}

    answer = send("/replay", OWN, "POST", data=form | {"signature": replays.signed(*form.values())})

    assert answer.status_code == 409
    assert "0 of 1 message replayed; doing it again is safe" in answer.text


def test_a_large_body_that_is_gone_is_named(replays: Replays, platform: FakePlatform) -> None:
    platform.store.park(by_reference("1" + "00" * 16), at_ms=now_ms() - 1_000)

    page = replays.page("tank", "malformed", "")

    assert page.notes[0] == "1 message would be replayed, revision 0"
    assert page.notes[-1].startswith("left out, as the payload has expired")


def test_a_stream_without_a_flow_is_not_replayed(replays: Replays) -> None:
    with pytest.raises(NoSuchFlowError):
        replays.page("toaster", "no_flow", "")
