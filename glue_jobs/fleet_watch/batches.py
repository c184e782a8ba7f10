"""A batch of ``fleet.received``: who is too fast is held back, who was heard of is noted."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, Protocol

from pyspark.sql import DataFrame

from clients.devices.registry import RegistryUnavailableError
from clients.devices.sightings import Sighting
from clients.flows.store import CurrentFlows, FlowsUnavailableError
from fleetlane.events.alerts import Alert
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.flows.flow import FlowSet
from fleetlane.events.metrics import JobMetric
from fleetlane.events.overrides import Overrides
from fleetlane.events.times import DAY_MS
from glue_jobs.fleet_watch.device_rates import Activity, DeviceRates, RateLimit, TooFast
from glue_jobs.fleet_watch.quarantine import QuarantineRules, judged, with_held
from glue_jobs.fleet_watch.transforms import activity

_ROWS_AT_ONCE: Final = 1_000

DEVICES_MAX: Final = 1_000_000
"""So many are remembered; beyond that DynamoDB itself turns a second write of a day down."""

_log = logging.getLogger(__name__)


class OverridesObject(Protocol):
    """Where overrides are read and changed; ``clients.devices.overrides.OverridesStore`` is one."""

    def read(self) -> Overrides: ...

    def change(self, changed: Callable[[Overrides], Overrides], *, now_ms: int) -> Overrides: ...


class NotesSightings(Protocol):
    """Where they are written; ``clients.devices.sightings.DeviceSightings`` is one."""

    def note(self, sighting: Sighting) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchContext:
    """What the watch talks to. ``tell`` returns once the alerts are durable."""

    flows: CurrentFlows
    overrides: OverridesObject
    sightings: NotesSightings
    tell: Callable[[Sequence[Alert]], None]
    publish: Callable[[Mapping[str, float]], None]
    now_ms: Callable[[], int]


class WatchBatches:
    """Looks at the batches of the one query.

    S3 being away ends nothing: whoever is too fast is judged again with the next batch.
    """

    def __init__(
        self,
        surroundings: WatchContext,
        rules: QuarantineRules,
        *,
        per_minute_max: int,
        sightings_at_once_max: int,
    ) -> None:
        self._around, self._rules, self._per_minute_max = surroundings, rules, per_minute_max
        self._rates = DeviceRates(window_ms=rules.window_ms)
        self._last_seen = LastSeen(surroundings.sightings, at_once_max=sightings_at_once_max)

    def look(self, records: DataFrame, _number: int) -> None:
        """Look at a batch; for ``foreachBatch``."""
        self.look_at(_rows(activity(records, window_ms=self._rules.window_ms)))

    def look_at(self, batch: Iterable[Activity]) -> None:
        """Do so with what each device sent in it."""
        some = list(batch)
        self._look_for_insane_devices(some)
        self._last_seen.add(_sightings(some))
        self._last_seen.write_some()

    def _look_for_insane_devices(self, batch: Sequence[Activity]) -> None:
        now_ms = self._around.now_ms()
        try:
            present = self._around.overrides.read()
            fast = list(self._rates.add(batch, self._rate_limit(present), now_ms=now_ms))
            self._judge(fast, present, now_ms)
        except FleetlaneError as problem:
            _log.warning("nobody is held back for what was just sent: %s", problem)

    def _judge(self, fast: Sequence[TooFast], present: Overrides, now_ms: int) -> None:
        """Tell first: what a crash then leaves undone is judged, and told, once more."""
        judgement = judged(fast, present, self._rules, now_ms=now_ms)
        if judgement.alerts:
            self._around.tell(judgement.alerts)
        if judgement.changes_something:
            self._around.overrides.change(
                lambda others: with_held(others, judgement.held, now_ms=now_ms), now_ms=now_ms
            )
        if judgement.left:
            _log.error("%d devices are over their rate limits, and not held back", judgement.left)
            self._around.publish({JobMetric.RUNAWAY_DEVICES_LEFT: judgement.left})

    def _rate_limit(self, present: Overrides) -> RateLimit:
        """What overrides say of a device, else of all, else its flow, else the platform."""
        flows = self._flows()

        def rate_limit(device_id: str, stream: str) -> int:
            overridden = present.rate_limits_of(device_id, of_stage=None)
            if overridden is not None:
                return overridden.soft_per_minute
            own = flows[stream].devices.messages_per_minute_max if stream in flows else None
            return self._per_minute_max if own is None else own

        return rate_limit

    def _flows(self) -> FlowSet:
        try:
            return self._around.flows.current().by_stream
        except FlowsUnavailableError as problem:
            _log.warning("devices are held against the platform's rate limit alone: %s", problem)
            return {}


def _sightings(batch: Iterable[Activity]) -> Iterator[Sighting]:
    for one in batch:
        if one.seen_ms is not None:
            yield Sighting(device_id=one.device_id, seen_ms=one.seen_ms, firmware=one.firmware)


def _rows(rows: DataFrame) -> Iterator[Activity]:
    for some in rows.toArrow().to_batches(_ROWS_AT_ONCE):
        yield from (Activity(**row) for row in some.to_pylist())


class LastSeen:
    """Writes a few sightings a batch, so that a herd does not use up the registry's capacity.

    A device that waits for its turn is written with the first sighting of its day that came here.
    What a restart forgets comes with the device's next message.
    """

    def __init__(
        self, registry: NotesSightings, *, at_once_max: int, devices_max: int = DEVICES_MAX
    ) -> None:
        self._registry, self._at_once_max = registry, at_once_max
        self._devices_max = devices_max
        self._day_noted: dict[str, int] = {}
        self._waiting: dict[str, Sighting] = {}

    def add(self, batch: Iterable[Sighting]) -> None:
        for one in batch:
            is_news = _day(one) > self._day_noted.get(one.device_id, -1)
            waiting = self._waiting.get(one.device_id)
            is_newer = waiting is None or _day(one) > _day(waiting)
            if is_news and is_newer and len(self._waiting) < self._devices_max:
                self._waiting[one.device_id] = one

    def write_some(self) -> None:
        """Write the next of those that wait. The registry being away costs a line in the log."""
        for one in list(islice(self._waiting.values(), self._at_once_max)):
            try:
                self._registry.note(one)
            except RegistryUnavailableError as problem:
                _log.warning("%d sightings wait: %s", len(self._waiting), problem)
                return
            del self._waiting[one.device_id]
            if len(self._day_noted) >= self._devices_max:
                self._day_noted.clear()
            self._day_noted[one.device_id] = _day(one)


def _day(sighting: Sighting) -> int:
    return sighting.seen_ms // DAY_MS
