"""Ten known messages through the door of a platform, and what became of each, step by step."""

import json
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pyiceberg.catalog import Catalog

from clients.device_api import DeviceKey
from clients.devices.canary import Canary
from clients.lake.laptop_lake import LakeMissingError
from fleetlane.events import canary
from fleetlane.events.canary import CanaryMessage, messages_to_verify
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.lake.tables import EVENTS, PARSED, LakeTable
from fleetlane.events.metadata import Outcome
from fleetlane.events.names import audience_of
from fleetlane.events.times import day_of
from operations.devices.canary import canary_device
from operations.endpoints import LAPTOP, LOCAL_STAGE
from operations.fleet.tables import day_since, table_of
from operations.lake import fleet_of, lake_of
from operations.ledger.standing import StandingLedger, standing_ledger
from operations.platform import Platform
from operations.report.page import write_report

DEADLINE_S: Final = 1_200.0
"""A job's cold start, a trigger of the lake's, and the standing ledger's next round."""

_LOOK_EVERY_S: Final = 2.0
_OF_VERIFIER: Final = f"device_id = '{canary.VERIFIER_ID}'"
_OF_STREAMS: Final = f"stream in {tuple(sorted(canary.STREAMS))}"

type Row = dict[str, Any]


class NotVerifiedError(FleetlaneError):
    """A step did not come out as it must."""

    problem: str
    sentence = "not verified: {problem}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """Sends as a device of its own, which is none of the fleet, and reads the lake, but no broker.

    All steps together wait until ``deadline_s`` after ``began_s``, by ``clock_s``, a time of day.
    """

    platform: Platform
    deadline_s: float = DEADLINE_S
    clock_s: Callable[[], float] = time.time
    wait: Callable[[float], None] = time.sleep
    began_s: float = field(default_factory=time.time)

    def lines(self) -> Iterator[str]:
        """Run step by step, and say of each what it expects, and then what came. Blocks.

        Ends with the ``FleetlaneError`` of a step that failed: those after it rely on it.
        """
        messages = messages_to_verify(int(self.began_s * 1_000))
        lanes = Counter(one.lane for one in messages)
        sent = ", ".join(f"{number} {lane}" for lane, number in lanes.items())
        steps: list[tuple[str, Callable[[Sequence[CanaryMessage]], str]]] = [
            ("flows: the canary's are in force", self._flows),
            (f"door: 202 for {len(messages)} messages ({sent}), each by its id", self._sent),
            ("canonical: each is parsed, and was first tried in its lane", self._parsed),
            ("lake: it has one event of each, with what was sent", self._kept),
            ("ledger: the standing ledger has counted since, and misses none", self._counted),
            ("report: a page about the fleet is written", self._reported),
        ]
        if self.platform.resources.stage not in (LAPTOP, LOCAL_STAGE):
            steps.append(("alarms: somebody is notified, and none is raised", self._notified))
        for expected, run in steps:
            yield f"expected  {expected}"
            step_began_s = self.clock_s()
            came = run(messages)
            yield f"{self.clock_s() - step_began_s:6.1f} s  {came}"
        yield f"verified in {self.clock_s() - self.began_s:.0f} s"

    def _flows(self, _: Sequence[CanaryMessage]) -> str:
        current = self.platform.publisher.current()
        missing = sorted(canary.STREAMS - set(current.by_stream))
        if missing:
            raise NotVerifiedError(f"no flow in force for {', '.join(missing)}: deploy, or publish")
        return f"version {current.version}, {len(current.flows)} flows"

    def _sent(self, messages: Sequence[CanaryMessage]) -> str:
        key, stores, now_ms = DeviceKey.generate(), self.platform.devices, self._now_ms()
        stage = LOCAL_STAGE if self.platform.is_laptop else self.platform.resources.stage
        api = self.platform.resources.api_url.rstrip("/")
        stores.registry.register(canary_device(key, canary.VERIFIER_ID, now_ms=now_ms))
        try:
            device = Canary(api_url=api, key=key, audience=audience_of(stage))
            accepted = device.send_all(messages, now_ms=now_ms).checked()
        finally:
            stores.registry.remove(canary.VERIFIER_ID)
        return f"{len(accepted)} accepted by {api}"

    def _parsed(self, messages: Sequence[CanaryMessage]) -> str:
        rows = self._rows(
            PARSED, _OF_VERIFIER, "id", messages, is_enough=lambda found: any(map(_is_final, found))
        )
        slowest_ms = Counter[str]()
        for one in messages:
            attempts = sorted(rows[one.raw_id], key=lambda row: row["attempt"])
            first, last = attempts[0], next(filter(_is_final, attempts))
            if first["lane"] != one.lane or last["outcome"] != Outcome.PARSED:
                ended = ", ".join(filter(None, (last["outcome"], last["reason"])))
                raise NotVerifiedError(f"{_named(one)} came to lane {first['lane']}: {ended}")
            took_ms = last["parsed_ms"] - last["received_ms"]
            slowest_ms[one.lane] = max(slowest_ms[one.lane], took_ms)
        took = ", ".join(f"{lane} {ms / 1_000:.1f} s" for lane, ms in slowest_ms.items())
        return f"{len(rows)} parsed; arrival to canonical at most: {took}"

    def _kept(self, messages: Sequence[CanaryMessage]) -> str:
        rows = self._rows(EVENTS, _OF_STREAMS, "raw_id", messages, is_enough=bool)
        for one in messages:
            contents = [json.loads(row["data"]) for row in rows[one.raw_id]]
            if contents != [one.content]:
                raise NotVerifiedError(f"of {_named(one)} the lake has {contents}")
        return f"{len(rows)} events"

    def _counted(self, messages: Sequence[CanaryMessage]) -> str:
        ids, asked_ms = {one.raw_id for one in messages}, self._now_ms()

        def is_counted(found: StandingLedger) -> bool:
            for lost in found.missing:
                if lost["id"] in ids:
                    raise NotVerifiedError(f"{lost['id']} is missing: {lost['problem']}")
            return any(one["checked_ms"] > asked_ms for one in found.hours)

        found = self._awaited(
            lambda catalog: standing_ledger(catalog, since_ms=int(self.began_s * 1_000)),
            is_counted,
            lambda _: "the standing ledger was not written since the messages came into the lake",
        )
        return found.line()

    def _reported(self, _: Sequence[CanaryMessage]) -> str:
        with (
            fleet_of(self.platform, asked_at_ms=self._now_ms()) as fleet,
            tempfile.TemporaryDirectory() as folder,
        ):
            page = Path(folder, "fleet.html")
            write_report(fleet, page)
            return f"{page.stat().st_size:,} bytes"

    def _notified(self, _: Sequence[CanaryMessage]) -> str:
        alarms = self.platform.alarms
        confirmed, pending = alarms.listeners()
        if not confirmed:
            cause = f"{pending} wait to be confirmed by mail" if pending else "set alarm_email"
            raise NotVerifiedError(f"alarms notify nobody: {cause}")
        states = alarms.states()
        while raised := sorted(name for name, state in states.items() if state == "ALARM"):
            if self._is_over():
                raise NotVerifiedError(f"alarms are raised: {', '.join(raised)}")
            self.wait(_LOOK_EVERY_S)
            states = alarms.states()
        return f"{len(states)} alarms, {confirmed} notified, {pending} yet to confirm"

    def _rows(
        self,
        table: LakeTable,
        where: str,
        key: str,
        messages: Sequence[CanaryMessage],
        *,
        is_enough: Callable[[list[Row]], bool],
    ) -> Mapping[str, list[Row]]:
        """Rows of the messages by id, as soon as those of each are enough."""
        since = day_since(day_of(int(self.began_s * 1_000)))

        def read(catalog: Catalog) -> Mapping[str, list[Row]]:
            by_id: dict[str, list[Row]] = {one.raw_id: [] for one in messages}
            found = f"{where} and {since} and {key} in ({', '.join(map(repr, by_id))})"
            for row in table_of(catalog, table).scan(row_filter=found).to_arrow().to_pylist():
                by_id[row[key]].append(row)
            return by_id

        def problem(rows: Mapping[str, list[Row]] | None) -> str:
            waiting = [one for one in messages if not is_enough((rows or {}).get(one.raw_id, []))]
            return f"not in the lake's {table.name} in time: {'; '.join(map(_named, waiting))}"

        return self._awaited(read, lambda rows: all(map(is_enough, rows.values())), problem)

    def _awaited[Found](
        self,
        read: Callable[[Catalog], Found],
        is_enough: Callable[[Found], bool],
        problem: Callable[[Found | None], str],
    ) -> Found:
        while True:
            is_last, found = self._is_over(), None
            with suppress(LakeMissingError), lake_of(self.platform) as catalog:
                found = read(catalog)
                if is_enough(found):
                    return found
            if is_last:
                raise NotVerifiedError(problem(found))
            self.wait(_LOOK_EVERY_S)

    def _is_over(self) -> bool:
        return self.clock_s() > self.began_s + self.deadline_s

    def _now_ms(self) -> int:
        return int(self.clock_s() * 1_000)


def _is_final(attempt: Row) -> bool:
    return bool(attempt["outcome"] != Outcome.DIVERTED)


def _named(message: CanaryMessage) -> str:
    return f"{message.raw_id} ({message.route}, lane {message.lane})"
