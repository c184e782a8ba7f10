"""A fleet whose truth is known: who sent what when, and what became of each message."""

import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pyiceberg.catalog.sql import SqlCatalog

from benchmarks.iceberg_tables import add_rows, folder_catalog
from clients.devices.registry import DeviceStatus, RegisteredDevice
from fleetlane.events.lake.tables import DAILY, LATE_MESSAGE_AFTER_MS, PARSED, RECEIVED
from fleetlane.events.times import DAY_MS, HOUR_MS, MILLIS_MAX, MILLIS_MIN, day_of
from local.demo.lake_tables import make_table

ASKED_AT_MS: Final = 1_794_000_000_000
"""In the middle of a day."""

_RANK: Final = {"parsed": 3, "empty": 2, "parked": 1, "diverted": 0}
_GATEWAYS: Final = ("gw-1", "gw-2")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    number: int
    outcome: str
    parsed_ms: int
    reason: str | None = None
    put_off: str | None = None
    parser: str | None = None
    parse_us: int = 0
    inflated_bytes: int = 0
    output_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A message as its device sent it, once, whatever happened to it afterwards."""

    id: str
    device_id: str
    device_type: str
    firmware: str | None
    stream: str
    via: str | None
    received_ms: int
    body_bytes: int
    start_ms: int | None
    end_ms: int | None
    last_event_ms: int
    attempts: tuple[Attempt, ...]

    @property
    def final(self) -> Attempt | None:
        """The attempt that counts."""
        return max(self.attempts, key=lambda one: (_RANK[one.outcome], one.number), default=None)

    @property
    def lag_ms(self) -> int | None:
        """By what the device states, else by its last event."""
        if self.stated_lag_ms is not None:
            return self.stated_lag_ms
        is_parsed = any(one.outcome == "parsed" for one in self.attempts)
        return self.received_ms - self.last_event_ms if is_parsed else None

    @property
    def stated_lag_ms(self) -> int | None:
        """``None`` too where the device states a time that no calendar has."""
        if self.end_ms is None or not MILLIS_MIN <= self.end_ms <= MILLIS_MAX:
            return None
        return self.received_ms - self.end_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFleet:
    """All devices of the registry, and all messages."""

    devices: tuple[RegisteredDevice, ...]
    sent: tuple[Sent, ...]


def known_fleet(*, seed: int, devices: int, messages: int) -> KnownFleet:
    """Make a fleet with every kind of device, some of them never seen, some behind gateways."""
    chance = random.Random(seed)  # noqa: S311 - a generated fleet is to be the same again
    registered = tuple(_device(chance, number) for number in range(devices))
    return KnownFleet(devices=registered, sent=tuple(_Sender(chance, registered).sent(messages)))


def lake_of(fleet: KnownFleet, folder: Path) -> SqlCatalog:
    """Write what the lake holds of it, through Iceberg. The caller closes the catalog."""
    catalog = folder_catalog(folder)
    tables_of(fleet, catalog)
    return catalog


def tables_of(fleet: KnownFleet, catalog: SqlCatalog) -> None:
    """Make its tables in a catalog that has none."""
    for table, rows in (
        (RECEIVED, [_received_row(one) for one in fleet.sent]),
        (PARSED, [row for one in fleet.sent for row in _parsed_rows(one)]),
        (DAILY, list(_daily_rows(fleet.sent))),
    ):
        make_table(catalog, table)
        add_rows(catalog, table, rows)


def _device(chance: random.Random, number: int) -> RegisteredDevice:
    revoked = chance.random() < 0.03
    return RegisteredDevice(
        device_id=f"d-{number:04d}",
        device_type=("thermo", "tracker", "meter")[number % 3],
        status=DeviceStatus.REVOKED if revoked else DeviceStatus.ACTIVE,
        keys=(),
        gateway_id=_GATEWAYS[number % 2] if number % 9 == 0 else None,
        registered_ms=ASKED_AT_MS - int(chance.uniform(1, 90) * DAY_MS),
    )


@dataclass(slots=True)
class _Sender:
    chance: random.Random
    devices: tuple[RegisteredDevice, ...]
    quiet_for_ms: dict[str, int] = field(default_factory=dict)

    def sent(self, messages: int) -> Iterator[Sent]:
        senders = [device for at, device in enumerate(self.devices) if at % 20]  # the rest never
        for number in range(messages):
            yield self._message(number, self.chance.choice(senders))

    def _message(self, number: int, device: RegisteredDevice) -> Sent:
        at, chance = int(device.device_id[2:]), self.chance
        stopped_days = 10 if at % 17 == 0 else 0
        received_ms = ASKED_AT_MS - int(chance.uniform(stopped_days, 29) * DAY_MS)
        lag_ms = (
            int(chance.uniform(1, 30) * HOUR_MS) if at % 13 == 0 else chance.randint(-900, 90_000)
        )
        declares = chance.random() < 0.8
        stream = device.device_type if chance.random() < 0.9 else "events"
        firmware = f"{1 + at % 4}.{at % 3}" if at % 11 else None
        body_bytes = int(10 ** chance.uniform(1.5, 6.5))
        through = device.gateway_id is not None and chance.random() < 0.95
        device_id = device.device_id if chance.random() > 0.01 else f"stranger-{at % 5}"
        return Sent(
            id=f"1{number:032x}",
            device_id=device_id,
            device_type=device.device_type,
            firmware=firmware,
            stream=stream,
            via=device.gateway_id if through else None,
            received_ms=received_ms,
            body_bytes=body_bytes,
            start_ms=received_ms - lag_ms - chance.randint(0, 2 * HOUR_MS) if declares else None,
            end_ms=received_ms - lag_ms if declares else None,
            last_event_ms=received_ms - lag_ms - 500,
            attempts=tuple(self._attempts(received_ms, stream, firmware, body_bytes)),
        )

    def _attempts(
        self, received_ms: int, stream: str, firmware: str | None, body_bytes: int
    ) -> Iterator[Attempt]:
        """One, as a rule; or diverted and tried again; or parked, and mended by a replay later."""
        chance, at_ms = self.chance, received_ms + self.chance.randint(50, 5_000)
        malformed = chance.random() < (0.12 if firmware == "3.1" else 0.02)
        kind = chance.choices(("plain", "slow", "waiting"), (90, 8, 2))[0]
        if kind == "waiting":
            return
        parser, took = f"{stream}@1.{len(stream) % 3}.0", chance.randint(30, 90_000)
        number = 1
        if kind == "slow":
            off = "overtime_used_up" if chance.random() < 0.5 else None
            reason = None if off else "timeout"
            yield Attempt(
                number=1, outcome="diverted", parsed_ms=at_ms, reason=reason, put_off=off,
                parser=parser, parse_us=0 if off else 120_000,
            )  # fmt: skip
            number, at_ms = 2, at_ms + 11_000
        if malformed:
            is_gone = took % 5 == 0  # its payload was, before any parser ran
            yield Attempt(
                number=number, outcome="parked", parsed_ms=at_ms, parser=parser,
                reason="payload_missing" if is_gone else "malformed",
                parse_us=0 if is_gone else took,
            )  # fmt: skip
            if chance.random() < 0.75:
                return
            number, at_ms, parser = number + 1, min(at_ms + DAY_MS, ASKED_AT_MS), f"{stream}@2.0.0"
        outcome = "empty" if chance.random() < 0.05 else "parsed"
        yield Attempt(
            number=number, outcome=outcome, parsed_ms=at_ms, parser=parser, parse_us=took,
            inflated_bytes=body_bytes * chance.choice((1, 1, 4)),
            output_bytes=body_bytes * 7,
        )  # fmt: skip


def _received_row(sent: Sent) -> dict[str, object]:
    return {
        "day": day_of(sent.received_ms),
        "id": sent.id,
        "device_id": sent.device_id,
        "device_type": sent.device_type,
        "firmware": sent.firmware,
        "stream": sent.stream,
        "lane": "standard",
        "via": sent.via,
        "source_topic": "raw.standard",
        "source_partition": 0,
        "source_offset": int(sent.id[1:], 16),
        "received_ms": sent.received_ms,
        "body_bytes": sent.body_bytes,
        "by_reference": sent.body_bytes > 256 * 1024,
        "start_ms": sent.start_ms,
        "end_ms": sent.end_ms,
    }


def _parsed_rows(sent: Sent) -> Iterator[dict[str, object]]:
    for attempt in sent.attempts:
        yield {
            "day": day_of(sent.received_ms),
            "id": sent.id,
            "attempt": attempt.number,
            "device_id": sent.device_id,
            "stream": sent.stream,
            "lane": "standard" if attempt.number == 1 else "slow",
            "source_topic": "raw.standard",
            "source_partition": 0,
            "source_offset": int(sent.id[1:], 16),
            "outcome": attempt.outcome,
            "parsed_ms": attempt.parsed_ms,
            "received_ms": sent.received_ms,
            "reason": attempt.reason,
            "put_off": attempt.put_off,
            "parser": attempt.parser,
            "events": 10 if attempt.outcome == "parsed" else 0,
            "parse_us": attempt.parse_us,
            "inflated_bytes": attempt.inflated_bytes,
            "output_bytes": attempt.output_bytes,
            "last_event_ms": sent.last_event_ms if attempt.outcome == "parsed" else None,
        }


def _daily_rows(sent: tuple[Sent, ...]) -> Iterator[dict[str, object]]:
    groups = defaultdict[tuple[object, str, str], list[Sent]](list)
    for one in sent:
        groups[day_of(one.received_ms), one.device_id, one.stream].append(one)
    for (day, device_id, stream), messages in groups.items():
        yield {"day": day, "device_id": device_id, "stream": stream} | _totals(messages)


def _totals(messages: list[Sent]) -> dict[str, object]:
    latest = max(messages, key=lambda one: one.received_ms)
    lags = [max(one.stated_lag_ms, 0) for one in messages if one.stated_lag_ms is not None]
    finals = [(one, one.final) for one in messages]
    unpacked = [(one, final) for one, final in finals if final and final.inflated_bytes]
    outcomes = [final.outcome for _, final in finals if final]
    return {
        "messages": len(messages),
        "body_bytes": sum(one.body_bytes for one in messages),
        "body_bytes_max": max(one.body_bytes for one in messages),
        "by_reference": sum(one.body_bytes > 256 * 1024 for one in messages),
        "first_received_ms": min(one.received_ms for one in messages),
        "last_received_ms": latest.received_ms,
        "lag_messages": len(lags),
        "lag_ms_sum": sum(lags),
        "lag_ms_max": max(lags, default=0),
        "late_messages": sum(lag > LATE_MESSAGE_AFTER_MS for lag in lags),
        "parsed": outcomes.count("parsed"),
        "empty": outcomes.count("empty"),
        "parked": outcomes.count("parked"),
        "malformed": sum(bool(final and final.reason == "malformed") for _, final in finals),
        "events": 10 * outcomes.count("parsed"),
        "parse_us_sum": sum(final.parse_us for _, final in finals if final),
        "parse_us_max": max((final.parse_us for _, final in finals if final), default=0),
        "parsed_body_bytes": sum(one.body_bytes for one, _ in unpacked),
        "inflated_bytes": sum(final.inflated_bytes for _, final in unpacked),
        "output_bytes": sum(final.output_bytes for _, final in finals if final),
        "device_type": latest.device_type,
        "firmware": latest.firmware,
        "via": latest.via,
        "heard_ms": max((one.received_ms for one in messages if one.via is None), default=None),
        "gateway_ms": max((one.received_ms for one in messages if one.via), default=None),
    }
