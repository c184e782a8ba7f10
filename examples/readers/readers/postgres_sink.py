"""Events into Postgres: one row an id, those of each message's highest revision.

    python -m readers.postgres_sink --kafka HOST:PORT --postgres postgresql:///fleet canonical.gps

Any number of these may share the work, and any may be killed: what was not committed to Kafka is
read again, and does nothing that was done.
"""

import argparse
from collections.abc import Sequence
from typing import Final

import msgspec
import psycopg

from fleetlane.events.canonical import CanonicalEvent
from readers.counting import events_that_count
from readers.event_reader import EventReader

# Of json, not jsonb: that refuses a NUL in a string, which a device may send.
TABLES: Final = """
CREATE TABLE IF NOT EXISTS messages (raw_id text PRIMARY KEY, revision int NOT NULL);
CREATE TABLE IF NOT EXISTS events (
    stream text, id text, raw_id text NOT NULL, revision int NOT NULL,
    source text NOT NULL, time timestamptz, arrival_ms bigint NOT NULL, data json NOT NULL,
    PRIMARY KEY (stream, id));
CREATE INDEX IF NOT EXISTS events_by_message ON events (raw_id);
"""
# Locks the message's row, also where it changes nothing: two readers have events of one message.
_NOTE_REVISION: Final = """
INSERT INTO messages (raw_id, revision) VALUES (%s, %s)
ON CONFLICT (raw_id) DO UPDATE SET revision = excluded.revision
WHERE messages.revision < excluded.revision
"""
_DROP_REPLACED: Final = """
DELETE FROM events USING messages
WHERE events.raw_id = %s AND messages.raw_id = events.raw_id
AND events.revision < messages.revision
"""
# Where two messages have the same event, that which came first stays.
_ADD: Final = """
INSERT INTO events (stream, id, raw_id, revision, source, time, arrival_ms, data)
SELECT %s, %s, raw_id, revision, %s, %s, %s, %s FROM messages WHERE raw_id = %s AND revision = %s
ON CONFLICT (stream, id) DO NOTHING
"""


def store(connection: "psycopg.Connection", events: Sequence[CanonicalEvent]) -> None:
    """Store them in one transaction."""
    counting = events_that_count(events)
    revisions = sorted({(one.rawid, one.revision) for one in counting})  # an order: no deadlock
    with connection.transaction(), connection.cursor() as cursor:
        cursor.executemany(_NOTE_REVISION, revisions)
        cursor.executemany(_DROP_REPLACED, [(raw_id,) for raw_id, _ in revisions])
        cursor.executemany(_ADD, [_row(one) for one in sorted(counting, key=lambda one: one.id)])


def _row(event: CanonicalEvent) -> tuple[object, ...]:
    data = msgspec.json.encode(event.data).decode()
    arrival_ms = int(event.arrivalmillis)
    what = (event.type, event.id, event.source, event.time, arrival_ms, data)
    return (*what, event.rawid, event.revision)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("topics", nargs="+", metavar="TOPIC")
    parser.add_argument("--kafka", required=True, metavar="HOST:PORT")
    parser.add_argument("--postgres", required=True, metavar="URL")
    parser.add_argument("--group", default="postgres-sink")
    parser.add_argument("--setting", action="append", default=[], help="librdkafka's: NAME=VALUE")
    given = parser.parse_args()
    settings = dict(one.split("=", 1) for one in given.setting)
    with (
        psycopg.connect(given.postgres, autocommit=True) as connection,
        EventReader(
            given.kafka, group=given.group, topics=given.topics, settings=settings
        ) as reader,
    ):
        connection.execute(TABLES)
        while True:
            with reader.batch() as events:
                store(connection, events)


if __name__ == "__main__":
    main()
