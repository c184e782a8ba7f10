"""The jobs that an application starts, read as ``glue_jobs/host.py`` reads them."""

import shlex
from collections.abc import Sequence

from fleetlane.events.job_arguments import (
    DeduplicateArguments,
    FleetMetadataArguments,
    FleetWatchArguments,
    HostArguments,
    JobArguments,
    LakeArguments,
    ParseLaneArguments,
    StandingLedgerArguments,
)

_JOBS: dict[str, type[JobArguments]] = {
    "parse_lane": ParseLaneArguments,
    "fleet_metadata": FleetMetadataArguments,
    "fleet_watch": FleetWatchArguments,
    "deduplicate": DeduplicateArguments,
    "lake": LakeArguments,
    "standing_ledger": StandingLedgerArguments,
}


def jobs_of(argv: Sequence[str]) -> list[JobArguments]:
    jobs = [shlex.split(job) for job in HostArguments.from_argv(argv).jobs.split(";")]
    return [_JOBS[name].from_argv([*argv, *own]) for name, *own in jobs]
