"""What it costs to choose a message's parser: CPU time, by a flow of several firmware ranges."""

import time
from collections.abc import Collection
from pathlib import Path
from typing import Final

from fleetlane.events.envelope import Message
from fleetlane.events.flows.artifacts import FlowArtifact
from fleetlane.events.flows.files import PublishedFlows, flow_from_toml
from fleetlane.events.lanes import LANE_LIMITS, Lane
from fleetlane.parsers.sandbox.in_process import InProcess
from glue_jobs.parse_lane.parsers.chosen_parsers import ChosenParsers
from glue_jobs.parse_lane.parsers.parser_folders import ParserFolders
from glue_jobs.parse_lane.parsers.programs import Programs

ROUNDS: Final = 9
MESSAGES: Final = 20_000
FIRMWARES: Final = 50
FLOW: Final = """
stream = "bench"
owner = "bench"
[[parsers]]
use = "json"
firmware = ">=2,<3"
device_types = ["t1", "t2"]
[[parsers]]
use = "json"
firmware = ">=3"
[[parsers]]
use = "csv"
"""


class _OneVersion:
    published_flows = PublishedFlows.of([flow_from_toml(FLOW, file="bench.toml")])

    def current(self) -> PublishedFlows:
        return self.published_flows

    def fresh(self, *, max_age_s: float) -> PublishedFlows:
        return self.published_flows

    def published(self, owner: str, version: str) -> PublishedFlows:
        assert version == self.published_flows.version
        return self.published_flows


class _NoArtifacts(ParserFolders):
    def __init__(self) -> None: ...

    def folder_of(self, artifact: FlowArtifact) -> Path:
        raise AssertionError(artifact.key)

    def answers(self, artifact: FlowArtifact) -> bool:
        return True

    def release_all(self, *, but: Collection[FlowArtifact] = ()) -> None: ...


def choice_us() -> float:
    """The best of several rounds: the rest is noise."""
    flows, limits = _OneVersion(), LANE_LIMITS[Lane.STANDARD]
    programs = Programs(folders=_NoArtifacts(), sandboxes=InProcess(), limits=limits)
    parsers = ChosenParsers(flows=flows, earlier=flows.published, programs=programs, limits=limits)
    messages = [_message(number) for number in range(MESSAGES)]
    rounds = []
    for _ in range(ROUNDS):
        parsers.begin_batch()
        began_ns = time.process_time_ns()
        for message in messages:
            parsers.chosen(message)
        rounds.append(time.process_time_ns() - began_ns)
    return round(min(rounds) / MESSAGES / 1000, 3)


def _message(number: int) -> Message:
    return Message(
        raw_id=f"1{number:032x}",
        device_id=f"d-{number}",
        stream="bench",
        arrival_millis=1_762_178_709_123,
        lane=Lane.STANDARD,
        device_type=f"t{number % 3}",
        firmware=f"{number % FIRMWARES // 10}.{number % 10}",
        body=b"",
        body_bytes=0,
    )
