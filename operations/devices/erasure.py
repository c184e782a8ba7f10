"""Erasing a device: its records in Kafka, counted, and the bodies they refer to, deleted."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from clients.s3.payload_bucket import parked_key
from clients.s3.upload_bucket import landed_key
from fleetlane.events import headers as ce
from fleetlane.events.envelope import SOURCE_PREFIX
from fleetlane.events.lanes import Lane
from fleetlane.events.s3_keys import UPLOADS
from fleetlane.events.topic_patterns import raw_pattern
from fleetlane.events.topics import PARKED
from operations.messages.stores import RecordStore


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceTraces:
    """How many records there are, by topic, and the keys of the bodies they refer to.

    ``landed`` are keys in the bucket of large bodies, ``parked`` in that of parked ones; whether
    these objects still exist is not known.
    """

    records: Mapping[str, int]
    landed: frozenset[str]
    parked: frozenset[str]


def traces_of(device_id: str, store: RecordStore) -> DeviceTraces:
    """Read all raw topics and ``parked`` once, for a device's records."""
    source = (SOURCE_PREFIX + device_id).encode()
    records, keys = Counter[str](), set[str]()
    for record in store.matching(f"{raw_pattern(*Lane)}|{PARKED}"):
        headers = dict(record.headers)
        if headers.get(ce.SOURCE) != source:
            continue
        records[record.topic] += 1
        reference = headers.get(ce.DATA_REF)
        if reference is not None:
            keys.add(reference.decode(errors="replace"))
    parked = frozenset(map(parked_key, keys))
    landed = frozenset(keys - parked)
    landed |= {landed_key(key) for key in landed if key.startswith(UPLOADS)}  # their marks
    return DeviceTraces(records=dict(sorted(records.items())), landed=landed, parked=parked)


type Delete = Callable[[str], None]


def delete_bodies(
    traces: DeviceTraces, *, landed: Delete, parked: Delete, on_deleted: Callable[[int], None]
) -> None:
    """Delete the bodies that are there. ``on_deleted`` is called with the count so far."""
    # Marks come last: an upload that has none lands again.
    wanted = [(landed, key) for key in sorted(traces.landed, reverse=True)]
    wanted += [(parked, key) for key in sorted(traces.parked)]
    for number, (delete, key) in enumerate(wanted, start=1):
        delete(key)
        on_deleted(number)
