"""What each page of the console shows; how, its template says."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from clients.devices.registry import RegisteredDevice, UnknownDeviceError
from clients.devices.sightings import Sighting
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.flows.files import PublishedFlows
from fleetlane.events.flows.flow import Flow
from fleetlane.events.times import DAY_MS, now_ms
from operations.console.kept import Kept
from operations.fleet import devices, traffic
from operations.fleet.canaries import canaries_of
from operations.fleet.fleet import HISTORY_DAYS
from operations.fleet.issues import ISSUES
from operations.fleet.objectives import OBJECTIVE_DAYS, objectives_of
from operations.fleet.questions import Question, Table
from operations.fleet.wording import counted
from operations.flows.graph import FlowGraph, Kind
from operations.lake import fleet_of, lake_of
from operations.lanes.status import KafkaPositions, Status, status_of
from operations.ledger.standing import standing_ledger
from operations.messages.newest import newest_events
from operations.messages.trace import message_trace
from operations.platform import Platform
from operations.report.page import REPORT_DAYS, report_of

LINKS: Final = {
    "device_id": "/devices/",
    "gateway_id": "/devices/",
    "stream": "/flows/",
    "id": "/messages/",
}
"""Where a table's values lead, by their keys."""

_LINKED: Final = {Kind.FLOW: LINKS["stream"], Kind.PARKED: "/", Kind.OWNER: "/?owner="}
_FLOWS_DRAWN_MAX: Final = 40
_MESSAGE: Final = re.compile("1[0-9a-f]{7,32}(-.*)?")
_FRESH_S: Final = {"s3": 2.0, "kafka": 2.0, "lake": 30.0, "topics": 15.0}
_OLD_S: Final = 60.0
_EVENTS_SHOWN: Final = 10
_NO_KAFKA: Final = "Kafka cannot be reached from here, and what is in it is not shown."


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page: ``notes`` first, then ``tables`` or what its own template makes of ``shown``."""

    title: str
    template: str = "tables.html.j2"
    shown: Mapping[str, object] = field(default_factory=dict)
    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()


class Pages:
    """All pages of one platform; without ``has_kafka`` what S3, DynamoDB and the lake have.

    For use by several threads. A part that cannot be read says so on its page. What was asked for
    and is not there raises a ``FleetlaneError``.
    """

    def __init__(self, platform: Platform, *, has_kafka: bool = True) -> None:
        self._platform, self._has_kafka = platform, has_kafka
        self._kept = Kept(_FRESH_S, old_s=_OLD_S)
        self._publisher, self._devices = platform.publisher, platform.devices

    @cached_property
    def _kafka(self) -> KafkaPositions:
        resources = self._platform.resources
        return KafkaPositions(resources.kafka_bootstrap_servers, resources.kafka_security)

    def flows(self, *, lane: str = "", owner: str = "", search: str = "") -> Page:
        """Of a lane, of an owner, whose stream has a text in it."""
        notes: list[str] = []
        known, status = self._published().flows, self._status(notes)
        shown = [
            one
            for one in known
            if lane in {"", one.lane} and owner in {"", one.owner} and search in one.stream
        ]
        return Page(
            title="Flows",
            template="flows.html.j2",
            notes=notes,
            shown={
                "flows": shown,
                "status": status,
                "picture": picture_of(shown, status),
                "lanes": sorted({one.lane for one in known}),
                "owners": sorted({one.owner for one in known}),
                "chosen": {"lane": lane, "owner": owner, "search": search},
            },
        )

    def flow(self, stream: str) -> Page:
        """One that is in force; raises ``NoSuchFlowError``."""
        published, notes = self._published(), list[str]()
        if stream not in published.by_stream:
            self._publisher.check_stream(stream)
        flow, status = published.by_stream[stream], self._status(notes)
        shown = {
            "flow": flow,
            "version": published.version,
            "picture": picture_of([flow], status),
            "events": _read(notes, lambda: self._newest(stream)) if self._has_kafka else None,
        }
        tables = list(self._asked(notes, ISSUES, stream=stream))
        if flow.has_canaries:
            tables += self._asked(notes, canaries_of(flow), days=1, stream=stream)
        if flow.objective is not None:
            tables += self._asked(notes, objectives_of([flow]), days=OBJECTIVE_DAYS, stream=stream)
        title, template = f"Flow {stream}", "flow.html.j2"
        return Page(title=title, template=template, shown=shown, tables=tables, notes=notes)

    def devices(self) -> Page:
        notes: list[str] = []
        found = self._asked(notes, devices.COVERAGE, devices.SILENT, traffic.LATE)
        return Page(title="Devices", tables=found, notes=notes)

    def device(self, given: str) -> Page:
        """``given`` is an id, or how it begins; raises ``UnknownDeviceError``."""
        notes, stores = list[str](), self._devices

        def known() -> tuple[str, RegisteredDevice | None, Sighting | None]:
            device_id = stores.named(given)
            return device_id, stores.registry.find(device_id), stores.sightings.find(device_id)

        device_id, registered, seen = self._kept("s3", ("device", given), known)
        asked = (devices.DEVICE_DAYS, devices.GAPS)
        found = self._asked(notes, *asked, days=HISTORY_DAYS, device_id=device_id)
        if registered is None and not any(one.rows for one in found):
            raise UnknownDeviceError(device_id)
        read = stores.overrides.read
        overrides = _read(notes, lambda: self._kept("s3", "overrides", read))
        shown = {
            "device": registered,
            "seen": seen,
            "held": overrides and overrides.restriction(device_id, now_ms=now_ms()),
        }
        title, template = f"Device {device_id}", "device.html.j2"
        return Page(title=title, template=template, shown=shown, tables=found, notes=notes)

    def message(self, wanted_id: str) -> Page:
        """Of a stage's topics the last day is read: they hold too much to read them all.

        Raises ``NoTraceError``, ``AmbiguousIdError`` or ``KafkaUnreadableError``.
        """
        if not self._has_kafka:
            return Page(title=f"Message {wanted_id}", notes=[_NO_KAFKA])
        since_ms = None if self._platform.is_laptop else now_ms() - DAY_MS
        store = self._platform.messages.records()
        trace = self._kept(
            "topics", wanted_id, lambda: message_trace(store, wanted_id, since_ms=since_ms)
        )
        title, template = f"Message {trace.raw_id}", "message.html.j2"
        return Page(title=title, template=template, shown={"trace": trace})

    def parked(self) -> Page:
        notes: list[str] = []
        found = self._asked(notes, ISSUES)
        return Page(title="Parked", template="parked.html.j2", tables=found, notes=notes)

    def ledger(self) -> Page:
        notes: list[str] = []
        found = _read(notes, lambda: self._kept("lake", "ledger", self._ledger))
        return Page(title="Ledger", tables=found or (), notes=notes)

    def report(self) -> str:
        """The fleet report, an HTML document of its own; raises what the lake raises."""
        return self._kept("lake", "report", self._report)

    def path_of(self, wanted: str) -> str:
        """Where what is looked for has its page: a stream, a message's id, else a device's."""
        known = self._published().by_stream
        key = "stream" if wanted in known else "id" if _MESSAGE.fullmatch(wanted) else "device_id"
        return LINKS[key] + wanted if wanted else "/"

    def _published(self) -> PublishedFlows:
        return self._kept("s3", "flows", self._publisher.current)

    def _status(self, notes: list[str]) -> Status | None:
        if not self._has_kafka:
            notes.append(_NO_KAFKA)
            return None

        def kept() -> Status:
            return self._kept("kafka", "status", lambda: status_of(self._kafka, now_ms=now_ms()))

        return _read(notes, kept)

    def _newest(self, stream: str) -> object:
        def found() -> object:
            return newest_events(self._kafka, stream, events_max=_EVENTS_SHOWN)

        return self._kept("kafka", ("events", stream), found)

    def _asked(
        self, notes: list[str], *questions: Question, days: int = REPORT_DAYS, **given: object
    ) -> Sequence[Table]:
        def answered() -> Sequence[Table]:
            with fleet_of(self._platform, asked_at_ms=now_ms()) as fleet:
                return [fleet.ask(one, days=days, **given) for one in questions]

        key = (*(one.name for one in questions), *given.items())
        return _read(notes, lambda: self._kept("lake", key, answered)) or ()

    def _ledger(self) -> Sequence[Table]:
        with lake_of(self._platform) as catalog:
            return standing_ledger(catalog, since_ms=now_ms() - DAY_MS).shown()[::-1]

    def _report(self) -> str:
        with fleet_of(self._platform, asked_at_ms=now_ms()) as fleet:
            return report_of(fleet)


def _read[T](notes: list[str], found: Callable[[], T]) -> T | None:
    """What cannot be read is a note on the page, and all else is shown."""
    try:
        return found()
    except FleetlaneError as problem:
        notes.append(str(problem))
        return None


def picture_of(flows: Collection[Flow], status: Status | None) -> str:
    """The flows' graph, and what each lane and flow did in the last minute, where it is known.

    Many are drawn by their owners: a choice of one draws its flows.
    """
    is_many = len(flows) > _FLOWS_DRAWN_MAX
    notes, rates = {}, defaultdict[str, float](float)
    if status is not None:
        for lane in status.lanes:
            notes[f"lane/{lane.lane}"] = f"{lane.parsed_per_s:.1f}/s, {lane.waiting:,} waiting"
        for flow in flows:
            parsed_per_s, _ = status.rates_of(flow.stream)
            rates[flow.owner] += parsed_per_s
            notes[f"flow/{flow.stream}"] = f"{parsed_per_s:.1f}/s, {flow.owner}"
    for owner, count in Counter(one.owner for one in flows).items():
        notes[f"owner/{owner}"] = f"{counted(count, 'flow')}, {rates[owner]:.1f}/s"
    return FlowGraph.of(flows, by_owner=is_many).noted(notes).as_svg(_LINKED)
