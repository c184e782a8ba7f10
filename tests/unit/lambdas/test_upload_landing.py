"""Landing what S3 holds: the message that was issued, once, however often it is reported."""

import json
from collections.abc import Mapping
from copy import replace

import pytest

from clients.kafka.producer import NotDurableError, RecordRefusedError
from clients.s3.payload_bucket import PayloadMissingError, PayloadUnavailableError
from clients.s3.upload_bucket import IssuedUpload, NotAnUploadError, upload_key
from fleetlane.events.envelope import Message, PayloadReference
from fleetlane.events.envelope_reading import message_from
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.flows.files import flow_from_toml
from fleetlane.events.flows.flow import Flow
from fleetlane.events.lanes import LATE_AFTER_MS, BulkCause, Lane
from lambdas.uploads.landing import Landing
from lambdas.uploads.sweep import OUTAGES_MAX, BadNotificationError, failed_messages
from tests.unit.lambdas.fakes import FakeFlows, FakeKafka
from tests.unit.lambdas.upload_fakes import FakeUploads

RAW_ID = "1" + "a" * 32
STORED_MS = 1_793_714_705_000
KEY = upload_key(RAW_ID, issued_millis=STORED_MS - 5000)
ISSUED = IssuedUpload(
    device_id="d-1",
    device_type="press",
    is_quarantined=False,
    stream="dumps",
    body_bytes=6_000_000,
    sha256="ab" * 32,
    content_type="application/json",
    firmware="2.1",
    start_millis=STORED_MS - 3000,
    end_millis=STORED_MS - 2000,
    body_encoding="gzip",
    via="gw-1",
)


class World:
    """Landing, with one upload in S3."""

    def __init__(self, *flows: Flow, issued: IssuedUpload = ISSUED) -> None:
        topics = (
            "raw.fast",
            "raw.standard",
            "raw.slow",
            "raw.bulk.large",
            "raw.bulk.late",
            "raw.bulk.quarantined",
        )
        self.kafka, self.uploads = FakeKafka(topics), FakeUploads()
        self.uploads.take(KEY, issued, stored_millis=STORED_MS)
        self.landing = Landing(
            uploads=self.uploads, flows=FakeFlows(*flows), land_record=self.kafka.land
        )

    def messages(self) -> list[Message]:
        return [message_from(one.headers, one.value) for one in self.kafka.records()]


def flow(more: str) -> Flow:
    text = f'stream = "dumps"\nowner = "acme"\n{more}\n[[parsers]]\nuse = "json"\n'
    return flow_from_toml(text, file="dumps.toml")


def notification(message_id: str, *keys: str) -> Mapping[str, str]:
    records = [{"eventName": "ObjectCreated:Post", "s3": {"object": {"key": key}}} for key in keys]
    return {"messageId": message_id, "body": json.dumps({"Records": records})}


def test_an_upload_lands_as_it_was_issued_by_reference() -> None:
    world = World()

    world.landing.land(KEY)

    assert world.messages() == [
        Message(
            raw_id=RAW_ID,
            device_id="d-1",
            stream="dumps",
            arrival_millis=STORED_MS,
            lane=Lane.BULK,
            bulk_cause=BulkCause.LARGE,
            body=None,
            body_bytes=6_000_000,
            reference=PayloadReference(key=KEY, sha256="ab" * 32),
            content_type="application/json",
            device_type="press",
            firmware="2.1",
            start_millis=STORED_MS - 3000,
            end_millis=STORED_MS - 2000,
            body_encoding="gzip",
            via="gw-1",
        )
    ]


@pytest.mark.parametrize(
    ("issued", "declared", "lane"),
    [
        (replace(ISSUED, body_bytes=1000), "", Lane.BULK),
        (replace(ISSUED, body_bytes=1000), 'lane = "slow"', Lane.SLOW),
        (replace(ISSUED, body_bytes=1000, is_quarantined=True), "", Lane.BULK),
        (replace(ISSUED, body_bytes=1000, end_millis=STORED_MS - LATE_AFTER_MS - 1), "", Lane.BULK),
    ],
)
def test_its_lane_is_what_the_rules_of_lanes_say(
    issued: IssuedUpload, declared: str, lane: Lane
) -> None:
    world = World(flow(declared), issued=issued)

    world.landing.land(KEY)

    assert world.messages()[0].lane is lane


def test_a_flow_with_a_topic_of_its_own_gets_a_large_one_by_its_cause() -> None:
    world = World(flow('topic = "stream"'))

    world.landing.land(KEY)

    assert len(world.kafka.topics["raw.bulk.large"]) == 1


def test_it_is_kept_whole_even_where_its_flow_truncates() -> None:
    world = World(flow('oversize = "truncate"'))

    world.landing.land(KEY)

    [message] = world.messages()
    assert (message.body_bytes, message.truncated_from_bytes) == (6_000_000, None)


def test_what_landed_does_not_land_again() -> None:
    world = World()

    again = [world.landing.land(KEY) for _ in range(2)][1]

    assert (again, len(world.messages())) == (None, 1)


def test_two_that_land_it_at_once_write_the_same_message() -> None:
    world = World()

    class Racing(FakeUploads):
        """Nobody sees the other's mark yet."""

        def is_landed(self, key: str) -> bool:
            return False

    racing = Racing()
    racing.objects = world.uploads.objects
    landing = replace(world.landing, uploads=racing)
    landing.land(KEY)
    landing.land(KEY)

    first, second = world.messages()
    assert first == second


def test_it_is_not_marked_before_kafka_has_it() -> None:
    world = World()
    world.kafka.is_up = False

    with pytest.raises(NotDurableError):
        world.landing.land(KEY)

    assert world.uploads.marks == set()


def test_a_batch_names_what_failed_and_the_rest_is_done_with() -> None:
    world = World()
    problems: list[FleetlaneError] = []
    missing = upload_key("1" + "b" * 32, issued_millis=0)
    batch = [
        notification("m-1", missing),
        notification("m-2", KEY),
        notification("m-3", "uploads/by-hand"),
        {"messageId": "m-4", "body": "hello"},
        {"messageId": "m-5", "body": '{"Service": "Amazon S3", "Event": "s3:TestEvent"}'},
    ]

    failed = failed_messages(batch, world.landing.land, on_failure=problems.append)

    assert failed == ["m-1", "m-3", "m-4"]
    assert [type(problem) for problem in problems] == [
        PayloadMissingError,
        NotAnUploadError,
        BadNotificationError,
    ]
    assert len(world.messages()) == 1


@pytest.mark.parametrize("broken", ["kafka", "uploads"])
def test_in_an_outage_the_whole_batch_comes_again_after_a_few_tries(broken: str) -> None:
    world = World()
    problems: list[FleetlaneError] = []
    getattr(world, broken).is_up = False

    failed = failed_messages(
        [notification(f"m-{number}", KEY) for number in range(10)],
        world.landing.land,
        on_failure=problems.append,
    )

    assert len(failed) == 10
    assert [type(one) for one in problems] in (
        [NotDurableError] * OUTAGES_MAX,
        [PayloadUnavailableError] * OUTAGES_MAX,
    )


@pytest.mark.parametrize(
    "problem",
    [
        RecordRefusedError("raw.slow.stream.gone", 1.0, "Local: Unknown topic"),
        NotDurableError("raw.slow.stream.dumps", 4.0, "Local: Message timed out"),
    ],
    ids=["refused", "a topic without a leader"],
)
def test_an_upload_that_kafka_does_not_take_holds_up_no_other_of_its_batch(
    problem: FleetlaneError,
) -> None:
    landed, problems = list[str](), list[FleetlaneError]()

    def land(key: str) -> None:
        if key == "uploads/bad":
            raise problem
        landed.append(key)

    keys = ["uploads/bad", *(f"uploads/{number}" for number in range(5))]
    failed = failed_messages(
        [notification(f"m-{key}", key) for key in keys], land, on_failure=problems.append
    )

    assert (failed, problems, landed) == (["m-uploads/bad"], [problem], keys[1:])


def test_outages_with_faults_between_them_are_none_in_a_row() -> None:
    problems = list[FleetlaneError]()

    def land(key: str) -> None:
        if key.endswith("-away"):
            raise NotDurableError("raw.bulk.large", 4.0, "Local: Message timed out")
        raise PayloadMissingError(key)

    keys = [f"uploads/{number}-{kind}" for number in range(5) for kind in ("away", "missing")]
    failed_messages([notification(key, key) for key in keys], land, on_failure=problems.append)

    assert len(problems) == len(keys)


def test_an_upload_that_cannot_land_holds_up_no_other_of_its_notification() -> None:
    world, problems = World(), list[FleetlaneError]()
    by_hand, missing = "uploads/by-hand", upload_key("1" + "b" * 32, issued_millis=0)

    failed = failed_messages(
        [notification("m-1", by_hand, missing, KEY)], world.landing.land, problems.append
    )

    assert failed == ["m-1"]
    assert [type(problem) for problem in problems] == [NotAnUploadError, PayloadMissingError]
    assert len(world.messages()) == 1


def test_a_key_in_a_notification_is_decoded() -> None:
    landed: list[str] = []

    failed_messages(
        [notification("m-1", "uploads/a%2Bb+c")], landed.append, on_failure=lambda _: None
    )

    assert landed == ["uploads/a+b c"]
