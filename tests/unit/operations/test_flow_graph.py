"""The graph of flows: what is connected, and how it is written."""

from itertools import pairwise
from xml.etree import ElementTree as ET

from fleetlane.events.flows.files import flow_from_toml, flows_in
from fleetlane.events.flows.flow import Flow
from local.checkout import FLOWS, ROOT
from operations.flows.graph import FlowGraph, Kind

SVG = "{http://www.w3.org/2000/svg}"


def flow(stream: str, more: str = "", *, owner: str = "acme", rule: str = "") -> Flow:
    head = f'stream = "{stream}"\nowner = "{owner}"\n'
    parser = f'[[parsers]]\nuse = "json"\n{rule}\n'
    return flow_from_toml(f"{head}{more}\n{parser}", file=f"{stream}.toml")


def reached_from(graph: FlowGraph, node: str) -> set[str]:
    """All that lies behind a node."""
    found: set[str] = set()
    waiting = [node]
    while waiting:
        one = waiting.pop()
        new = {two for from_, two in graph.edges if from_ == one} - found
        found |= new
        waiting += new
    return found


def test_devices_reach_the_lake_by_api_lane_flow_and_topic() -> None:
    graph = FlowGraph.of([flow("thermo", 'lane = "fast"', rule='device_types = ["sensor"]')])

    assert reached_from(graph, "devices/sensor") == {
        *("api", "topic/raw.fast", "lane/fast", "parked", "flow/thermo"),
        *("topic/canonical.thermo", "events"),
    }


def test_a_flow_with_a_topic_of_its_own_shares_its_lane_alone() -> None:
    graph = FlowGraph.of([flow("thermo", 'topic = "stream"'), flow("gps")])

    assert ("api", "topic/raw.standard.stream.thermo") in graph.edges
    assert ("topic/raw.standard.stream.thermo", "lane/standard") in graph.edges


def test_what_is_redirected_or_deduped_has_its_topic() -> None:
    redirect = '[[canonical.redirects]]\nwhen = "alarm"\nequals = true\nto = "alarms"\n'
    graph = FlowGraph.of([flow("door", rule=f"{redirect}[dedupe]\nwindow_s = 60")])

    topics = {two for one, two in graph.edges if one == "flow/door"}
    assert topics == {"topic/canonical.door", "topic/canonical.alarms", "topic/unique.door"}
    assert {one for one, two in graph.edges if two == "events"} == {
        "topic/canonical.alarms",
        "topic/unique.door",
    }


def test_a_flow_that_blocks_parks_nothing() -> None:
    graph = FlowGraph.of([flow("thermo", 'topic = "stream"\non_failure = "block"')])

    assert "parked" not in graph.nodes


def test_mermaid_gets_no_character_that_ends_its_label() -> None:
    graph = FlowGraph.of([flow("thermo", rule='device_types = ["sensor"]')])

    assert '["any device"]' not in graph.as_mermaid()
    assert graph.as_mermaid().startswith('flowchart LR\n  n0["HTTPS API"]\n  n1["sensor"]\n')


def test_programs_get_each_node_with_its_kind_and_note() -> None:
    written = FlowGraph.of([flow("thermo", owner="acme-sensors")]).as_json()

    (found,) = (one for one in written["nodes"] if one["id"] == "flow/thermo")
    assert found == {
        "id": "flow/thermo",
        "kind": "flow",
        "label": "thermo",
        "note": "acme-sensors",
        "about": "owner acme-sensors; parsers json",
    }
    assert {"from": "lane/standard", "to": "flow/thermo"} in written["edges"]


def test_no_two_nodes_of_a_picture_overlap() -> None:
    flows = [flow(f"s-{number}", rule=f'device_types = ["t-{number % 7}"]') for number in range(40)]
    picture = ET.fromstring(FlowGraph.of(flows).as_svg())  # noqa: S314 - our own

    corners = [(one.get("x"), int(one.get("y") or "")) for one in picture.iter(f"{SVG}rect")]
    for column in {x for x, _ in corners}:
        downwards = sorted(y for x, y in corners if x == column)
        assert all(below - above >= 42 for above, below in pairwise(downwards))


def test_what_a_picture_names_ends_no_element_of_it() -> None:
    svg = FlowGraph.of([flow("thermo", owner="<b>&")]).as_svg()

    assert "&lt;b&gt;&amp;" in svg
    ET.fromstring(svg)  # noqa: S314 - our own


def test_flows_stand_by_lane_then_owner() -> None:
    flows = [flow("a", owner="z"), flow("b", owner="y"), flow("c", 'lane = "fast"')]

    graph = FlowGraph.of(flows)

    kinds = [one.label for one in graph.nodes.values() if one.kind is Kind.FLOW]
    assert kinds == ["c", "b", "a"]


def test_the_picture_in_the_docs_is_of_todays_flows() -> None:
    """`./fleetlane flow graph flows >docs/flows.svg` makes it."""
    assert (ROOT / "docs" / "flows.svg").read_text() == FlowGraph.of(
        flows_in(FLOWS).values()
    ).as_svg()


def test_by_owner_all_flows_of_one_are_a_node_and_their_topics_another() -> None:
    flows = [flow("thermo", 'lane = "fast"'), flow("gps"), flow("door", owner="other")]
    graph = FlowGraph.of(flows, by_owner=True)

    assert reached_from(graph, "owner/acme") == {"topics/acme", "events"}
    assert reached_from(graph, "lane/fast") == {"owner/acme", "topics/acme", "events", "parked"}
    assert [one.label for one in graph.nodes.values() if one.kind is Kind.OWNER] == [
        *("acme", "other")
    ]
    places = list(ET.fromstring(graph.as_svg()).iter(f"{SVG}g"))  # noqa: S314 - ours
    assert len(places) == len(graph.nodes)
