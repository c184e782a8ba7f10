"""Messages whose every hop is known, and a plain count of what was late and why."""

import random
from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

from fleetlane.events.flows.files import flow_from_toml
from fleetlane.events.flows.flow import Flow
from fleetlane.events.times import HOUR_MS, day_of

NOW_MS: Final = 1_794_000_000_000
LIMITS_MS: Final = {"gps": {"canonical": 5_000, "lake": 60_000}, "door": {"canonical": 2_000}}
FLOWS: Final[tuple[Flow, ...]] = tuple(
    flow_from_toml(text, file="flow.toml")
    for text in (
        'stream = "gps"\nowner = "a"\nobjective = { canonical_s = 5, lake_s = 60 }\n'
        '[[parsers]]\nuse = "json"\n',
        'stream = "door"\nowner = "b"\nobjective = { canonical_s = 2, share = 0.9 }\n'
        '[[parsers]]\nuse = "json"\n',
        'stream = "free"\nowner = "c"\n[[parsers]]\nuse = "json"\n',
    )
)

type Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """A message, and how long each hop took it; ``None`` where it has not got so far."""

    number: int
    stream: str
    received_ms: int
    door_ms: int
    kafka_ms: int | None
    parse_ms: int
    lake_ms: int | None
    outcome: str = "parsed"

    @property
    def id(self) -> str:
        return f"1{self.number:032x}"

    @property
    def done_ms(self) -> int | None:
        if self.kafka_ms is None:
            return None
        return self.received_ms + self.door_ms + self.kafka_ms + self.parse_ms

    def received(self) -> Row:
        return {
            **self._source("raw.standard"),
            "received_ms": self.received_ms,
            "body_bytes": 3,
            "by_reference": False,
            "landed_ms": self.received_ms + self.door_ms,
        }

    def parsed(self) -> list[Row]:
        """Diverted once before, where it took a while in the parser."""
        if self.done_ms is None:
            return []
        row = {**self._source("raw.standard"), "received_ms": self.received_ms, "events": 1}
        last = {"outcome": self.outcome, "parsed_ms": self.done_ms, "inflated_bytes": 0}
        half_us = 500 * self.parse_ms
        first = {"attempt": 1, "outcome": "diverted", "parsed_ms": self.done_ms - 1}
        attempts = [first | {"parse_us": half_us, "inflated_bytes": 0}]
        return [row | one for one in (*attempts, last | {"attempt": 2, "parse_us": half_us})]

    def events(self) -> list[Row]:
        if self.lake_ms is None or self.done_ms is None or self.outcome != "parsed":
            return []
        came = {"arrival_ms": self.received_ms, "lake_ms": self.done_ms + self.lake_ms}
        of_parser = {"time_quality": "ok", "parser": "json@1", "revision": 0, "data": "{}"}
        source = {name: self._source("")[name] for name in ("stream", "day", "device_id")}
        return [source | came | of_parser | {"id": f"{self.id}-0", "raw_id": self.id}]

    def _source(self, topic: str) -> Row:
        return {
            "day": day_of(self.received_ms),
            "id": self.id,
            "device_id": "d-1",
            "stream": self.stream,
            "lane": "standard",
            "source_topic": topic,
            "source_partition": 0,
            "source_offset": self.number,
        }


def known_messages(*, seed: int, count: int, since_ms: int, until_ms: int) -> list[Timed]:
    """Messages of every kind; the last arrives at ``until_ms``, and is in time."""
    chance = random.Random(seed)  # noqa: S311 - the same messages each time
    found = [
        Timed(
            number=seed * 1_000_000 + number,
            stream=chance.choice(("gps", "door", "free")),
            received_ms=chance.randrange(since_ms, until_ms),
            door_ms=chance.choice((10, 10, 10, 9_000)),
            kafka_ms=chance.choice((400, 400, 700, 8_001, None)),
            parse_ms=chance.choice((2, 2, 6_002)),
            lake_ms=chance.choice((20_001, 20_001, 70_003, None)),
            outcome=chance.choice(("parsed", "parsed", "parsed", "empty", "parked")),
        )
        for number in range(count)
    ]
    last = Timed(
        number=seed * 1_000_000 + count,
        stream="free",
        received_ms=until_ms,
        door_ms=1,
        kafka_ms=1,
        parse_ms=0,
        lake_ms=1,
    )
    return [*found, last]


def judged(messages: list[Timed]) -> dict[tuple[str, str, int], Counter[str]]:
    """By stream, objective and hour: how many count, how many are late, and by which hop."""
    latest_ms = max(one.received_ms for one in messages)
    found: dict[tuple[str, str, int], Counter[str]] = {}
    for one in messages:
        if one.outcome == "parked" and one.done_ms is not None:
            continue
        for objective, limit_ms in LIMITS_MS.get(one.stream, {}).items():
            if objective == "lake" and one.done_ms is not None and one.outcome != "parsed":
                continue
            of_hour = found.setdefault((one.stream, objective, _hour(one)), Counter())
            of_hour += _counts(one, objective, limit_ms, latest_ms)
    return {key: counts for key, counts in found.items() if counts}


def _hour(one: Timed) -> int:
    return one.received_ms - one.received_ms % HOUR_MS


def _counts(one: Timed, objective: str, limit_ms: int, latest_ms: int) -> Counter[str]:
    reached_ms = one.done_ms
    if objective == "lake" and one.done_ms is not None:
        reached_ms = None if one.lake_ms is None else one.done_ms + one.lake_ms
    took_ms = (latest_ms if reached_ms is None else reached_ms) - one.received_ms
    if took_ms <= limit_ms:
        return Counter(messages=1) if reached_ms is not None else Counter()
    parser_ms = one.parse_ms if one.done_ms is not None else 0
    hops = {"door": one.door_ms, "parser": parser_ms}
    until_ms = latest_ms if one.done_ms is None else one.done_ms
    hops["kafka"] = until_ms - one.received_ms - one.door_ms - parser_ms
    if objective == "lake" and one.done_ms is not None:
        hops["lake"] = one.received_ms + took_ms - one.done_ms
    hop = max(hops, key=lambda name: hops[name])
    return Counter({"messages": 1, "late": 1, f"late_by_{hop}": 1})
