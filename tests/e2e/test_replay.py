"""What could not be parsed is looked at, mended, replayed; then all of it in a new revision.

A stream without a flow: its messages are parked. One is small, one is large and in S3, where it
then expires, and one is no JSON whatever is mended.
"""

import json
import secrets
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from typer.testing import CliRunner

from clients.kafka.reader import KafkaReader
from clients.s3.payload_bucket import payload_key
from fleetlane.cli.main import app
from fleetlane.events.canonical import canonical_event_from
from fleetlane.events.flows.files import flow_from_toml
from fleetlane.events.lanes import INLINE_BYTES_MAX
from local.data_folder import announced, taken_data_folder
from operations.endpoints import PAYLOAD_BUCKET
from operations.ledger.message_results import Receipt
from operations.ledger.reconciliation import Ledger
from tests.e2e.conftest import RunningPlatform
from tests.e2e.devices import Device

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.localstack]

SMALL: Final = b'{"level": 1}'
LARGE: Final = b'{"level": 2, "filling": "' + b"x" * INLINE_BYTES_MAX + b'"}'
NO_JSON: Final = b"{"
WITHIN_S_MAX: Final = 240.0
LOOK_AGAIN_S: Final = 1.0

type Command = Callable[..., str]
type EventIds = Mapping[int, set[str]]
"""The ids of events, by revision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mended:
    """What was seen on the way. Three ids: of the small message, the large, and the one without."""

    ids: tuple[str, str, str]
    parked: Ledger
    listed: list[dict[str, Any]]
    samples: list[str]
    replayed: Ledger
    first_events: EventIds
    again: dict[str, Any]
    all_again: dict[str, Any]
    last_events: EventIds
    why: dict[str, Any]
    why_text: str
    body: bytes
    ledger: Ledger


@pytest.fixture(scope="module")
def mended(running: RunningPlatform, tmp_path_factory: pytest.TempPathFactory) -> Mended:
    folder, stream = tmp_path_factory.mktemp("mended"), f"mend-{secrets.token_hex(4)}"
    device, servers = Device.registered(running.platform), running.platform.endpoints.kafka
    receipts = [device.accepted(stream, body) for body in (SMALL, LARGE, NO_JSON)]
    small, large, no_json = (receipt.raw_id for receipt in receipts)
    with commands(running, folder / "data") as fleetlane:
        parked = settled(running, receipts, lambda ledger: ledger.parked == len(receipts))
        listed = lines(fleetlane("parked", "list", "--flow", stream, "--json"))
        fleetlane("parked", "export", "--as-sample", str(folder), "--flow", stream)
        running.platform.s3.delete_object(Bucket=PAYLOAD_BUCKET, Key=payload_key(large))
        mend(running, stream)
        replay_until_parsed(fleetlane, stream, {small, large})
        replayed = settled(running, receipts, lambda ledger: ledger.parsed == 2)
        first_events = events_in(servers, stream)
        again = json.loads(fleetlane("parked", "replay", small, "--again", "--json"))
        until(lambda: 1 in events_in(servers, stream))
        whole = ("--from", "1h", "--to", "2100-01-01T00:00:00Z")
        all_again = json.loads(fleetlane("replay", "--flow", stream, *whole, "--json"))
        until(lambda: len(events_in(servers, stream).get(2, ())) == 2)
        ledger = running.ledger_on(receipts)
        why_text = fleetlane("why", f"{large}-0", "--bytes", str(folder / "body"))
        return Mended(
            ids=(small, large, no_json),
            parked=parked,
            listed=listed,
            samples=sorted(path.name for path in (folder / "samples" / stream).iterdir()),
            replayed=replayed,
            first_events=first_events,
            again=again,
            all_again=all_again,
            last_events=events_in(servers, stream),
            why=json.loads(fleetlane("why", small, "--json")),
            why_text=why_text,
            body=(folder / "body").read_bytes(),
            ledger=ledger,
        )


def test_what_has_no_flow_is_parked_and_listed(mended: Mended) -> None:
    reasons = {one["id"]: one["reason"] for one in mended.listed}

    assert (mended.parked.parked, mended.parked.lost) == (3, 0)
    assert reasons == dict.fromkeys(mended.ids, "no_flow")


def test_each_parked_message_becomes_a_sample(mended: Mended) -> None:
    assert mended.samples == sorted(f"{raw_id}.record.json" for raw_id in mended.ids)


def test_once_mended_all_that_can_be_parsed_is_parsed(mended: Mended) -> None:
    ledger = mended.replayed

    assert (ledger.parsed, ledger.parked, ledger.lost, ledger.invented) == (2, 1, 0, 0)


def test_replaying_several_times_gives_equal_ids(mended: Mended) -> None:
    small, large, _ = mended.ids

    assert mended.first_events == {0: {f"{small}-0", f"{large}-0"}}


def test_what_was_parsed_is_replayed_in_the_next_revision(mended: Mended) -> None:
    assert (mended.again["replayed"], mended.again["revisions"]) == (1, [1])


def test_a_range_is_replayed_in_the_revision_after_that(mended: Mended) -> None:
    small, large, _ = mended.ids

    assert (mended.all_again["replayed"], mended.all_again["revisions"]) == (3, [2])
    assert mended.last_events == {
        **mended.first_events,
        1: {f"{small}-0"},
        2: {f"{small}-0", f"{large}-0"},
    }


def test_the_ledger_balances_after_all_of_it(mended: Mended) -> None:
    ledger = mended.ledger

    assert (ledger.parsed, ledger.parked, ledger.lost, ledger.invented) == (2, 1, 0, 0)


def test_why_tells_a_messages_way(mended: Mended) -> None:
    why = mended.why

    outcomes = [attempt["outcome"] for attempt in why["attempts"]]
    assert (outcomes[0], outcomes[-1], why["outcome"]) == ("parked", "parsed", "parsed")
    assert {event["revision"] for event in why["events"]} == {0, 1, 2}
    assert why["parked"][0]["reason"] == "no_flow"


def test_why_has_the_bytes_though_they_expired_where_they_landed(mended: Mended) -> None:
    assert mended.body == LARGE
    assert f"bytes: {len(LARGE)}" in mended.why_text


@contextmanager
def commands(running: RunningPlatform, folder: Path) -> Iterator[Command]:
    """The command line, for the platform that runs."""

    def run(*words: str) -> str:
        result = CliRunner().invoke(app, [*words, "--data", str(folder)])
        assert result.exit_code == 0, result.output
        return result.stdout

    with taken_data_folder(folder), announced(running.platform.endpoints, folder):
        yield run


def mend(running: RunningPlatform, stream: str) -> None:
    """Publish a flow for the stream; jobs read it within 15 seconds."""
    toml = f'stream = "{stream}"\nowner = "{stream}"\n[[parsers]]\nuse = "json"\n'
    flow = flow_from_toml(toml, file=f"{stream}.toml")
    running.seen_by_operators.publisher.publish_owners([flow])


def replay_until_parsed(fleetlane: Command, stream: str, wanted: set[str]) -> None:
    """Replay again and again: what came before the flow was read is parked once more."""

    def are_parsed() -> bool:
        said = json.loads(fleetlane("parked", "replay", "--flow", stream, "--json"))
        return set(said["parsed_since"]) == wanted

    until(are_parsed)


def events_in(servers: str, stream: str) -> EventIds:
    found: defaultdict[int, set[str]] = defaultdict(set)
    with closing(KafkaReader(servers, topics=[f"canonical.{stream}"])) as reader:
        for record in reader.read_once():
            event = canonical_event_from(record.value or b"")
            found[event.revision].add(event.id)
    return dict(found)


def lines(printed: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in printed.splitlines()]


def settled(
    running: RunningPlatform, receipts: list[Receipt], is_so: Callable[[Ledger], bool]
) -> Ledger:
    """Wait for a ledger, also where the platform has only just started and takes its time."""
    give_up_s = time.monotonic() + WITHIN_S_MAX
    while not is_so(ledger := running.ledger_on(receipts)):
        assert time.monotonic() < give_up_s, ledger.line()
    return ledger


def until(is_so: Callable[[], bool]) -> None:
    give_up_s = time.monotonic() + WITHIN_S_MAX
    while not is_so():
        assert time.monotonic() < give_up_s
        time.sleep(LOOK_AGAIN_S)
