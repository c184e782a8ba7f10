"""A worker's lanes, on flows and artifacts that teams publish to a bucket."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from clients.flows.parser_store import ArtifactUnavailableError, ParserStore
from clients.flows.store import CachedFlows, FlowStore, FlowsUnavailableError, OwnerFlows
from fleetlane.events.canonical import canonical_event_from
from fleetlane.events.flows.artifacts import FlowArtifact, team_rules
from fleetlane.events.flows.files import PublishedFlows, flow_from_toml
from fleetlane.events.lanes import LANE_LIMITS, Lane
from fleetlane.events.metadata import Parsed, parsed_from
from fleetlane.parsers.sandbox.platforms import ParsesRuns
from glue_jobs.parse_lane.budgets import FlowBudgets
from glue_jobs.parse_lane.lane_parser import LaneParser
from glue_jobs.parse_lane.parsers.chosen_parsers import ChosenParsers
from glue_jobs.parse_lane.parsers.parser_folders import BYTES_MAX, ParserFolders
from glue_jobs.parse_lane.parsers.programs import Programs
from glue_jobs.parse_lane.reading.payloads import Payloads
from tests.contract.aws_in_process import buckets
from tests.team_artifacts import team_artifact
from tests.unit.glue_jobs.conftest import (
    NOW_MS,
    MemoryBucket,
    message_of,
    raw_batch,
    record_of,
    rows_of,
)

FLOW: Final = """
stream = "{stream}"
owner = "acme"
[[parsers]]
use = "{use}"
"""


class Worker:
    """A worker's lane on a bucket that flows are published to.

    ``is_down`` stops fetching; ``not_given`` are artifacts that S3 alone does not give;
    ``is_history_away`` stops the reading of earlier flows.
    """

    def __init__(
        self, store: FlowStore, owned: OwnerFlows, parsers: ParserStore, folder: Path
    ) -> None:
        self.flows, self.owned, self.parsers, self.folder = store, owned, parsers, folder
        self.versions: dict[str, tuple[str, ...]] = {}
        self.is_down = self.is_history_away = False
        self.not_given = set[str]()
        self.asked = list[str]()
        self.now_s = 0.0
        self.caches: list[ParserFolders] = []

    def fetch(self, artifact: FlowArtifact, path: Path) -> None:
        self.asked.append(artifact.use)
        if self.is_down or artifact.use in self.not_given:
            raise ArtifactUnavailableError(artifact.key, "connection refused")
        self.parsers.fetch(artifact, path)

    def published(self, owner: str, version: str) -> PublishedFlows:
        if self.is_history_away:
            raise FlowsUnavailableError(version, "connection refused")
        return self.owned.of(owner).published(version)

    def answers(self, artifact: FlowArtifact) -> bool:
        return not self.is_down and self.parsers.answers(artifact)

    def cache(self, *, bytes_max: int = BYTES_MAX) -> ParserFolders:
        cache = ParserFolders(self, self.folder / "cache", bytes_max=bytes_max)
        self.caches.append(cache)
        return cache

    def deploy(self, pin: str, code: str | None = None) -> None:
        self.parsers.deploy(team_artifact(self.folder / "built", pin, code), owner="acme")

    def publish(self, **uses: str) -> None:
        self.publish_files(*(FLOW.format(stream=one, use=use) for one, use in uses.items()))

    def publish_files(self, *tomls: str) -> None:
        flows = [flow_from_toml(toml, file="test.toml") for toml in tomls]
        found = [self.parsers.offering(owner, use) for owner, use in team_rules(flows)]
        published = PublishedFlows.of(flows, filter(None, found))
        for owner in {flow.owner for flow in flows}:
            part = published.of_owner(owner)
            version = self.owned.of(owner).publish(part.flows, part.artifacts)
            others = [one for one in self.versions.get(owner, ()) if one != version]
            self.versions[owner] = (version, *others)
        version = self.flows.publish(published.flows, published.artifacts)
        self.flows.make_current(version, owners=self.versions)

    def lane(self, sandboxes: ParsesRuns, lane: Lane = Lane.STANDARD) -> LaneParser:
        limits, payloads = LANE_LIMITS[lane], MemoryBucket()
        parsers = ChosenParsers(
            flows=CachedFlows(self.flows, max_age_s=0),
            earlier=self.published,
            programs=Programs(folders=self.cache(), sandboxes=sandboxes, limits=limits),
            limits=limits,
            monotonic=lambda: self.now_s,
        )
        return LaneParser(
            budgets=FlowBudgets(lane, limits, monotonic=lambda: self.now_s),
            parsers=parsers,
            payloads=Payloads(landed=payloads, parked=payloads, parked_bucket="parked"),
            sandboxes=sandboxes,
            now_ms=lambda: NOW_MS,
        )


@contextmanager
def team_worker(folder: Path) -> Iterator[Worker]:
    """A worker on a bucket of its own, which keeps what it fetches in ``folder``."""
    with buckets("flows") as s3:
        worker = Worker(
            FlowStore(s3, "flows"), OwnerFlows(s3, "flows"), ParserStore(s3, "flows"), folder
        )
        yield worker
        for cache in worker.caches:
            cache.release_all()


def batch(lane: LaneParser, *streams: str) -> tuple[list[object], list[Parsed]]:
    """A batch of one message a stream: the versions that parsed them, and their reports."""
    lane.begin_batch()
    rows = rows_of(
        lane.outputs_of(raw_batch(record_of(message_of(b"x", stream=one)) for one in streams))
    )
    canonical = [
        canonical_event_from(row.value or b"") for row in rows if row.topic.startswith("canonical.")
    ]
    told = [parsed_from(row.value or b"") for row in rows if row.topic == "fleet.parsed"]
    return [event.data["version"] for event in canonical], told
