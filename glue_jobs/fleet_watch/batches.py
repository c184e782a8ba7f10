"""A batch of ``fleet.received``: runaway devices are quarantined, and sightings are written."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Final, Protocol

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from clients.devices.registry import RegistryUnavailableError
from clients.devices.sightings import Sighting
from clients.flows.store import CurrentFlows, FlowsUnavailableError
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.flows.flow import FlowSet
from fleetlane.events.metadata import Alert
from fleetlane.events.metrics import JobMetric
from fleetlane.events.overrides import Overrides
from fleetlane.events.times import DAY_MS, MILLIS_MAX
from glue_jobs.fleet_watch import quarantine
from glue_jobs.kafka.source_and_sink import fields_of

_ROWS_AT_ONCE: Final = 1_000

DEVICES_MAX: Final = 1_000_000
"""How many devices are cached; beyond that DynamoDB itself rejects a second write of a day."""

_log = logging.getLogger(__name__)
_RECEIVED = (
    "id string, device_id string, stream string, via string, firmware string, received_ms long, "
    "body_bytes long, by_reference boolean"
)
_FIRMWARE_CHARS_MAX = 100


def activity(records: DataFrame, *, window_ms: int) -> DataFrame:
    """One row for each device, stream and window of arrival time.

    What landed twice, because its acknowledgement was lost, has one id and one arrival, and counts
    once where both are among ``records``. What a device sends again arrives again, and counts.

    What a gateway brought counts, but shows no sign of life of the device: ``seen_ms`` is its last
    arrival without one, null where there is none, and ``firmware`` is what it declared then.

    It is one task: rows are few and small, and a shuffle would queue twice more for a slot.

    Headers of a producer that is wrong end no batch, as it would come again for ever: an arrival
    that no message can have leaves its row out, and bytes beyond 64 bits count as none.

    Needs the column value of ``raw_records``; gives device_id string, stream string, window_ms
    long (the window's beginning), messages long, inline_bytes long (large bodies left out), seen_ms
    long, firmware string.
    """
    received = (
        fields_of(records.coalesce(1), F.from_json(F.col("value").cast("string"), _RECEIVED))
        .dropna(subset=["id", "device_id", "stream", "received_ms"])
        .where(F.col("received_ms").between(0, MILLIS_MAX))
        .dropDuplicates(["id", "received_ms"])
    )
    begins = F.col("received_ms") - F.expr(f"pmod(received_ms, {window_ms})")
    by_itself_ms = F.when(F.col("via").isNull(), F.col("received_ms"))
    return received.groupBy("device_id", "stream", begins.alias("window_ms")).agg(
        F.count("*").alias("messages"),
        F.expr("coalesce(try_sum(if(by_reference, 0, body_bytes)), 0)").alias("inline_bytes"),
        F.max(by_itself_ms).alias("seen_ms"),
        F.max_by(F.substring("firmware", 1, _FIRMWARE_CHARS_MAX), by_itself_ms).alias("firmware"),
    )


class OverridesObject(Protocol):
    """Where overrides are read and changed; ``clients.devices.overrides.OverridesStore`` is one."""

    def read(self) -> Overrides: ...
    def change(self, changed: Callable[[Overrides], Overrides], *, now_ms: int) -> Overrides: ...


type Note = Callable[[Sighting], bool]
"""Writes one down, as ``DeviceSightings.note`` does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchContext:
    """What the watch talks to. ``send`` returns once the alerts are durable."""

    flows: CurrentFlows
    overrides: OverridesObject
    note_sighting: Note
    send: Callable[[Sequence[Alert]], None]
    publish: Callable[[Mapping[str, float]], None]
    now_ms: Callable[[], int]


class WatchBatches:
    """Handles the batches of the one query.

    An unavailable S3 ends nothing: devices that are too fast are judged again with the next batch.
    """

    def __init__(
        self,
        context: WatchContext,
        rules: quarantine.QuarantineRules,
        *,
        per_minute_max: quarantine.PerMinute,
        sightings_at_once_max: int,
    ) -> None:
        self._context, self._rules, self._per_minute_max = context, rules, per_minute_max
        self._rates = quarantine.DeviceRates(window_ms=rules.window_ms)
        self._last_seen = LastSeen(context.note_sighting, at_once_max=sightings_at_once_max)

    def handle(self, records: DataFrame, number: int) -> None:
        """Handle a batch; for ``foreachBatch``."""
        rows = activity(records, window_ms=self._rules.window_ms).toArrow()
        found = (row for some in rows.to_batches(_ROWS_AT_ONCE) for row in some.to_pylist())
        self.handle_activity([quarantine.Activity(**row) for row in found], number)

    def handle_activity(self, some: Sequence[quarantine.Activity], number: int) -> None:
        self._quarantine_devices(some, number)
        self._last_seen.add(
            Sighting(device_id=one.device_id, seen_ms=one.seen_ms, firmware=one.firmware)
            for one in some
            if one.seen_ms is not None
        )
        self._last_seen.write_some()

    def _quarantine_devices(self, batch: Sequence[quarantine.Activity], number: int) -> None:
        now_ms = self._context.now_ms()
        try:
            present = self._context.overrides.read()
            flows = self._flows()
            rate_limit = partial(self._rate_limit, present, flows)
            added = self._rates.add(batch, number, rate_limit, now_ms=now_ms, streams=flows.keys())
            self._judge(list(added), present, now_ms)
        except FleetlaneError as problem:
            _log.warning("no device is quarantined for this batch: %s", problem)

    def _judge(self, fast: Sequence[quarantine.TooFast], present: Overrides, now_ms: int) -> None:
        """Send the alerts first: after a crash, what is left is judged and sent once more."""
        judgement = quarantine.judged(fast, present, self._rules, now_ms=now_ms)
        if judgement.alerts:
            self._context.send(judgement.alerts)
        if judgement.held or judgement.is_over:
            with_held = partial(quarantine.with_held, held=judgement.held, now_ms=now_ms)
            self._context.overrides.change(with_held, now_ms=now_ms)
        if judgement.left:
            _log.error("%d devices are over their rate limits, and not quarantined", judgement.left)
            self._context.publish({JobMetric.RUNAWAY_DEVICES_LEFT: judgement.left})

    def _flows(self) -> FlowSet:
        try:
            return self._context.flows.current().by_stream
        except FlowsUnavailableError as problem:
            _log.warning("the platform's rate limit holds for all devices: %s", problem)
            return {}

    def _rate_limit(
        self, present: Overrides, flows: FlowSet, device_id: str, stream: str
    ) -> quarantine.PerMinute:
        """What overrides say of a device, else of all, else its flow, else the platform."""
        overridden = present.rate_limits_of(device_id, of_stage=None)
        if overridden is not None:
            bytes_max = overridden.soft_bytes_per_minute
            return quarantine.PerMinute(messages=overridden.soft_per_minute, bytes=bytes_max)
        if stream not in flows:
            return self._per_minute_max
        own, most = flows[stream].devices, self._per_minute_max
        return quarantine.PerMinute(
            messages=own.messages_per_minute_max or most.messages,
            bytes=own.bytes_per_minute_max or most.bytes,
            is_of_flow=bool(own.messages_per_minute_max or own.bytes_per_minute_max),
        )


class LastSeen:
    """Writes a few sightings a batch, so as not to use up the registry's capacity.

    A device that waits is written with the first sighting of its day that came here. What a restart
    forgets comes with the device's next message.
    """

    def __init__(self, note: Note, *, at_once_max: int, devices_max: int = DEVICES_MAX) -> None:
        self._note, self._at_once_max = note, at_once_max
        self._devices_max = devices_max
        self._day_noted: dict[str, int] = {}
        self._waiting: dict[str, Sighting] = {}

    def add(self, batch: Iterable[Sighting]) -> None:
        for one in batch:
            is_new_day = _day(one) > self._day_noted.get(one.device_id, -1)
            waiting = self._waiting.get(one.device_id)
            is_newer = waiting is None or _day(one) > _day(waiting)
            if is_new_day and is_newer and len(self._waiting) < self._devices_max:
                self._waiting[one.device_id] = one

    def write_some(self) -> None:
        """Write the next of those that wait. An unavailable registry costs a line in the log."""
        for one in list(islice(self._waiting.values(), self._at_once_max)):
            try:
                self._note(one)
            except RegistryUnavailableError as problem:
                _log.warning("%d sightings wait: %s", len(self._waiting), problem)
                return
            del self._waiting[one.device_id]
            if len(self._day_noted) >= self._devices_max:
                self._day_noted.clear()
            self._day_noted[one.device_id] = _day(one)


def _day(sighting: Sighting) -> int:
    return sighting.seen_ms // DAY_MS
