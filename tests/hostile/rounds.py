"""Rounds with and without attackers, in turn, and what the honest devices' messages took."""

import contextlib
import io
import re
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.latency.percentiles import percentiles
from clients.devices.registry import RegistryUnavailableError
from clients.kafka.reader import KafkaReader
from fleetlane.cli.output.fleet_tables import FormatOptions
from fleetlane.events.canonical import canonical_event_from
from fleetlane.events.envelope import SOURCE_PREFIX, Record
from fleetlane.events.flows.flow import Flow, ParserRule
from fleetlane.events.overrides import RateLimits
from fleetlane.events.times import millis_from_rfc3339, now_ms
from fleetlane.events.topics import FLEET_PARSED, canonical_topic
from local.platform import Platform, PlatformSettings
from local.simulator.http_api import HttpApi
from local.spark.jobs import jobs_of
from operations.fleet import traffic
from operations.lake import fleet_of
from operations.ledger.evidence import LEDGER_TOPICS, Evidence, deduped_streams
from operations.ledger.reconciliation import Ledger, SettlingLimits
from tests.e2e.conftest import RunningPlatform, running_platform
from tests.hostile.attacks import ESCAPES_STREAM, KEPT_FILE, attacks
from tests.hostile.report import HostileReport, Round
from tests.hostile.senders import HONEST_PREFIX, Traffic, registered
from tests.soak.backlog import Observer
from tests.soak.report import tell
from tests.team_artifacts import team_artifact
from tests.unit.parsers.sandbox import escaping_parser

ROUNDS: Final = 3
HONEST: Final = 1_000
EVERY_S: Final = 30.0
_WARM_UP_S: Final = 40.0
_PHASE_S: Final = 60.0
_UNMEASURED_S: Final = 5.0
_CALM_S_MAX: Final = 60.0
_CALM_CHECK_S: Final = 5.0
_HONEST_DONE_S: Final = 2.0
"""What the honest sent last has its outcome by then: it is not what is waited for."""
_CALM_WAITING_MAX: Final = 20
_SETTLING: Final = SettlingLimits(deadline_s=900.0, quiet_s=420.0)
_LAKE_SETTLING: Final = SettlingLimits(deadline_s=300.0, quiet_s=300.0, poll_interval_s=10.0)
_LIMITS_OF_AWS: Final = RateLimits(soft_per_minute=600, hard_per_minute=1_200)
_SLOW_PARSE_MS_MAX: Final = 600
"""A parser that hangs takes it three times: what four attacks leave has to end within minutes."""
_JOBS: Final = {
    application: re.sub(r" --trigger_ms \d+", "", jobs)
    for application, jobs in jobs_of(slow_parse_ms_max=_SLOW_PARSE_MS_MAX).items()
}
"""With the triggers of a stage: a laptop's are shorter, for who waits for a message of theirs."""
_CONNECTIONS: Final = 32
_SECRET: Final = b"what no parser may know"
_GPS: Final = canonical_topic("gps")
_ESCAPES: Final = canonical_topic(ESCAPES_STREAM)
_WATCHED_TOPICS: Final = rf"raw\..+|{FLEET_PARSED}|{_GPS}|{_ESCAPES}"
_HEALTH_WITHIN_S: Final = 120.0


class Arrivals(Observer):
    """Notes what waits, and when each honest device's event was written.

    What amplified messages become is left to the ledger: this process sends as well.
    """

    def __init__(self, platform: Platform) -> None:
        super().__init__(platform, Evidence(), topics=_WATCHED_TOPICS)
        self._written_ms: dict[str, tuple[int, int]] = {}
        """By the event's id: when it was sent, and when it was written."""
        self.loot: list[str] = []
        """What parsers got that tried to get out."""

    def read_available(self) -> list[Record]:
        records = super().read_available()
        for record in records:
            if record.topic in (_GPS, _ESCAPES):
                self._note(record)
        return records

    def between(self, since_ms: int, until_ms: int) -> dict[str, int]:
        """What those that were sent in a time took."""
        found = list(self._written_ms.values())
        return percentiles([at - sent for sent, at in found if since_ms <= sent < until_ms])

    def _note(self, record: Record) -> None:
        with contextlib.suppress(msgspec.DecodeError):
            event = canonical_event_from(record.value or b"")
            if record.topic == _ESCAPES and event.data.get("loot") is not None:
                self.loot.append(f"{event.data}")
            sent_ms = millis_from_rfc3339(event.time or "")
            if event.source.startswith(SOURCE_PREFIX + HONEST_PREFIX) and sent_ms is not None:
                self._written_ms.setdefault(event.id, (sent_ms, record.timestamp_ms))


@dataclass(slots=True, kw_only=True)
class HostileRun:
    """One run on a running platform."""

    running: RunningPlatform
    arrivals: Arrivals
    traffic: Traffic
    folder: Path
    died: list[str]

    def run(self) -> HostileReport:
        """Blocks for some twenty minutes."""
        self.arrivals.start()
        self.traffic.phase(_WARM_UP_S, is_attacked=False)
        spans = []
        for _ in range(1 + ROUNDS):
            spans.append(self._round())
            self._wait_for_calm()
            tell(f"{self._measured(*spans[-1])}")
        ledger = self._ledger()
        measured = [self._measured(*one) for one in spans]
        tell(ledger.line())
        if (self.folder / KEPT_FILE).read_bytes() != _SECRET:
            self.arrivals.loot.append("the secret was changed")
        return HostileReport(
            first=measured[0],
            rounds=tuple(measured[1:]),
            answers={name: dict(counted) for name, counted in self.traffic.answers.items()},
            honest_sent=self.traffic.honest_sent,
            honest_refused=self.traffic.honest_refused,
            died=tuple(self.died),
            loot=tuple(self.arrivals.loot),
            health=self._health(),
            ledger=ledger,
        )

    def _measured(self, calm: "_Span", attacked: "_Span") -> Round:
        return Round(calm=self.arrivals.between(*calm), attacked=self.arrivals.between(*attacked))

    def _round(self) -> "tuple[_Span, _Span]":
        return self._phase(is_attacked=False), self._phase(is_attacked=True)

    def _phase(self, *, is_attacked: bool) -> "_Span":
        """From when to when its messages were sent; what the phase before left is done by then."""
        self._wait_for_calm()
        began_ms = now_ms()
        self.traffic.phase(_PHASE_S, is_attacked=is_attacked)
        return began_ms + round(1_000 * _UNMEASURED_S), now_ms()

    def _wait_for_calm(self) -> None:
        """The honest go on: a platform that has nothing to do for a minute ends its workers."""
        give_up_s = time.monotonic() + _CALM_S_MAX
        while time.monotonic() < give_up_s:
            self.traffic.phase(_CALM_CHECK_S, is_attacked=False)
            time.sleep(_HONEST_DONE_S)
            if sum(self.arrivals.outcomes.waiting().values()) <= _CALM_WAITING_MAX:
                return

    def _ledger(self) -> Ledger:
        self.arrivals.stop()
        platform = self.running.platform
        with closing(KafkaReader(platform.endpoints.kafka, pattern=LEDGER_TOPICS)) as reader:
            ledger = self.running.ledger_to_the_lake(
                self.traffic.receipts,
                Evidence(deduped=deduped_streams(platform.flows)),
                reader,
                limits=_SETTLING,
                lake_limits=_LAKE_SETTLING,
            )
        while self.arrivals.read_available():
            pass  # what came meanwhile counts: the last of the honest, and of what parsers got
        return ledger

    def _health(self) -> str:
        """What ``fleetlane fleet health`` prints; the registry may have much to do yet."""
        give_up_s = time.monotonic() + _HEALTH_WITHIN_S
        while True:
            try:
                return self._health_now()
            except RegistryUnavailableError:
                if time.monotonic() > give_up_s:
                    raise

    def _health_now(self) -> str:
        printed = io.StringIO()
        with (
            fleet_of(self.running.seen_by_operators, asked_at_ms=now_ms()) as fleet,
            contextlib.redirect_stdout(printed),
        ):
            table = fleet.ask(traffic.FIRMWARE, days=1)
            FormatOptions().show(table, asked_at_ms=fleet.asked_at_ms)
        return printed.getvalue()


type _Span = tuple[int, int]


def _deploy_escapes(running: RunningPlatform, folder: Path) -> None:
    """Deploy another team's parser and flow, as that team would."""
    (folder / KEPT_FILE).write_bytes(_SECRET)
    publisher = running.seen_by_operators.publisher
    code = Path(escaping_parser.__file__).read_text() + "\n\nParser = Escaping\n"
    publisher.parsers.deploy(team_artifact(folder, "escaping==1.0", code), owner="mallory")
    rule = ParserRule(use="escaping==1.0")
    publisher.publish_owners([Flow(stream=ESCAPES_STREAM, owner="mallory", parsers=(rule,))])
    time.sleep(publisher.in_force_within_s)


@contextmanager
def hostile_run(folder: Path) -> Iterator[HostileRun]:
    """Start a platform with AWS's rate limits, register all devices, and get ready."""
    died: list[str] = []
    settings = PlatformSettings(folder=folder / "data", jobs=_JOBS)
    with running_platform(settings, on_restart=died.append) as running:
        platform = running.platform
        running.seen_by_operators.devices.overrides.change(
            lambda present: present.with_rate_limits(_LIMITS_OF_AWS, device_id=None),
            now_ms=now_ms(),
        )
        _deploy_escapes(running, folder)
        hostile = attacks(folder)
        honest_ids = [f"{HONEST_PREFIX}{number:04d}" for number in range(HONEST)]
        honest = registered(honest_ids, platform.registry, types=["tracker"] * HONEST)
        attackers = registered(
            [f"hostile-{one.name}" for one in hostile],
            platform.registry,
            types=[one.device_type for one in hostile],
        )
        arrivals = Arrivals(platform)
        url = platform.endpoints.api
        with (
            closing(arrivals),
            closing(HttpApi(url, connections=_CONNECTIONS)) as honest_api,
            closing(HttpApi(url, connections=len(hostile))) as hostile_api,
        ):
            sending = Traffic(
                honest_api=honest_api,
                hostile_api=hostile_api,
                honest=honest,
                attackers=list(zip(hostile, attackers, strict=True)),
                every_s=EVERY_S,
            )
            yield HostileRun(
                running=running, arrivals=arrivals, traffic=sending, folder=folder, died=died
            )
