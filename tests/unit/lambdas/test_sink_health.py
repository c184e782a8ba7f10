"""Health is liveness; the sinks are distinguished, by what recent requests saw of them."""

import pytest

from lambdas.ingest.sink_health import RECENT_S, Condition, Sink, SinkHealth
from tests.unit.lambdas.api_gateway import Answer, event, ingest_routes, post, send
from tests.unit.lambdas.cloud_events import entry, post_batch
from tests.unit.lambdas.fakes import FakeKafka, FakePayloads


class World:
    def __init__(self) -> None:
        self.kafka, self.payloads = FakeKafka(("raw.standard", "raw.bulk.large")), FakePayloads()
        self.routes = ingest_routes(producer=self.kafka, payloads=self.payloads)

    def health(self) -> Answer:
        return send(self.routes, event("GET", "/v1/health", identity=None))


@pytest.fixture
def world() -> World:
    return World()


def test_health_needs_no_identity_and_no_sink(world: World) -> None:
    answer = world.health()

    assert (answer.status, answer.body) == (
        200,
        {"status": "ok", "sinks": {"kafka": "unknown", "object_store": "unknown"}},
    )


def test_a_message_that_landed_says_that_kafka_is_well(world: World) -> None:
    post(world.routes)

    assert world.health().body["sinks"] == {"kafka": "ok", "object_store": "unknown"}


def test_a_large_message_says_so_of_both(world: World) -> None:
    post(world.routes, body=bytes(300_000))

    assert world.health().body["sinks"] == {"kafka": "ok", "object_store": "ok"}


def test_what_failed_is_reported_and_the_api_is_alive_all_the_same(world: World) -> None:
    world.kafka.is_up = world.payloads.is_up = False
    post(world.routes)
    post(world.routes, body=bytes(300_000))

    answer = world.health()

    assert (answer.status, answer.body["status"]) == (200, "ok")
    assert answer.body["sinks"] == {"kafka": "failing", "object_store": "failing"}


def test_a_batch_tells_too(world: World) -> None:
    world.kafka.is_up = False

    post_batch(world.routes, entry())

    assert world.health().body["sinks"]["kafka"] == "failing"


def test_what_was_seen_long_ago_does_not_count() -> None:
    now_s = [0.0]
    health = SinkHealth(monotonic=lambda: now_s[0])
    health.saw(Sink.KAFKA, Condition.FAILING)

    now_s[0] = RECENT_S + 1

    assert health.conditions()[Sink.KAFKA] is Condition.UNKNOWN
