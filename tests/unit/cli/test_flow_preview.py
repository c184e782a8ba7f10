"""What ``flow publish`` says of a publication before it asks."""

from collections.abc import Collection

import pytest

from clients.kafka.reader import KafkaUnreadableError
from fleetlane.cli.commands.flow.preview import preview_lines
from fleetlane.events.envelope import headers_of
from fleetlane.events.flows.files import flow_from_toml
from fleetlane.events.flows.flow import Flow, FlowSet
from fleetlane.events.topics import raw_key
from operations.messages.newest import NewestMessages, newest_messages
from tests.unit.operations.memory_positions import MemoryPositions
from tests.unit.operations.stored_messages import ARRIVAL_MS, message_of


def flow(stream: str = "tank", use: str = "json", more: str = "", declared: str = "") -> Flow:
    text = f'stream = "{stream}"\nowner = "acme"\n{declared}\n[[parsers]]\nuse = "{use}"\n{more}\n'
    return flow_from_toml(text, file=f"{stream}.toml")


def of(*flows: Flow) -> FlowSet:
    return {one.stream: one for one in flows}


def land(kafka: MemoryPositions, number: int, body: bytes, stream: str = "tank") -> None:
    message = message_of(f"1{number:032x}", body, stream=stream)
    key = raw_key(ARRIVAL_MS + number)
    headers = [(name, value or b"") for name, value in headers_of(message)]
    kafka.write("raw.standard", key, body, headers=headers)


def preview(kafka: MemoryPositions, before: FlowSet, after: FlowSet) -> list[str]:
    def newest(streams: Collection[str]) -> NewestMessages:
        return newest_messages(kafka, streams, messages_max=3)

    return list(preview_lines(before, after, lambda owner, use: None, newest))


def columns(*names: str) -> Flow:
    return flow(use="csv", more=f"options = {{ columns = {list(names)} }}")


def test_real_messages_say_what_a_changed_parser_makes_of_them() -> None:
    kafka = MemoryPositions()
    for number, body in enumerate((b"older,1", b"1,2", b"1", b'{"celsius": 3}')):
        land(kafka, number, body)
    land(kafka, 9, b"1", stream="other")
    before, after = (columns(name, "mm") for name in ("celsius", "kelvin"))

    lines = preview(kafka, of(before), of(after))

    assert lines == [
        "1 flow changes: tank other parsers; of the last 3 real messages 1 changes,"
        " `celsius` removed, `kelvin` added",
        "streams with traffic but no flow: other",
    ]


def test_messages_that_another_parser_refuses_or_takes_are_counted() -> None:
    kafka = MemoryPositions()
    for number, body in enumerate((b"1,2", b"{", b'{"a": 1}')):
        land(kafka, number, body)

    (line,) = preview(kafka, of(columns("celsius", "mm")), of(flow()))

    assert line == (
        "1 flow changes: tank csv -> json; of the last 3 real messages 2 change,"
        " 1 now parsed, 1 now refused"
    )


def test_a_new_flow_says_how_many_waiting_messages_it_would_parse() -> None:
    kafka = MemoryPositions()
    land(kafka, 1, b'{"a": 1}')
    land(kafka, 2, b"no json")

    (line,) = preview(kafka, {}, of(flow()))

    assert line == (
        "1 flow changes: tank new, json; of the last 2 real messages 1 changes, 1 now parsed"
    )


def test_each_flow_that_changes_has_a_line() -> None:
    before = of(flow("a"), flow("b", use="csv"), flow("c"), flow("same"))
    other = flow("b", use="csv", more='options = { columns = ["a"] }')
    after = of(flow("a", declared='lane = "slow"'), other, flow("same"))

    lines = preview(MemoryPositions(), before, after)

    assert lines == [
        "3 flows change",
        "  a other lane; no real messages to compare",
        "  b other parsers; no real messages to compare",
        "  c removed",
    ]


def test_versions_of_one_parser_are_named_without_it() -> None:
    (line,) = preview(MemoryPositions(), of(flow(use="lht65==0.1.0")), of(flow(use="lht65==0.2.0")))

    assert line.startswith("1 flow changes: tank 0.1.0 -> 0.2.0; ")


def test_without_kafka_the_preview_says_so_and_goes_on() -> None:
    def unreadable(streams: Collection[str]) -> NewestMessages:
        raise KafkaUnreadableError("timed out")

    lines = list(preview_lines({}, of(flow()), lambda owner, use: None, unreadable))

    assert lines == [
        "1 flow changes: tank new, json",
        "not compared with real messages: Kafka cannot be read: timed out",
    ]


@pytest.mark.parametrize("copies", [1, 2])
def test_a_message_counts_once_however_many_copies_of_it_there_are(copies: int) -> None:
    kafka = MemoryPositions()
    for _ in range(copies):
        land(kafka, 1, b"{}")

    found = newest_messages(kafka, ["tank"], messages_max=100)

    assert len(found.of_stream["tank"]) == 1
