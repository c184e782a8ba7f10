"""The fleet: registers its devices, lets them all send, and collects every answer."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from clients.device_api import uploaded
from clients.devices.registry import RegisteredDevice
from fleetlane.events.times import now_ms
from local.simulator.device import Outgoing, SentMessage
from local.simulator.sender import Api, Sender, Upload
from local.simulator.sendings import FleetPlan, Sending, sendings_of
from operations.ledger.message_results import Receipt

_PROGRESS_EVERY_S: Final = 0.2
_HERD_AT: Final = 0.5


class Registry(Protocol):
    """Where devices are registered; ``clients.devices.registry.DeviceRegistry`` is one."""

    def register_all(self, devices: Iterable[RegisteredDevice]) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetProgress:
    """How far the fleet is, in messages. ``landed`` counts receipts by where they are durable."""

    planned: int
    finished: int
    landed: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetRun:
    """All that the fleet sent from ``began_ms`` on."""

    began_ms: int
    sent: tuple[SentMessage, ...]

    def receipts(self) -> Iterator[Receipt]:
        for message in self.sent:
            yield from message.receipts()

    def surprises(self) -> tuple[str, ...]:
        """A line for each message whose last answer was not the expected one."""
        return tuple(filter(None, (message.surprise() for message in self.sent)))


def run_fleet(
    plan: FleetPlan,
    api: Api,
    *,
    registry: Registry,
    on_progress: Callable[[FleetProgress], None] = lambda _: None,
    upload: Upload = uploaded,
) -> FleetRun:
    """Register the fleet and let it send; blocks until every device is done with its messages.

    ``on_progress`` is called a few times a second, in this thread, and once at the end. Raises
    ``RegistryUnavailableError`` before anything was sent.
    """
    at_ms = now_ms()
    sendings = tuple(sendings_of(plan, now_ms=at_ms))
    devices = (device for one in sendings for device in one.devices)
    registrations = (device.registration(registered_ms=at_ms) for device in devices)
    registry.register_all(device for device in registrations if device is not None)
    sender = Sender(api, upload=upload, patience_s=plan.patience_s)
    return asyncio.run(_run(sendings, plan, sender, on_progress))


def landed(sent: Iterable[SentMessage]) -> Counter[str]:
    """How many answers said that their message is in Kafka, in S3, in the spool."""
    answers = (answer for message in sent for answer in message.answers)
    return Counter(answer.landed for answer in answers if answer.landed is not None)


async def _run(
    sendings: tuple[Sending, ...],
    plan: FleetPlan,
    sender: Sender,
    on_progress: Callable[[FleetProgress], None],
) -> FleetRun:
    sent: list[SentMessage] = []
    planned = sum(one.messages for one in sendings)
    began_ms = now_ms()

    def report() -> None:
        on_progress(FleetProgress(planned=planned, finished=len(sent), landed=landed(sent)))

    async def report_repeatedly() -> None:
        while True:
            report()
            await asyncio.sleep(_PROGRESS_EVERY_S)

    reports = asyncio.create_task(report_repeatedly())
    try:
        async with asyncio.TaskGroup() as devices:
            for number, one in enumerate(sendings):
                devices.create_task(_send_all(one, number, plan, sender, sent))
    finally:
        reports.cancel()
    report()
    return FleetRun(began_ms=began_ms, sent=tuple(sent))


async def _send_all(
    sending: Sending, number: int, plan: FleetPlan, sender: Sender, sent: list[SentMessage]
) -> None:
    """Send a device's messages one after another, spread over the plan's time."""
    started_s = time.monotonic()
    for place, parcel in enumerate(sending.parcels):
        if plan.seconds is not None:
            part = (place + number / plan.devices) / len(sending.parcels)
            is_herd = isinstance(parcel, Outgoing) and parcel.is_herd
            due_s = started_s + plan.seconds * (_HERD_AT if is_herd else part)
            await asyncio.sleep(max(0.0, due_s - time.monotonic()))
        if isinstance(parcel, Outgoing):
            sent.append(await sender.send(sending.device, sending.token, parcel))
        else:
            sent.extend(await sender.send_batch(sending.token, parcel))
