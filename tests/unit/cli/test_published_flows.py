"""Commands about the flows and artifacts of a deployed stage, whose S3 is moto's."""

import json
import os
import pty
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import boto3
import pytest
from moto import mock_aws
from typer.testing import CliRunner, Result

from fleetlane.cli.commands.flow.publish import send_lineage_of
from fleetlane.cli.main import app
from fleetlane.events.flows.files import WantedVersion, flow_from_toml
from fleetlane.events.flows.flow import Flow
from operations.flows.publisher import FlowPublisher
from operations.platform import Platform
from tests.deployed_stage import STAGE, use_region, write_stage
from tests.team_artifacts import team_artifact

type Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    use_region(monkeypatch)
    with mock_aws():
        boto3.client("s3").create_bucket(Bucket="artifacts")
        write_stage()
        yield lambda *words: CliRunner().invoke(app, [*map(str, words), "--stage", STAGE])


def publisher() -> FlowPublisher:
    return Platform.of_stage(STAGE).publisher


def flow(stream: str, owner: str = "acme", use: str = "json") -> Flow:
    text = f'stream = "{stream}"\nowner = "{owner}"\n[[parsers]]\nuse = "{use}"\n'
    return flow_from_toml(text, file=f"{stream}.toml")


def in_force(*flows: Flow) -> str:
    store = publisher().flows
    return store.make_current(store.publish(flows)).version


def test_an_artifact_that_is_there_already_is_unchanged(run: Run, tmp_path: Path) -> None:
    artifact = team_artifact(tmp_path, "tank==1.0")

    first, again = (run("parser", "deploy", artifact, "--owner", "acme") for _ in range(2))

    assert first.stdout.endswith("zip: flows of acme may use tank==1.0\n")
    assert again.stdout.endswith("zip: unchanged; flows of acme may use tank==1.0\n")


@pytest.mark.parametrize("words", [("parked", "replay"), ("replay", "--from", "2h", "--to", "1h")])
def test_what_has_no_flow_is_not_replayed(run: Run, words: tuple[str, ...]) -> None:
    in_force(flow("gps"), flow("tank"))

    refused = run(*words, "--flow", "nosuch")

    assert (refused.exit_code, refused.stdout) == (1, "")
    assert refused.stderr == (
        "error: no flow for stream 'nosuch' is in force; there are: gps, tank\n"
    )


def written(folder: Path, *streams: str) -> Path:
    for stream in streams:
        text = f'stream = "{stream}"\nowner = "acme"\n[[parsers]]\nuse = "json"\n'
        (folder / f"{stream}.toml").write_text(text)
    return folder


def test_a_dry_run_shows_what_would_change_and_publishes_nothing(run: Run, tmp_path: Path) -> None:
    version = in_force(flow("gps"), flow("tank"))

    shown = run("flow", "publish", written(tmp_path, "gps", "pollen"), "--dry-run")

    assert (shown.exit_code, shown.stdout.splitlines()[:3]) == (
        0,
        ["2 flows change", "  pollen new, json", "  tank removed"],
    )
    assert "not compared with real messages: Kafka cannot be read" in shown.stdout
    assert publisher().flows.current().version == version


def test_what_is_published_is_sent_as_lineage_where_openlineage_has_settings(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    in_force(flow("gps"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))

    send_lineage_of(Platform.of_stage(STAGE))
    assert capsys.readouterr() == ("", "")

    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__TYPE", "file")
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__LOG_FILE_PATH", str(tmp_path / "lineage"))
    send_lineage_of(Platform.of_stage(STAGE))
    assert capsys.readouterr().out == "lineage of 1 flow was sent\n"

    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__LOG_FILE_PATH", str(tmp_path / "none" / "lineage"))
    send_lineage_of(Platform.of_stage(STAGE))
    assert "lineage was not sent" in capsys.readouterr().err


def typed(keys: bytes, *words: str, once: bytes) -> tuple[int, str]:
    """Run a command on a pseudo-terminal, and press keys once it shows something; its exit code."""
    child, terminal = pty.fork()
    if child == 0:  # pytest has streams of its own
        sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
        try:
            app([*words, "--stage", STAGE])
        except SystemExit as ended:
            os._exit(int(ended.code or 0))
        finally:
            os._exit(70)
    shown, give_up_s = b"", time.monotonic() + 120
    while select.select([terminal], [], [], max(0, give_up_s - time.monotonic()))[0]:
        try:
            shown += os.read(terminal, 10_000)
        except OSError:  # the child has ended
            break
        if keys and once in shown:
            os.write(terminal, keys)
            keys = b""
    else:
        os.kill(child, signal.SIGKILL)  # it waits for a key that nobody presses
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), shown.decode()


@pytest.mark.parametrize(
    ("keys", "once", "status", "last"),
    [
        (b"n\n", b"publish? [y/N]", 1, "Aborted"),
        (b"\x03", b"comparing with real messages", 130, "nothing changed: what was in force stays"),
    ],
)
def test_on_a_terminal_nothing_is_published_without_a_yes(
    run: Run, tmp_path: Path, keys: bytes, once: bytes, status: int, last: str
) -> None:
    version = in_force(flow("gps"))
    folder = str(written(tmp_path, "pollen"))

    ended, shown = typed(keys, "flow", "publish", folder, once=once)

    assert (ended, last in shown.splitlines()[-1]) == (status, True), shown
    assert publisher().flows.current().version == version


def test_a_listed_version_names_owners_flows_parsers_and_who_published(run: Run) -> None:
    acme = publisher().owned.of("acme")
    acme.publish([flow("gps"), flow("tank", use="csv")], by="role/kim")
    in_force(flow("gps"))
    in_force(flow("gps"), flow("tank", use="csv"), flow("air", "blue"))

    listed, as_json = run("flow", "list"), run("flow", "list", "--json")

    lines = listed.stdout.splitlines()
    newest = next(place for place, line in enumerate(lines) if line.endswith("  in force"))
    parts = ["  acme: gps, tank (csv, json), by role/kim", "  blue: air (json)"]
    assert lines[newest + 1 : newest + 3] == parts
    assert "  acme: gps (json)" in lines
    rows = [json.loads(line) for line in as_json.stdout.splitlines()]
    assert [row["owners"][0] for row in rows if row["state"] == "in force"] == [
        {
            "owner": "acme",
            "flows": ["gps", "tank"],
            "parsers": ["csv", "json"],
            "published_by": "role/kim",
        }
    ]


def test_of_an_owner_where_no_flows_were_ever_in_force_none_are_listed(run: Run) -> None:
    listed = run("flow", "list", "--owner", "acme")

    assert (listed.exit_code, listed.stdout) == (0, "No flows were published yet.\n")


def test_a_listed_version_that_was_rolled_back_says_so(run: Run) -> None:
    first, second = in_force(flow("gps")), in_force(flow("tank"))
    publisher().flows.make_current(first)
    publisher().owned.want("acme", WantedVersion(first, rolled_back=(second,)))

    listed = run("flow", "list", "--json")

    states = {row["version"]: row["state"] for row in map(json.loads, listed.stdout.splitlines())}
    assert states == {first: "in force", second: "rolled back"}


def test_what_a_publisher_is_called_does_not_act_on_the_terminal(run: Run) -> None:
    publisher().owned.of("acme").publish([flow("gps")], by="kim\x1b[2J")
    in_force(flow("gps"))

    listed = run("flow", "list")

    assert "  acme: gps (json), by kim\\x1b[2J" in listed.stdout.splitlines()
