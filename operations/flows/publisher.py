"""Flows published and put into force, with the artifacts of their parsers; and rolled back."""

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Protocol, Self

import boto3
import orjson
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from clients.aws import AwsSettings
from clients.flows.parser_store import ParserStore
from clients.flows.store import FlowsNotPublishedError, FlowStore
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.flows.artifacts import FlowArtifact, is_of_a_team, team_rules
from fleetlane.events.flows.files import PublishedFlows
from fleetlane.events.flows.flow import Flow
from fleetlane.events.job_arguments import FLOWS_MAX_AGE_S
from fleetlane.parsers.artifacts.writing import unpack

_ANSWER_TIMEOUT_S: Final = 120


class ActivationRefusedError(FleetlaneError):
    """The function did not put a version into force; the one before it stays."""

    reason = "activation_refused"
    version: str
    kind: str
    problem: str
    sentence = "flows {version} are not in force: {kind}: {problem}"


class ActivationCall:
    """Calls a stage's function by its name; blocks until all topics are there."""

    def __init__(self, aws: AwsSettings, function: str) -> None:
        self._aws, self._function = aws, function

    def __call__(self, version: str, in_place_of: str | None) -> None:
        """Have a version put into force.

        Raises:
            ActivationRefusedError: The function refuses it, or cannot be called.
        """
        event = orjson.dumps({"version": version, "in_place_of": in_place_of})
        # It waits as long as the function may take, and asks once.
        config = Config(read_timeout=_ANSWER_TIMEOUT_S, retries={"total_max_attempts": 1})
        if self._aws.endpoint_url is not None:  # on this machine, past any proxy
            config = config.merge(Config(proxies={}))
        try:
            client: Any = boto3.client("lambda", config=config, **self._aws.for_boto3())
            answer = client.invoke(FunctionName=self._function, Payload=event)
        except (BotoCoreError, ClientError) as problem:
            raise ActivationRefusedError(version, self._function, str(problem)) from problem
        if "FunctionError" in answer:
            error = orjson.loads(answer["Payload"].read())
            kind, said = error.get("errorType", "an error"), error.get("errorMessage", "")
            raise ActivationRefusedError(version, kind, said)


class NotDeployedError(FleetlaneError):
    """A flow's parser is in none of its owner's artifacts."""

    reason = "not_deployed"
    owner: str
    use: str
    sentence = (
        "no artifact of {owner} offers {use}: build it with `fleetlane parser "
        "build` and put it there with `fleetlane parser deploy FILE.zip --owner {owner}`"
    )


class StreamTakenError(FleetlaneError):
    """A stream belongs to another owner by now."""

    reason = "stream_taken"
    stream: str
    owner: str
    wanted_by: str
    sentence = "stream {stream} is {owner}'s; a flow of {wanted_by} names it too"


class NothingBeforeError(FleetlaneError):
    """There is no version to go back to."""

    reason = "nothing_before"
    sentence = "no version was in force before this one"


class Activates(Protocol):
    """Puts a version into force, in place of the one that is known, if any is."""

    def __call__(self, version: str, in_place_of: str | None) -> object: ...


class FlowPublisher:
    """Publishes to a bucket; ``activate`` makes the topics and puts a version into force.

    ``flows`` and ``parsers`` are where versions and artifacts are. Whoever goes by the flows has
    read a version ``in_force_within_s`` after it was published.
    """

    def __init__(
        self,
        flows: FlowStore,
        parsers: ParserStore,
        activate: Activates,
        *,
        flows_max_age_s: int = FLOWS_MAX_AGE_S,
    ) -> None:
        self.flows, self.parsers, self._activate = flows, parsers, activate
        self.in_force_within_s = flows_max_age_s + 1

    def current(self) -> PublishedFlows | None:
        """The flows in force, if there ever were any; raises ``FlowsUnavailableError``."""
        try:
            return self.flows.current()
        except FlowsNotPublishedError:
            return None

    def found_artifacts(self, flows: Iterable[Flow]) -> tuple[FlowArtifact, ...]:
        """The artifacts of the flows' parsers; raises as ``found_artifact``."""
        return tuple(self.found_artifact(owner, use) for owner, use in team_rules(flows))

    def found_artifact(self, owner: str, use: str) -> FlowArtifact:
        """The artifact in which an owner's parser is deployed.

        Raises:
            NotDeployedError: It is in none.
            BadArtifactError, ArtifactUnavailableError: One cannot be read.
        """
        found = self.parsers.offering(owner, use)
        if found is None:
            raise NotDeployedError(owner, use)
        return found

    def publish(self, flows: Iterable[Flow]) -> str:
        """Put exactly these flows into force, and return their version.

        Raises:
            FleetlaneError: A parser is not deployed, or the flows are refused; those before stay.
        """
        wanted = list(flows)
        version = self.flows.publish(wanted, self.found_artifacts(wanted))
        self._activate(version, None)
        return version

    def publish_owners(self, flows: Iterable[Flow]) -> str:
        """Put flows into force in place of all that their owners had; others' stay.

        Raises:
            StreamTakenError: A stream is another owner's.
            FleetlaneError: As ``publish``; or others were published meanwhile.
        """
        wanted, current = list(flows), self.current()
        if current is None:
            return self.publish(wanted)
        owners = {flow.owner for flow in wanted}
        others = [flow for flow in current.flows if flow.owner not in owners]
        taken = {flow.stream: flow.owner for flow in others}
        for flow in wanted:
            if flow.stream in taken:
                raise StreamTakenError(flow.stream, taken[flow.stream], flow.owner)
        kept = [one for one in current.artifacts if one.owner not in owners]
        artifacts = (*self.found_artifacts(wanted), *kept)
        version = self.flows.publish([*wanted, *others], artifacts)
        self._activate(version, current.version)
        return version

    def activate(self, version: str) -> None:
        """Put a published version into force; raises what refuses it."""
        self._activate(version, None)

    def roll_back(self) -> str:
        """Put the version before into force, and return it.

        Raises:
            NothingBeforeError: There is none.
            FleetlaneError: It is refused by now; what is in force stays.
        """
        current = self.flows.current()
        if not current.before:
            raise NothingBeforeError
        self._activate(current.before[0], current.version)
        return current.before[0]


class DeployedParsers:
    """Finds parsers in artifacts. As a context, keeps their folders until it is left."""

    def __init__(self, publisher: FlowPublisher) -> None:
        self._publisher = publisher
        self._folders = ExitStack()
        self._known: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._folders.close()

    def location(self, owner: str, use: str) -> str | None:
        """A folder with the parser in it; ``None`` for a built-in format.

        Raises:
            NotDeployedError: No artifact of the owner offers it.
            FleetlaneError: The artifact is none, or cannot be reached.
        """
        if not is_of_a_team(use):
            return None
        artifact = self._publisher.found_artifact(owner, use)
        if artifact.sha256 not in self._known:
            folder = Path(self._folders.enter_context(TemporaryDirectory()))
            self._publisher.parsers.fetch(artifact, folder / "artifact.zip")
            unpack(folder / "artifact.zip", folder / "unpacked")
            self._known[artifact.sha256] = str(folder / "unpacked")
        return self._known[artifact.sha256]
