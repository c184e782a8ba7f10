"""The same answers as the lake's, by plain Python over the truth, one message after the other."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import date, timedelta
from math import ceil

from clients.devices.registry import DeviceStatus, RegisteredDevice
from fleetlane.events.times import DAY_MS, day_of
from operations.fleet.questions import Row
from tests.known_fleet import ASKED_AT_MS, KnownFleet, Sent


def recent(fleet: KnownFleet, days: int) -> list[Sent]:
    return [one for one in fleet.sent if one.received_ms > ASKED_AT_MS - days * DAY_MS]


def trusted(fleet: KnownFleet) -> dict[str, RegisteredDevice]:
    return {
        device.device_id: device
        for device in fleet.devices
        if device.status is not DeviceStatus.REVOKED
    }


def coverage(fleet: KnownFleet, days: int) -> Row:
    messages, registered = recent(fleet, days), set(trusted(fleet))
    itself = {one.device_id for one in messages if one.via is None}
    anyhow = {one.device_id for one in messages}
    reported = len(itself & registered)
    return {
        "days": days,
        "registered": len(registered),
        "reported": reported,
        "through_gateway": len((anyhow - itself) & registered),
        "unregistered": len(anyhow - registered),
        "share": reported / len(registered) if registered else None,
    }


def coverage_by_day(fleet: KnownFleet, days: int) -> list[Row]:
    registered = set(trusted(fleet))
    by_day = defaultdict[date, list[Sent]](list)
    for one in recent(fleet, days):
        if one.device_id in registered:
            by_day[day_of(one.received_ms)].append(one)
    first = day_of(ASKED_AT_MS - days * DAY_MS)
    every = [first + timedelta(days=number) for number in range(days + 1)]
    return [_coverage_on(day, by_day[day]) for day in every]


def _coverage_on(day: date, messages: Sequence[Sent]) -> Row:
    itself = {one.device_id for one in messages if one.via is None}
    anyhow = {one.device_id for one in messages}
    return {
        "day": day,
        "reported": len(itself),
        "through_gateway": len(anyhow - itself),
        "messages": len(messages),
    }


def coverage_by_firmware(fleet: KnownFleet) -> list[Row]:
    declared, groups = dict[str, str | None](), defaultdict[tuple[str, str | None], list[str]](list)
    for one in sorted(fleet.sent, key=lambda one: one.received_ms):
        declared[one.device_id] = one.firmware or declared.get(one.device_id)
    for device in trusted(fleet).values():
        groups[device.device_type, declared.get(device.device_id)].append(device.device_id)
    lately = {one.device_id for one in recent(fleet, 1) if one.via is None}
    since_ms = ASKED_AT_MS - DAY_MS
    earlier = (one for one in recent(fleet, 2) if one.received_ms <= since_ms)
    before = {one.device_id for one in earlier if one.via is None}
    rows = [
        {
            "device_type": device_type,
            "firmware": firmware,
            "registered": len(its),
            "reported_before": len(before & {*its}),
            "reported": len(lately & {*its}),
            "share": len(lately & {*its}) / len(its),
            "change": len(lately & {*its}) - len(before & {*its}),
        }
        for (device_type, firmware), its in groups.items()
    ]
    return sorted(rows, key=lambda row: (row["change"], -row["registered"], row["device_type"]))


def outsized(fleet: KnownFleet, days: int, *, times_min: int, bytes_min: int) -> list[Row]:
    messages = recent(fleet, days)
    by_stream = _grouped(messages, lambda one: one.stream)
    usual = {
        stream: quantile(sorted(one.body_bytes for one in some), 0.5)
        for stream, some in by_stream.items()
    }
    rows = []
    for (device_id, stream), some in _grouped(
        messages, lambda one: (one.device_id, one.stream)
    ).items():
        latest = max(some, key=lambda one: one.received_ms)
        largest, its_usual = max(one.body_bytes for one in some), usual[stream]
        count = sum(one.body_bytes >= times_min * its_usual for one in some)
        if count and largest >= bytes_min:
            rows.append(
                {
                    "device_id": device_id,
                    "device_type": latest.device_type,
                    "firmware": latest.firmware,
                    "stream": stream,
                    "messages": len(some),
                    "outsized": count,
                    "largest_bytes": largest,
                    "usual_bytes": its_usual,
                }
            )
    return sorted(
        rows,
        key=lambda row: (
            -row["largest_bytes"] / row["usual_bytes"],
            row["device_id"],
            row["stream"],
        ),
    )


def silent(fleet: KnownFleet, days: int) -> list[Row]:
    itself = {one.device_id for one in recent(fleet, days) if one.via is None}
    own, brought = dict[str, int](), dict[str, int]()
    for one in sorted(fleet.sent, key=lambda one: one.received_ms):
        (own if one.via is None else brought)[one.device_id] = one.received_ms
    rows = [
        {
            "device_id": device.device_id,
            "device_type": device.device_type,
            "status": device.status.value,
            "gateway_id": device.gateway_id,
            "registered_ms": device.registered_ms,
            "last_ms": own.get(device.device_id),
            "gateway_ms": brought.get(device.device_id),
            "silent_ms": ASKED_AT_MS - own[device.device_id] if device.device_id in own else None,
        }
        for device in trusted(fleet).values()
        if device.device_id not in itself and device.registered_ms <= ASKED_AT_MS - days * DAY_MS
    ]
    return sorted(rows, key=lambda row: (-(row["last_ms"] or 0), row["device_id"]))


def late(fleet: KnownFleet, days: int, *, over_ms: int) -> list[Row]:
    by_device = defaultdict[str, list[Sent]](list)
    for one in recent(fleet, days):
        if one.lag_ms is not None:
            by_device[one.device_id].append(one)
    rows = []
    for device_id, messages in by_device.items():
        lags = sorted(one.lag_ms or 0 for one in messages)
        late_messages = sum(lag > over_ms for lag in lags)
        latest = max(messages, key=lambda one: one.received_ms)
        if len(lags) >= 5 and late_messages * 2 >= len(lags):
            rows.append(
                {
                    "device_id": device_id,
                    "device_type": latest.device_type,
                    "messages": len(lags),
                    "late": late_messages,
                    "median_lag_ms": quantile(lags, 0.5),
                    "share": late_messages / len(lags),
                    "gateway_id": latest.via,
                }
            )
    return sorted(
        rows,
        key=lambda row: (-row["late"] / row["messages"], -row["median_lag_ms"], row["device_id"]),
    )


def binned(values: Iterable[int], bounds: tuple[int, ...]) -> list[Row]:
    counts = Counter(sum(value > bound for bound in bounds) for value in values)
    ends, total = (None, *bounds, None), counts.total()
    return [
        {
            "low": ends[at],
            "high": ends[at + 1],
            "messages": counts[at],
            "share": counts[at] / total if total else None,
        }
        for at in range(len(bounds) + 1)
    ]


def lags(fleet: KnownFleet, days: int, bounds: tuple[int, ...]) -> list[Row]:
    return binned((one.lag_ms for one in recent(fleet, days) if one.lag_ms is not None), bounds)


def sizes(fleet: KnownFleet, days: int) -> Row:
    values = sorted(one.body_bytes for one in recent(fleet, days))
    return {
        "count": len(values),
        "total": sum(values),
        "p50": quantile(values, 0.5),
        "p95": quantile(values, 0.95),
        "p99": quantile(values, 0.99),
        "max": values[-1],
    }


def by_firmware(fleet: KnownFleet, days: int) -> list[Row]:
    groups = _grouped(recent(fleet, days), lambda one: one.firmware)
    rows = []
    for firmware, messages in groups.items():
        parked = [one.final for one in messages if one.final and one.final.outcome == "parked"]
        malformed = sum(final.reason == "malformed" for final in parked)
        rows.append(
            {
                "firmware": firmware,
                "messages": len(messages),
                "malformed": malformed,
                "parked": len(parked),
                "malformed_share": malformed / len(messages),
            }
        )
    return sorted(
        rows,
        key=lambda row: (
            -row["malformed"] / row["messages"],
            -row["messages"],
            row["firmware"] or "~",
        ),
    )


def parse_times(fleet: KnownFleet, days: int) -> list[Row]:
    since_ms = ASKED_AT_MS - days * DAY_MS
    times = defaultdict[str, list[int]](list)
    for one in fleet.sent:
        for attempt in one.attempts:
            is_in_window = (
                day_of(one.received_ms) >= day_of(since_ms)
                and since_ms < attempt.parsed_ms <= ASKED_AT_MS
            )
            ran = attempt.parse_us > 0 or attempt.outcome in ("parsed", "empty")
            if is_in_window and ran and attempt.parser is not None and attempt.put_off is None:
                times[attempt.parser].append(attempt.parse_us)
    rows = [
        {
            "parser": parser,
            "attempts": len(took),
            "p50_us": quantile(sorted(took), 0.5),
            "p95_us": quantile(sorted(took), 0.95),
            "p99_us": quantile(sorted(took), 0.99),
            "max_us": max(took),
        }
        for parser, took in times.items()
    ]
    return sorted(rows, key=lambda row: (-row["p95_us"], row["parser"]))


def compression(fleet: KnownFleet, days: int) -> list[Row]:
    since = day_of(ASKED_AT_MS - days * DAY_MS)
    messages = [one for one in fleet.sent if day_of(one.received_ms) >= since]
    rows = []
    for stream, some in _grouped(messages, lambda one: one.stream).items():
        unpacked = [(one, one.final) for one in some if one.final and one.final.inflated_bytes]
        body_bytes = sum(one.body_bytes for one, _ in unpacked)
        inflated_bytes = sum(final.inflated_bytes for _, final in unpacked)
        output_bytes = sum(one.final.output_bytes for one in some if one.final)
        rows.append(
            {
                "stream": stream,
                "messages": len(some),
                "body_bytes": body_bytes,
                "inflated_bytes": inflated_bytes,
                "output_bytes": output_bytes,
                "ratio": inflated_bytes / body_bytes if body_bytes else None,
                "output_ratio": output_bytes / body_bytes if body_bytes else None,
            }
        )
    return sorted(rows, key=lambda row: (-row["body_bytes"], row["stream"]))


def gaps(fleet: KnownFleet, days: int, *, gap_min_ms: int) -> list[Row]:
    groups = _grouped(recent(fleet, days), lambda one: (one.device_id, one.stream))
    rows = []
    for (device_id, stream), messages in groups.items():
        spans = sorted(
            (one.start_ms, one.end_ms)
            for one in messages
            if one.start_ms is not None and one.end_ms is not None and one.start_ms <= one.end_ms
        )
        covered_to = spans[0][1] if spans else 0
        for start_ms, end_ms in spans:
            if start_ms - covered_to >= gap_min_ms:
                rows.append(
                    {
                        "device_id": device_id,
                        "stream": stream,
                        "from_ms": covered_to,
                        "to_ms": start_ms,
                        "length_ms": start_ms - covered_to,
                    }
                )
            covered_to = max(covered_to, end_ms)
    return sorted(
        rows, key=lambda row: (-row["length_ms"], row["device_id"], row["stream"], row["from_ms"])
    )


def days_of(fleet: KnownFleet, device_id: str, days: int) -> list[Row]:
    its = [one for one in recent(fleet, days) if one.device_id == device_id]
    groups = _grouped(its, lambda one: (day_of(one.received_ms), one.stream))
    rows: list[Row] = []
    for (day, stream), messages in groups.items():
        outcomes = Counter(one.final.outcome for one in messages if one.final)
        newest = max(messages, key=lambda one: one.received_ms)
        rows.append(
            {
                "day": day,
                "stream": stream,
                "messages": len(messages),
                "body_bytes": sum(one.body_bytes for one in messages),
                "through_gateway": sum(one.via is not None for one in messages),
                "firmware": newest.firmware,
                "parsed": outcomes["parsed"],
                "empty": outcomes["empty"],
                "parked": outcomes["parked"],
                "last_ms": newest.received_ms,
            }
        )
    return sorted(
        sorted(rows, key=lambda row: row["stream"]), key=lambda row: row["day"], reverse=True
    )


def quantile(values: Sequence[int], share: float) -> int:
    """The least of the sorted values which at least ``share`` of them do not exceed."""
    return values[max(ceil(share * len(values)) - 1, 0)]


def _grouped[Key](messages: Iterable[Sent], key: Callable[[Sent], Key]) -> dict[Key, list[Sent]]:
    groups = defaultdict[Key, list[Sent]](list)
    for one in messages:
        groups[key(one)].append(one)
    return groups
