"""Landing a batch: each entry by itself, so that a bad one stops no other."""

import time

import msgspec

from clients.devices.bound_devices import CachedBoundDevices
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.lanes import Lane
from lambdas.http.device_request import Sender
from lambdas.http.senders import Senders
from lambdas.ingest.batch_document import BatchTooLargeError, Entry, entries_in, entry_from
from lambdas.ingest.intake import Intake
from lambdas.ingest.service import ANSWER_S, InboundMessage, Receipt, or_error

type Outcome = tuple[Receipt | FleetlaneError, Entry | None]
"""What became of one entry, which is ``None`` where it could not be read."""


def land_batch(
    document: bytes,
    sender: Sender,
    arrival_millis: int,
    *,
    intake: Intake,
    devices: CachedBoundDevices,
) -> list[Outcome]:
    """Land the entries that may be landed; the outcomes are in the order of the entries.

    Raises:
        BadRequestError: The document is no batch.
        BatchTooLongError: It has too many entries; nothing was landed.
        BatchTooLargeError: It is too large; nothing was landed.
    """
    until_s = time.monotonic() + ANSWER_S
    if len(document) > intake.ingest.body_bytes_max:
        raise BatchTooLargeError(len(document), intake.ingest.body_bytes_max)
    read = [or_error(entry_from, raw) for raw in entries_in(document)]
    ids = frozenset(one.device_id for one in read if isinstance(one, Entry))
    senders = Senders.asked(sender, ids, devices, intake.rate_limiter, now_ms=arrival_millis)
    admitted = [
        or_error(_admitted, one, senders, arrival_millis) if isinstance(one, Entry) else one
        for one in read
    ]
    inbound = [one for one in admitted if isinstance(one, InboundMessage)]
    landed = iter(intake.land_all(inbound, until_s=until_s))
    return [
        (
            next(landed) if isinstance(one, InboundMessage) else one,
            entry if isinstance(entry, Entry) else None,
        )
        for one, entry in zip(admitted, read, strict=True)
    ]


def _admitted(entry: Entry, senders: Senders, arrival_millis: int) -> InboundMessage:
    """Raises as ``Senders.of`` does."""
    device = senders.of(entry.device_id)
    return InboundMessage(
        asked=Lane.STANDARD,
        arrival_millis=arrival_millis,
        via=senders.via(entry.device_id),
        **msgspec.structs.asdict(device) | msgspec.structs.asdict(entry),
    )
