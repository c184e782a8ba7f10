"""What a deployed stage is made of, by name: the deploy writes it, operators' commands read it."""

from typing import Self

import msgspec

from fleetlane.events.errors import FleetlaneError
from fleetlane.events.job_arguments import KafkaSecurity
from fleetlane.events.names import LAKE_DATABASE


class BadStageResourcesError(FleetlaneError):
    """What was read does not describe a stage; another version of Fleetlane may have written it."""

    problem: str
    sentence = "the stage's resources cannot be read: {problem}; deploy the stage again"


class StageResources(msgspec.Struct, frozen=True, kw_only=True):
    """The names and addresses that commands need of one stage.

    ``flows_bucket`` holds flows and parsers' artifacts, ``lake_bucket`` the requests to the job
    that writes the lake, and archived bodies. ``answering_logs`` are log groups, of the functions
    that answer devices. Unknown fields are ignored, and one that came later has a default: commands
    and deploys may differ in age.
    """

    stage: str
    region: str
    api_url: str
    kafka_bootstrap_servers: str
    kafka_security: KafkaSecurity
    devices_table: str
    flows_bucket: str
    overrides_bucket: str
    payload_bucket: str
    parked_bucket: str
    lake_bucket: str
    flow_activation_function: str
    raw_archive_days: int = 0
    answering_logs: tuple[str, ...] = ()
    lake_database: str = LAKE_DATABASE

    def to_json(self) -> str:
        return msgspec.json.encode(self).decode()

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what ``to_json`` wrote; raises ``BadStageResourcesError``."""
        try:
            return msgspec.json.decode(text, type=cls)
        except msgspec.DecodeError as problem:
            raise BadStageResourcesError(str(problem)) from None


class OperatorHost(msgspec.Struct, frozen=True, kw_only=True):
    """The machine for operators' commands: its instance, and the document of sessions with it."""

    instance: str
    document: str


def parameter_name(stage: str) -> str:
    """The SSM parameter that holds a stage's resources as JSON."""
    return f"/fleetlane/{stage}/resources"


def operator_host_name(stage: str) -> str:
    """The SSM parameter that holds a stage's ``OperatorHost`` as JSON, where there is one."""
    return f"/fleetlane/{stage}/operator-host"


def canary_key_name(stage: str) -> str:
    """The SSM parameter, a SecureString, that holds the private key of the stage's canary."""
    return f"/fleetlane/{stage}/canary-key"
