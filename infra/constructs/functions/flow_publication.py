"""The repository's own flows and parsers, published and activated by a deploy."""

from collections.abc import Iterator
from pathlib import Path

from aws_cdk import CustomResource
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3_deployment as deployment
from aws_cdk import custom_resources as custom
from constructs import Construct

from fleetlane.events.flows.artifacts import FlowArtifact, team_rules
from fleetlane.events.flows.files import BadFlowError, PublishedFlows, WantedVersion, flows_in
from fleetlane.events.flows.flow import FlowSet
from fleetlane.events.flows.ownership import topic_collisions
from fleetlane.events.s3_keys import FLOW_OWNERS, PARSERS, owners_version_key, wanted_key
from infra.artifacts.folder import Artifacts
from infra.constructs.platform_stack import log_group
from infra.constructs.rights import role_of_caller, suppress
from infra.constructs.stores.uploads import BucketUploads


def deployed_flows(folder: Path, artifacts: Artifacts) -> PublishedFlows:
    """Make a version of the flow files in ``folder``, with the artifacts of their parsers.

    Raises ``BadFlowError``: there are none, two collide, one is refused, or a parser is missing.
    """
    flows = flows_in(folder)
    if not flows:
        problem = "holds no flow file, and without one every message is parked; add one"
        raise BadFlowError(str(folder), problem)
    for stream, problem in topic_collisions(flows.values()):
        raise BadFlowError(str(folder / f"{stream}.toml"), problem)
    return PublishedFlows.of(flows.values(), _artifacts(flows, folder, artifacts))


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


def _objects(published: PublishedFlows, owner: str) -> Iterator[deployment.ISource]:
    """An owner's version, and that it is wanted: by their keys below those of all owners."""
    wanted = WantedVersion(published.version).to_json()
    version_key = owners_version_key(owner, published.version)
    for key, content in ((version_key, published.to_json()), (wanted_key(owner), wanted)):
        yield deployment.Source.data(key.removeprefix(FLOW_OWNERS), content.decode())


class FlowPublication(Construct):
    """Uploads each owner's flows and the artifacts of parsers, and has them put into force.

    Other owners' flows stay. What makes that function fail fails the deploy too, which then says so
    in the function's own words, and is rolled back. (CDK's ``AwsCustomResource`` would not
    do: to the API of Lambda, a call of a function that failed has succeeded.) Deleting the stack
    leaves the flows in force.
    """

    def __init__(
        self,
        scope: Construct,
        name: str,
        *,
        flows: PublishedFlows,
        parsers: Path,
        uploads: BucketUploads,
        activation: lambda_.Function,
    ) -> None:
        super().__init__(scope, name)
        owners = sorted({flow.owner for flow in flows.flows})
        versions = [one for owner in owners for one in _objects(flows.of_owner(owner), owner)]
        artifacts = deployment.Source.asset(str(parsers))
        self.uploaded = (
            uploads.add("Flows", *versions, prefix=FLOW_OWNERS.rstrip("/")),
            uploads.add("Parsers", artifacts, prefix=PARSERS.rstrip("/")),
        )
        group = log_group(self, "Logs")
        role = role_of_caller(self, "Role", called=activation, group=group)
        provider = custom.Provider(
            self, "Call", on_event_handler=activation, framework_on_event_role=role, log_group=group
        )
        reason = "CDK's own function, which forwards a deploy's call; CDK chooses its runtime."
        suppress(provider, reason, "L1")
        self.activated = CustomResource(
            self,
            "Activated",
            service_token=provider.service_token,
            resource_type="Custom::ActivatedFlows",
            properties={"owners": owners, "version": flows.version},
        )
        self.activated.node.add_dependency(*self.uploaded)
