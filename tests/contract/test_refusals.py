"""What was refused is counted alike from a function's own log and from CloudWatch Logs Insights."""

import json
from pathlib import Path
from typing import Any

import pytest
from botocore.stub import ANY, Stubber

from clients.aws import aws_client
from clients.refusals import Refusal, RefusalsUnavailableError, logged_refusals, stage_refusals
from fleetlane.events.errors import ProblemTag
from fleetlane.events.metrics import Service
from fleetlane.events.times import now_ms
from lambdas.http.problems import Asker, refused_line
from operations.endpoints import localstack_at

LINE = refused_line(Service.INGEST)
ODD = Asker(stream="pump", firmware='1.0"%s\\', device_type="meter")
GROUPS = ("of-ingest", "of-uploads")


@pytest.fixture
def log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """Three lines of refusals among others, and one that is being written."""
    LINE.write(1, of=ProblemTag.TOO_LARGE, about=ODD)
    LINE.write(2, of=ProblemTag.TOO_LARGE, about=ODD)
    LINE.write(1, of=ProblemTag.UNAUTHENTICATED, about=Asker())
    lines = capsys.readouterr().out
    path = tmp_path / "gateway.log"
    path.write_text('{"level":"WARNING","message":"Refused"}\nTraceback\n' + lines + lines[:40])
    return path


def test_a_log_s_refusals_count_by_tag_stream_firmware_and_type(log: Path) -> None:
    found = logged_refusals(log, now_ms() - 60_000, now_ms() + 1)

    assert found == {
        Refusal(tag="too_large", **ODD._asdict()): 3,
        Refusal(tag="unauthenticated"): 1,
    }


def test_refusals_of_another_time_are_left_out(log: Path) -> None:
    assert logged_refusals(log, now_ms() - 120_000, now_ms() - 60_000) == {}


def test_a_log_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(RefusalsUnavailableError, match=r"gone\.log"):
        logged_refusals(tmp_path / "gone.log", 0, 1)


def stubbed(*answers: dict[str, Any]) -> Stubber:
    """Checks each call, and each answer, against AWS's own model of the service."""
    settings = localstack_at("http://127.0.0.1:9", "us-east-1")
    stubber = Stubber(aws_client("logs", settings))
    asked = {"logGroupNames": [*GROUPS], "startTime": 1, "endTime": 60, "queryString": ANY}
    stubber.add_response("start_query", {"queryId": "q-1"}, asked)
    for one in answers:
        stubber.add_response("get_query_results", one, {"queryId": "q-1"})
    return stubber


def row(**values: str) -> list[dict[str, str]]:
    return [{"field": name, "value": value} for name, value in values.items()]


def test_a_stage_s_refusals_are_what_its_query_finds() -> None:
    rows = [
        row(tag="too_large", **ODD._asdict(), messages="3"),
        row(tag="unauthenticated", messages="1.0"),
    ]
    stubber = stubbed({"status": "Running"}, {"status": "Complete", "results": rows})

    with stubber:
        found = stage_refusals(stubber.client, GROUPS, 1_000, 60_000)

    assert found == {
        Refusal(tag="too_large", **ODD._asdict()): 3,
        Refusal(tag="unauthenticated"): 1,
    }


def test_a_query_that_fails_says_so() -> None:
    stubber = stubbed({"status": "Failed"})

    with stubber, pytest.raises(RefusalsUnavailableError, match="query q-1 is Failed"):
        stage_refusals(stubber.client, GROUPS, 1_000, 60_000)


def test_only_the_tag_is_a_dimension(capsys: pytest.CaptureFixture[str]) -> None:
    LINE.write(1, of=ProblemTag.TOO_LARGE, about=ODD)

    [directive] = json.loads(capsys.readouterr().out)["_aws"]["CloudWatchMetrics"]
    assert directive["Dimensions"] == [["service", "tag"]]
