"""The answer that a blocking flow waits for."""

from collections.abc import Iterator

import pytest
from typer.testing import CliRunner, Result

from clients.s3.blocked_messages import BlockedMessage, BlockedMessages
from fleetlane.cli.main import app
from fleetlane.events.errors import ParkedReason
from tests.contract.aws_in_process import buckets
from tests.deployed_stage import STAGE, use_region, write_stage

TOPIC = "raw.slow.block.door"
LINE = f"{TOPIC}/0/7: timeout: not parsed within 60000 ms\n"


@pytest.fixture
def blocked(monkeypatch: pytest.MonkeyPatch) -> Iterator[BlockedMessages]:
    use_region(monkeypatch)
    with buckets("stage-parked") as s3:
        write_stage(parked_bucket="stage-parked")
        messages = BlockedMessages(s3, "stage-parked")
        messages.put(
            BlockedMessage(
                topic=TOPIC,
                partition=0,
                offset=7,
                reason=ParkedReason.TIMEOUT,
                detail="not parsed within 60000 ms",
                parser="door@1",
                blocked_ms=1,
            )
        )
        yield messages


def unblocked(*words: str) -> Result:
    return CliRunner().invoke(app, ["unblock", *words, "--stage", STAGE])


def test_without_an_answer_it_says_what_waits(blocked: BlockedMessages) -> None:
    said = unblocked("door")

    assert said.stdout == f"waits {LINE}"
    assert "--skip" in said.stderr
    assert len(blocked.waiting(TOPIC)) == 1


@pytest.mark.parametrize(("option", "word"), [("--skip", "skipped"), ("--retry", "tried again")])
def test_an_answer_is_given_once(blocked: BlockedMessages, option: str, word: str) -> None:
    said = unblocked("door", option)

    assert said.stdout == f"{word} {LINE}"
    assert blocked.waiting(TOPIC) == []


@pytest.mark.usefixtures("blocked")
@pytest.mark.parametrize(
    ("stream", "problem"),
    [("other", "no message blocks stream 'other'"), ("no stream", "does not match")],
)
def test_a_stream_that_nothing_blocks_or_that_is_none_is_an_error(
    stream: str, problem: str
) -> None:
    said = unblocked(stream, "--skip")

    assert said.exit_code == 1
    assert problem in said.stderr
