"""Events into a real Postgres: a row an id, whatever repeats, is replayed, or dies in between."""

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import permutations
from typing import Final

import psycopg
import pytest
from confluent_kafka import Producer

from clients.kafka.topics import KafkaTopics
from fleetlane.events.canonical import CanonicalEvent
from local.checkout import ROOT
from local.servers.kafka import KafkaBroker
from readers.counting import events_that_count
from readers.postgres_sink import TABLES, store
from tests.readers.events import an_event, record_of

TOPIC: Final = "canonical.postgres-sink"
PARTITIONS: Final = 4
MESSAGES: Final = 400
KILLS: Final = 5
PATIENCE_S: Final = 120


@pytest.fixture
def connection(postgres: str) -> Iterator["psycopg.Connection"]:
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(TABLES)
        yield connection


def stored(connection: "psycopg.Connection") -> set[tuple[str, int]]:
    return set(connection.execute("SELECT id, revision FROM events").fetchall())


def test_an_event_is_stored_as_it_was_read(connection: "psycopg.Connection") -> None:
    event = an_event("a", time="2026-11-28T14:00:00Z", data={"text": "a \0 in it", "none": None})

    store(connection, [event])

    row = connection.execute(
        "SELECT stream, id, raw_id, source, time = '2026-11-28T14:00:00Z', data FROM events"
    ).fetchone()
    assert row == ("gps", "a", "m-1", event.source, True, event.data)


def test_batches_give_the_same_rows_in_whatever_order_they_come(
    connection: "psycopg.Connection",
) -> None:
    batches = [[an_event("a"), an_event("b")], [an_event("a", revision=1)], [an_event("b")]]

    for order in permutations(batches):
        for batch in order:
            store(connection, batch)
        assert stored(connection) == {("a", 1)}
        connection.execute("TRUNCATE events, messages")


def test_what_was_read_and_not_committed_changes_nothing_when_it_comes_again(
    connection: "psycopg.Connection",
) -> None:
    batch = [an_event("a"), an_event("b")]
    store(connection, batch)
    before = stored(connection)

    store(connection, batch)

    assert stored(connection) == before


def written_events() -> list[CanonicalEvent]:
    """A few of each message: a third replayed, a quarter repeated; any order, as of partitions."""
    chance = random.Random(1)  # noqa: S311 - no secret
    events = []
    for number in range(MESSAGES):
        revisions = range(1 + (number % 3 == 0))
        for revision in revisions:
            count = 1 + (number + revision) % 4
            ids = [f"e-{number}-{index}" for index in range(count)]
            events += [an_event(one, rawid=f"m-{number}", revision=revision) for one in ids]
    events += chance.sample(events, len(events) // 4)
    chance.shuffle(events)
    return events


@contextmanager
def sinks(*arguments: str, count: int) -> Iterator[list["subprocess.Popen[bytes]"]]:
    """So many programs as their page starts them. A killed one is to be replaced in the list."""
    running = [started(*arguments) for _ in range(count)]
    try:
        yield running
    finally:
        for one in running:
            one.kill()
            one.wait()


def started(*arguments: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "readers.postgres_sink", *arguments]
    return subprocess.Popen(command, cwd=ROOT / "examples" / "readers", env=dict(os.environ))  # noqa: TID251 - the child's


@pytest.mark.kafka
def test_rows_equal_distinct_ids_though_readers_are_killed(
    kafka_broker: KafkaBroker, postgres: str, connection: "psycopg.Connection"
) -> None:
    events = written_events()
    expected = {(one.id, one.revision) for one in events_that_count(events)}
    servers = kafka_broker.bootstrap_servers
    topics = KafkaTopics(bootstrap_servers=servers, partitions=PARTITIONS, replication=1)
    topics.create_missing([TOPIC])
    producer = Producer({"bootstrap.servers": servers, "log_level": 0})
    places = ("--kafka", servers, "--postgres", postgres)
    arguments = (*places, "--setting", "session.timeout.ms=6000", TOPIC)  # of the killed

    with sinks(*arguments, count=2) as running:
        for kill in range(KILLS):
            before = len(stored(connection))
            for event in events[kill::KILLS]:
                producer.produce(TOPIC, record_of(event), key=event.id)
            producer.flush(30)
            assert becomes_true(partial(has_more_rows, connection, before))
            victim = running.pop(0)
            victim.kill()
            victim.wait()
            running.append(started(*arguments))
        is_all = becomes_true(lambda: stored(connection) == expected)

    assert is_all, (len(stored(connection)), len(expected))


def has_more_rows(connection: "psycopg.Connection", than: int) -> bool:
    return len(stored(connection)) > than


def becomes_true(condition: Callable[[], bool]) -> bool:
    until_s = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > until_s:
            return False
        time.sleep(0.1)
    return True
