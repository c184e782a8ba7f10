"""Flows published and put into force, with the artifacts of their parsers; and rolled back."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from time import monotonic, sleep
from typing import Any

import orjson

from clients.aws import AwsSettings, S3Client, asking, aws_client
from clients.flows.parser_store import ParserStore
from clients.flows.store import FlowsNotPublishedError, FlowStore, OwnerFlows
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.flows.artifacts import FlowArtifact, team_rules
from fleetlane.events.flows.files import PublishedFlows, WantedVersion
from fleetlane.events.flows.flow import Flow
from fleetlane.events.job_arguments import FLOWS_MAX_AGE_S

_ANSWER_TIMEOUT_S, _BUSY_EVERY_S = 120, 1.0


class ActivationRefusedError(FleetlaneError):
    """The function did not put flows into force; those before stay."""

    owners: str
    kind: str
    problem: str
    sentence = "the flows of {owners} are not in force: {kind}: {problem}"


def activate_by_function(aws: AwsSettings, function: str, owners: Sequence[str]) -> str:
    """Have a stage's function put into force what these owners want; give the version of all then.

    Blocks until all topics are there, and before that while the function works for another team.
    Raises ``ActivationRefusedError``, also where the function cannot be called.
    """
    from botocore.config import Config  # noqa: PLC0415 - as in clients.aws

    event, named = orjson.dumps({"owners": owners}), ", ".join(owners)
    # It waits as long as the function may take, and asks once.
    config = Config(read_timeout=_ANSWER_TIMEOUT_S, retries={"total_max_attempts": 1})
    if aws.endpoint_url is not None:  # on this machine, past any proxy
        config = config.merge(Config(proxies={}))
    with asking(ActivationRefusedError, named, function):
        answer = _invoked(aws_client("lambda", aws, config=config), function, event)
    said = orjson.loads(answer["Payload"].read())
    if "FunctionError" in answer:
        kind, why = said.get("errorType", "an error"), said.get("errorMessage", "")
        raise ActivationRefusedError(named, kind, why)
    return str(said["version"])


def _invoked(client: Any, function: str, event: bytes) -> Any:
    """The answer of a function that runs once at a time, and may be at work for others."""
    until_s = monotonic() + _ANSWER_TIMEOUT_S
    while True:
        try:
            return client.invoke(FunctionName=function, Payload=event)
        except client.exceptions.TooManyRequestsException:
            if monotonic() > until_s:
                raise
        sleep(_BUSY_EVERY_S)


class NotDeployedError(FleetlaneError):
    """A flow's parser is in none of its owner's artifacts."""

    owner: str
    use: str
    sentence = (
        "no artifact of {owner} offers {use}: build it with `fleetlane parser "
        "build` and put it there with `fleetlane parser deploy FILE.zip --owner {owner}`"
    )


class StreamTakenError(FleetlaneError):
    """A stream belongs to another owner by now."""

    stream: str
    owner: str
    wanted_by: str
    sentence = "stream {stream} belongs to {owner}; {wanted_by} has a flow for it too"


class NoSuchFlowError(FleetlaneError):
    """No flow in force is for this stream: what is replayed would only be parked again."""

    stream: str
    streams: tuple[str, ...]

    def __str__(self) -> str:
        there_are = f"there are: {', '.join(self.streams)}" if self.streams else "there is none"
        return f"no flow for stream {self.stream!r} is in force; {there_are}"


class NothingBeforeError(FleetlaneError):
    """There is no version to go back to."""

    sentence = (
        "no version was in force before this one, but for those that were rolled back:"
        " `fleetlane flow list` names all, `flow publish --version` takes any"
    )


type Activates = Callable[[Sequence[str]], str]
"""Puts into force what these owners want, and returns the version of all flows then."""


class FlowPublisher:
    """Publishes to a bucket; ``activate`` makes the topics and puts a version into force.

    ``flows``, ``owned`` and ``parsers`` are where versions, each owner's versions and artifacts
    are. Whoever goes by the flows has read a version ``in_force_within_s`` after it was published.
    """

    def __init__(
        self,
        s3: S3Client,
        bucket: str,
        activate: Activates,
        *,
        flows_max_age_s: int = FLOWS_MAX_AGE_S,
        published_by: Callable[[], str] = lambda: "",
    ) -> None:
        self._published_by = published_by
        self.flows, self.parsers = FlowStore(s3, bucket), ParserStore(s3, bucket)
        self.owned, self._activate = OwnerFlows(s3, bucket), activate
        self.in_force_within_s = flows_max_age_s + 1

    def current(self) -> PublishedFlows:
        """The flows in force, or none at all; raises ``FlowsUnavailableError``."""
        return self.flows.in_force() or PublishedFlows.of(())

    def check_stream(self, stream: str) -> Flow:
        """The flow in force for a stream; raises ``NoSuchFlowError`` where there is none."""
        flows = self.current().by_stream
        if stream not in flows:
            raise NoSuchFlowError(stream, tuple(flows))
        return flows[stream]

    def found_artifacts(self, flows: Iterable[Flow]) -> tuple[FlowArtifact, ...]:
        """The artifacts of the flows' parsers; raises as ``found_artifact``."""
        return tuple(self.found_artifact(owner, use) for owner, use in team_rules(flows))

    def found_artifact(self, owner: str, use: str) -> FlowArtifact:
        """The artifact in which an owner's parser is deployed, or ``NotDeployedError``."""
        found = self.parsers.offering(owner, use)
        if found is None:
            raise NotDeployedError(owner, use)
        return found

    def publish(self, flows: Iterable[Flow]) -> str:
        """Put exactly these flows into force, and return their version."""
        wanted = list(flows)
        return self._put_into_force(PublishedFlows.of(wanted, self.found_artifacts(wanted)))

    def publish_owners(self, flows: Iterable[Flow]) -> str:
        """Put flows into force in place of all that their owners had; others' stay.

        Raises ``StreamTakenError`` where a stream is another owner's; else as ``publish``.
        """
        wanted = list(flows)
        owners = {flow.owner for flow in wanted}
        taken = {flow.stream: flow.owner for flow in self.current().flows}
        for flow in wanted:
            if taken.get(flow.stream, flow.owner) not in owners:
                raise StreamTakenError(flow.stream, taken[flow.stream], flow.owner)
        published = PublishedFlows.of(wanted, self.found_artifacts(wanted))
        return self._activated({owner: published.of_owner(owner) for owner in owners})

    def activate(self, version: str) -> str:
        """Put a version of all flows into force, for every owner; raises what refuses it."""
        return self._put_into_force(self.flows.published(version))

    def roll_back(self, owner: str | None = None) -> tuple[str, int]:
        """Put the version before into force, of one owner or of all; the next time the one before.

        Returns the version of all flows, and how many versions back of the newest that is. Raises
        ``NothingBeforeError``; where it is refused by now, what is in force stays.
        """
        current = self.flows.current()
        before = current.before if owner is None else current.owners.get(owner, ())[1:]
        rolled_back = self.rolled_back(current.owners if owner is None else [owner])
        versions = ((back, self.published(one, owner)) for back, one in enumerate(before, start=1))
        for back, wanted in versions:
            if not any(wanted.of_owner(one).version in left for one, left in rolled_back.items()):
                if owner is None:
                    return self._put_into_force(wanted, is_rollback=True), back
                return self._activated({owner: wanted}, is_rollback=True), back
        raise NothingBeforeError

    def published(self, version: str, owner: str | None) -> PublishedFlows:
        return (self.flows if owner is None else self.owned.of(owner)).published(version)

    def parts(self, version: str, owner: str | None) -> Mapping[str, PublishedFlows]:
        """What each owner has in a version of all flows, or of its own, as it was published."""
        flows = self.published(version, owner)
        parts = {one: flows.of_owner(one) for one in sorted({one.owner for one in flows.flows})}
        for one, part in parts.items():
            with suppress(FlowsNotPublishedError):  # before each owner had a place
                parts[one] = self.owned.of(one).published(part.version)
        return parts

    def rolled_back(self, owners: Iterable[str]) -> Mapping[str, Collection[str]]:
        """The versions that each owner has gone back from, and not published again since."""
        wanted = {owner: self.owned.wanted(owner) for owner in owners}
        return {owner: one.rolled_back for owner, one in wanted.items() if one is not None}

    def _put_into_force(self, wanted: PublishedFlows, *, is_rollback: bool = False) -> str:
        """Exactly these: an owner that has none among them has none from now on."""
        owners = {flow.owner for flow in (*wanted.flows, *self.current().flows)}
        parts = {owner: wanted.of_owner(owner) for owner in owners}
        return self._activated(parts, is_rollback=is_rollback)

    def _activated(self, flows: Mapping[str, PublishedFlows], *, is_rollback: bool = False) -> str:
        """Have it activated; where that is refused, each owner wants again what it had."""
        had = {owner: self.owned.wanted(owner) for owner in flows}
        by = self._published_by()
        for owner, one in flows.items():
            self.owned.of(owner).publish(one.flows, one.artifacts, by=by)
        try:
            for owner, one in flows.items():
                wanted = WantedVersion(one.version)
                self.owned.want(owner, wanted.following(had[owner], is_rollback=is_rollback))
            return self._activate(sorted(flows))
        except FleetlaneError:
            for owner, before in had.items():
                self.owned.want(owner, before or self._as_in_force(owner))
            raise

    def _as_in_force(self, owner: str) -> WantedVersion:
        """What an owner has, maybe no flow: nobody may delete a wish, and others' would meet it."""
        part = self.current().of_owner(owner)
        return WantedVersion(self.owned.of(owner).publish(part.flows, part.artifacts))
