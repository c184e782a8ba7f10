"""Published flows as a graph: from devices by the API, lanes and parsers to topics and the lake."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from fleetlane.events.flows.flow import Flow
from fleetlane.events.lake.tables import EVENTS
from fleetlane.events.lanes import Lane
from fleetlane.events.topics import PARKED, canonical_topic, unique_topic
from operations.templates import templates_in

_ROW_PX: Final = 42
_COLUMN_PX: Final = 212
_NODE_PX: Final = 172
_NODE_HEIGHT_PX: Final = 34
_MARGIN_PX: Final = 16
_HEADER_PX: Final = 40


class Kind(StrEnum):
    """What a node is."""

    DEVICES = "devices"
    API = "api"
    RAW_TOPIC = "raw_topic"
    LANE = "lane"
    FLOW = "flow"
    OWNER = "owner"
    PARKED = "parked"
    TOPIC = "topic"
    TABLE = "table"


_COLUMNS: Final[Mapping[Kind, str]] = {
    Kind.DEVICES: "Devices",
    Kind.API: "API",
    Kind.RAW_TOPIC: "Raw topics",
    Kind.LANE: "Lanes",
    Kind.FLOW: "Flows",
    Kind.TOPIC: "Topics of events",
    Kind.TABLE: "Lake",
}
"""Of a picture. What is parked leaves its lane: it is below the flows, or the owners of many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """``id`` is unique in its graph. A picture shows ``note``, and ``about`` as a tip."""

    id: str
    kind: Kind
    label: str
    note: str = ""
    about: str = ""


@dataclass(frozen=True, kw_only=True)
class FlowGraph:
    """What is connected to what. An edge is the ids of two nodes."""

    nodes: Mapping[str, Node]
    edges: Collection[tuple[str, str]]

    @classmethod
    def of(cls, flows: Iterable[Flow], *, by_owner: bool = False) -> "FlowGraph":
        """Of flows in any order: lanes as they are quick, in them owners, and their streams.

        ``by_owner``: a node for all flows of an owner, and one for their topics of events.
        """
        made, order = _Builder(by_owner=by_owner), list(Lane)
        for flow in sorted(flows, key=lambda one: (order.index(one.lane), one.owner, one.stream)):
            made.add(flow)
        return cls(nodes=made.nodes, edges=list(dict.fromkeys(made.edges)))

    def as_json(self) -> dict[str, list[dict[str, Any]]]:
        nodes = [asdict(one) for one in self.nodes.values()]
        return {"nodes": nodes, "edges": [{"from": one, "to": two} for one, two in self.edges]}

    def as_mermaid(self) -> str:
        """Text that documents show as a picture (mermaid.js.org/syntax/flowchart.html)."""
        names = {one: f"n{number}" for number, one in enumerate(self.nodes)}
        lines = [f'  {names[one.id]}["{_quoted(one)}"]' for one in self.nodes.values()]
        lines += [f"  {names[one]} --> {names[two]}" for one, two in self.edges]
        return "\n".join(["flowchart LR", *lines]) + "\n"

    def noted(self, notes: Mapping[str, str]) -> "FlowGraph":
        """The same with other notes, by node."""
        nodes = {
            one: replace(node, note=notes.get(one, node.note)) for one, node in self.nodes.items()
        }
        return replace(self, nodes=nodes)

    def as_svg(self, links: Mapping[Kind, str] = MappingProxyType({})) -> str:
        """A picture by itself, light and dark; each node says more where it is pointed at.

        ``links`` are beginnings of addresses; the label of a node of that kind is the rest.
        """
        rows = self._rows()
        places = {
            one: (_left_px(self.nodes[one].kind), round(_HEADER_PX + row * _ROW_PX))
            for one, row in rows.items()
        }
        rows_px = _ROW_PX * (1 + max(rows.values(), default=0))
        template = templates_in(Path(__file__).parent).get_template("graph.svg.j2")
        return template.render(
            width=2 * _MARGIN_PX + _COLUMN_PX * (len(_COLUMNS) - 1) + _NODE_PX,
            height=round(_HEADER_PX + rows_px) + _MARGIN_PX,
            columns=[(_left_px(kind), title) for kind, title in _COLUMNS.items()],
            nodes=[(self.nodes[one], *place) for one, place in places.items()],
            edges=[(*places[one], *places[two]) for one, two in self.edges],
            node_px=_NODE_PX,
            node_height_px=_NODE_HEIGHT_PX,
            links=links,
        )

    def _rows(self) -> Mapping[str, float]:
        """How far down each node is, in rows: a flow by its order, all others amid what they meet.

        Column by column away from the flows; what would overlap moves down.
        """
        flows = [*self._of(Kind.FLOW), *self._of(Kind.OWNER)]
        rows = {one: float(number) for number, one in enumerate(flows)}
        parked = {one: float(len(rows)) for one in self._of(Kind.PARKED)}
        for kind in (Kind.LANE, Kind.RAW_TOPIC, Kind.API, Kind.DEVICES, Kind.TOPIC, Kind.TABLE):
            wanted = {one: self._amid(one, rows) for one in self._of(kind)}
            free = 0.0
            for one in sorted(wanted, key=lambda one: wanted[one]):
                rows[one] = max(free, wanted[one])
                free = rows[one] + 1
        return rows | parked

    def _of(self, kind: Kind) -> list[str]:
        return [one.id for one in self.nodes.values() if one.kind is kind]

    def _amid(self, node: str, rows: Mapping[str, float]) -> float:
        met = [rows[one] for one in self._neighbours[node] if one in rows]
        return sum(met) / len(met) if met else float(len(rows))

    @cached_property
    def _neighbours(self) -> Mapping[str, list[str]]:
        found = defaultdict[str, list[str]](list)
        for one, two in self.edges:
            found[one].append(two)
            found[two].append(one)
        return found


@dataclass(slots=True)
class _Builder:
    """Nodes and edges so far."""

    by_owner: bool
    nodes: dict[str, Node] = field(default_factory=dict)
    edges: list[tuple[str, str]] = field(default_factory=list)

    def add(self, flow: Flow) -> None:
        """A flow, with all that its messages and events pass."""
        api = self._node("api", Kind.API, "HTTPS API")
        types = sorted(flow.devices.types or flow.device_types)
        label = ", ".join(types) or "any device"
        devices = self._node(f"devices/{','.join(types)}", Kind.DEVICES, label)
        lane = self._node(f"lane/{flow.lane}", Kind.LANE, f"{flow.lane} lane")
        parsers = ", ".join(dict.fromkeys(rule.use for rule in flow.parsers))
        more = {"note": flow.owner, "about": f"owner {flow.owner}; parsers {parsers}"}
        if self.by_owner:
            node = self._node(f"owner/{flow.owner}", Kind.OWNER, flow.owner)
        else:
            node = self._node(f"flow/{flow.stream}", Kind.FLOW, flow.stream, **more)
        self.edges += [(devices, api), (lane, node)]
        for kind in (None, *sorted(flow.device_types)):
            raw = flow.raw_topic(flow.lane, device_type=kind)
            topic = self._node(f"topic/{raw}", Kind.RAW_TOPIC, raw)
            self.edges += [(api, topic), (topic, lane)]
        if not flow.blocks:
            self.edges.append((lane, self._node(PARKED, Kind.PARKED, PARKED)))
        own, events = canonical_topic(flow.stream), self._node("events", Kind.TABLE, EVENTS.name)
        kept = {canonical_topic(redirect.to) for redirect in flow.canonical.redirects}
        kept.add(own if flow.dedupe is None else unique_topic(flow.stream))
        for name in sorted({own, *kept}):
            topic_id, label = f"topic/{name}", name
            if self.by_owner:
                topic_id, label = f"topics/{flow.owner}", f"topics of {flow.owner}"
            topic = self._node(topic_id, Kind.TOPIC, label)
            self.edges.append((node, topic))
            if name in kept:
                self.edges.append((topic, events))

    def _node(self, name: str, kind: Kind, label: str, **more: str) -> str:
        self.nodes.setdefault(name, Node(id=name, kind=kind, label=label, **more))
        return name


def _left_px(kind: Kind) -> int:
    column = Kind.FLOW if kind in (Kind.PARKED, Kind.OWNER) else kind
    return _MARGIN_PX + _COLUMN_PX * list(_COLUMNS).index(column)


def _quoted(node: Node) -> str:
    """What Mermaid could read as its own is written by number: no name has its end in it."""
    plain = " .,/-_"
    return "".join(one if one.isalnum() or one in plain else f"#{ord(one)};" for one in node.label)
