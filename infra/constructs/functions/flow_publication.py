"""The repository's own flows and parsers, published and activated by a deploy."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from aws_cdk import CustomResource
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3_deployment as deployment
from aws_cdk import custom_resources as custom
from constructs import Construct

from fleetlane.events.flows.artifacts import FlowArtifact, team_rules
from fleetlane.events.flows.files import BadFlowError, PublishedFlows, flows_in
from fleetlane.events.flows.flow import FlowSet, topic_collisions
from fleetlane.events.s3_keys import PARSERS, version_key
from infra.artifacts.folder import Artifacts
from infra.constructs.log_groups import log_group
from infra.constructs.rights import seen_arn, suppress, suppress_wildcard
from infra.constructs.stores.bucket_uploads import BucketUploads


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployedFlows:
    """What is published, and the folder of the artifacts that it names."""

    published: PublishedFlows
    parsers: Path


def deployed_flows(folder: Path, artifacts: Artifacts) -> DeployedFlows:
    """Make a version of the flow files in ``folder``, with the artifacts of their parsers.

    Raises:
        BadFlowError: There are none, two collide, a file is refused for itself, or a parser that
            it names was not built.
    """
    flows = flows_in(folder)
    if not flows:
        raise BadFlowError(
            str(folder), "holds no flow file, and without one every message is parked; add one"
        )
    for stream, problem in topic_collisions(flows.values()):
        raise BadFlowError(str(folder / f"{stream}.toml"), problem)
    published = PublishedFlows.of(flows.values(), _artifacts(flows, folder, artifacts))
    return DeployedFlows(published=published, parsers=artifacts.parsers_folder())


def _artifacts(flows: FlowSet, folder: Path, artifacts: Artifacts) -> Iterator[FlowArtifact]:
    for owner, use in team_rules(flows.values()):
        found = artifacts.parser(owner, use)
        if found is None:
            raise BadFlowError(
                str(folder),
                f"a flow of {owner} names parser {use}, which is in no artifact below "
                f"{artifacts.parsers_folder() / owner}; run `make artifacts`, or publish this flow "
                "with `fleetlane flow publish` in place of deploying it",
            )
        yield found


_BY_CDK: Final = "CDK's own function, which forwards a deploy's call; CDK chooses its runtime."
_VERSIONS: Final = "All versions of one function of ours; CDK may call any of them."


class FlowPublication(Construct):
    """Uploads a version of the flows and the artifacts of parsers, and has it made current.

    What makes that function fail fails the deploy too, which then says so in the function's own
    words, activates the version before, and is rolled back. (CDK's ``AwsCustomResource`` would not
    do: to the API of Lambda, a call of a function that failed has succeeded.) Deleting the stack
    leaves the flows in force.
    """

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        flows: DeployedFlows,
        uploads: BucketUploads,
        activation: lambda_.Function,
        log_retention_days: int,
    ) -> None:
        super().__init__(scope, name)
        published = flows.published
        key = PurePosixPath(version_key(published.version))
        version = deployment.Source.data(key.name, published.to_json().decode())
        artifacts = deployment.Source.asset(str(flows.parsers))
        uploaded = (
            uploads.add("Flows", version, prefix=str(key.parent)),
            uploads.add("Parsers", artifacts, prefix=PARSERS.rstrip("/")),
        )
        self.activated = CustomResource(
            self,
            "Activated",
            service_token=self._provider(activation, log_retention_days).service_token,
            resource_type="Custom::ActivatedFlows",
            properties={"version": published.version},
        )
        self.activated.node.add_dependency(*uploaded)

    def _provider(self, activation: lambda_.Function, log_retention_days: int) -> custom.Provider:
        group = log_group(self, "Logs", days=log_retention_days)
        role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        group.grant_write(role)
        provider = custom.Provider(
            self, "Call", on_event_handler=activation, framework_on_event_role=role, log_group=group
        )
        suppress(provider, "L1", _BY_CDK)
        called = seen_arn(activation, activation.function_arn, reader=self)
        suppress_wildcard(role, f"{called}:*", _VERSIONS)
        return provider
