"""Parked messages on the screen; what the commands refuse before they read anything."""

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from clients.kafka.reader import KafkaUnreadableError
from fleetlane.cli.commands import parked as parked_list
from fleetlane.cli.commands.message.replay import carry_out
from fleetlane.cli.commands.parked import ParkedOptions, exported
from fleetlane.cli.main import app
from fleetlane.events.envelope import KafkaPosition, PayloadReference, Record
from fleetlane.events.errors import ParkedReason
from operations.endpoints import Endpoints
from operations.messages.parked import ParkedFilter, newest_parked
from operations.platform import Platform
from operations.replay.landing import NextAttempt, PayloadsExpiredError, ReplayPlan
from tests.unit.operations.stored_messages import (
    ARRIVAL_MS,
    OTHER_ID,
    RAW_ID,
    FakeStore,
    by_reference,
    message_of,
    payloads,
)

NOWHERE = Endpoints(
    api="http://127.0.0.1:9",
    kafka="127.0.0.1:9",
    s3="http://127.0.0.1:9",
    dynamodb="http://127.0.0.1:9",
    region="eu-central-1",
)
PLAN = ReplayPlan(
    pattern="parked",
    since_ms=None,
    attempts={
        KafkaPosition(topic="parked", partition=0, offset=offset): NextAttempt(
            attempt=2, revision=offset % 2, reference=None
        )
        for offset in range(201)
    },
    parsed=(OTHER_ID,),
    unreadable=3,
)


@pytest.fixture
def store() -> FakeStore:
    store = FakeStore()
    store.park(message_of(RAW_ID))
    store.park(message_of(OTHER_ID), ParkedReason.TIMEOUT, at_ms=ARRIVAL_MS + 1)
    store.park(message_of("1" + "00" * 16), ParkedReason.TIMEOUT, at_ms=ARRIVAL_MS + 2)
    return store


def report(store: FakeStore, newest: int) -> list[str]:
    return list(parked_list.report(newest_parked(store.records, ParkedFilter()), newest))


def test_the_list_counts_by_stream_reason_and_parser_the_most_first(store: FakeStore) -> None:
    rows = [line.split() for line in report(store, 0)]

    assert [row[:4] for row in rows[1:]] == [
        ["2", "tank", "timeout", "tank@1.0.0"],
        ["1", "tank", "malformed", "tank@1.0.0"],
    ]


def test_the_list_ends_with_the_newest_one_by_one(store: FakeStore) -> None:
    last = report(store, 2)[-2:]

    assert [line.split()[0] for line in last] == ["1" + "00" * 16, OTHER_ID]
    assert last[1].endswith("d-17    tank    timeout  tank@1.0.0  5 bytes; a level is 6 bytes")


def test_no_control_character_of_a_device_reaches_the_terminal() -> None:
    store = FakeStore()
    store.write("parked", value=b"", headers=[("ce_parkeddetail", b"\x1b[2J\n")])

    assert "\x1b" not in "\n".join(report(store, 1))


def test_a_parser_may_be_named_as_flows_name_it() -> None:
    wanted = ParkedOptions(parser="tank==1.0.0").filter(None)

    assert wanted.parser == "tank@1.0.0"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["parked", "export"], "Give exactly one: FOLDER or --as-sample"),
        (["parked", "list", "--stage", "dev", "--data", "."], "give --stage or --data, not both"),
        (["replay", "--flow", "tank", "--from", "1h", "--to", "2h"], "it must be after --from"),
        (["replay", "--flow", "tank", "--from", "archive", "--to", "1h"], "give --from WHEN once"),
        (["replay", "--flow", "tank", *2 * ("--from", "2h"), "--to", "1h"], "give --from WHEN"),
        (["replay", "--flow", "No", "--from", "2h", "--to", "1h"], "does not match"),
    ],
)
def test_what_makes_no_sense_is_refused(words: list[str], problem: str) -> None:
    said = CliRunner().invoke(app, words)

    assert said.exit_code == 1
    assert problem in said.stderr


def test_a_dry_run_says_what_would_be_done(capsys: pytest.CaptureFixture[str]) -> None:
    carry_out(PLAN, Platform.on_laptop(NOWHERE, Path()).messages, dry_run=True, as_json=False)

    assert capsys.readouterr().out.splitlines() == [
        "201 messages would be replayed, revision 0, 1",
        "estimated time: 2 s or more",
        "1 left out, parsed since; parked replay --again includes them",
        "3 left out: their envelopes cannot be read",
    ]


class Interrupted(FakeStore):
    """Ctrl-C is pressed while it is read."""

    def matching(self, pattern: str, *, since_ms: int | None = None) -> Iterator[Record]:
        raise KeyboardInterrupt


def test_ctrl_c_says_how_many_were_replayed(capsys: pytest.CaptureFixture[str]) -> None:
    stores = Platform.on_laptop(NOWHERE, Path()).messages

    with pytest.raises(typer.Exit) as ended:
        carry_out(PLAN, stores, dry_run=False, as_json=False, records=Interrupted())

    assert ended.value.exit_code == 130
    assert capsys.readouterr().err == (
        "interrupted: 0 of 201 messages replayed; doing it again is safe\n"
    )


class Refusing(FakeStore):
    """Kafka does not answer while it is read."""

    def matching(self, pattern: str, *, since_ms: int | None = None) -> Iterator[Record]:
        raise KafkaUnreadableError("down")


def test_a_replay_that_fails_says_how_many_were_replayed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    stores = Platform.on_laptop(NOWHERE, Path()).messages

    with pytest.raises(KafkaUnreadableError):
        carry_out(PLAN, stores, dry_run=False, as_json=False, records=Refusing())

    assert capsys.readouterr().err == "0 of 201 messages replayed; doing it again is safe\n"


def test_expired_payloads_are_an_error_after_all_else_is_reported(
    capsys: pytest.CaptureFixture[str],
) -> None:
    plan = ReplayPlan(pattern="parked", since_ms=None, attempts={}, expired=(RAW_ID,))

    with pytest.raises(PayloadsExpiredError, match=RAW_ID):
        carry_out(plan, Platform.on_laptop(NOWHERE, Path()).messages, dry_run=False, as_json=True)

    said = json.loads(capsys.readouterr().out)
    assert (said["replayed"], said["expired"]) == (0, [RAW_ID])


def test_expired_records_are_reported_beside_expired_payloads(
    capsys: pytest.CaptureFixture[str],
) -> None:
    plan, stores = replace(PLAN, expired=(RAW_ID,)), Platform.on_laptop(NOWHERE, Path()).messages

    with pytest.raises(PayloadsExpiredError, match=RAW_ID):
        carry_out(plan, stores, dry_run=False, as_json=True, records=FakeStore())

    problem = "found: 201, replayed: 0; the records of the others have expired"
    assert f"error: {problem}\n" in capsys.readouterr().err


def test_a_body_that_is_gone_keeps_no_other_message_from_its_file(tmp_path: Path) -> None:
    store, written = FakeStore(), list[Path]()
    store.park(by_reference(RAW_ID, key="parked/payloads/erased"))
    store.park(message_of(OTHER_ID))

    with payloads() as kept, pytest.raises(PayloadsExpiredError, match=f": {RAW_ID}$"):
        written.extend(exported(store.records, kept, tmp_path / "out", by_stream=True))

    assert [path.is_file() for path in written] == [True]
    assert written == [tmp_path / "out" / "tank" / f"{OTHER_ID}.record.json"]


def test_a_body_that_was_altered_keeps_no_other_message_from_its_file(tmp_path: Path) -> None:
    store, written = FakeStore(), list[Path]()
    altered = PayloadReference(key="parked/payloads/altered", sha256="0" * 64)
    store.park(copy.replace(by_reference(RAW_ID), reference=altered))
    store.park(message_of(OTHER_ID))

    with payloads(parked=[altered.key]) as kept, pytest.raises(PayloadsExpiredError, match=RAW_ID):
        written.extend(exported(store.records, kept, tmp_path / "out", by_stream=True))

    assert written == [tmp_path / "out" / "tank" / f"{OTHER_ID}.record.json"]
