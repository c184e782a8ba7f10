"""Commands about the flows and artifacts of a deployed stage, whose S3 is moto's."""

from collections.abc import Callable, Iterator
from pathlib import Path

import boto3
import pytest
from moto import mock_aws
from typer.testing import CliRunner, Result

from fleetlane.cli.main import app
from fleetlane.events.flows.files import flow_from_toml
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
