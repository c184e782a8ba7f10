"""What an engine is given to run applications with."""

from dataclasses import dataclass

from aws_cdk import aws_kms as kms

from infra.constructs.jobs.jobs_code import JobsCode
from infra.constructs.jobs.spark_applications import Places
from infra.stacks.network import Network


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSurroundings:
    """What all applications of a stage share, whichever engine runs them."""

    stage: str
    code: JobsCode
    places: Places
    network: Network
    key: kms.IKey
    log_retention_days: int
