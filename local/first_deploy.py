"""``python -m local.first_deploy STAGE``: whether ``make deploy`` is to deploy it twice.

A stack that is protected from deletion before it is whole could not be removed where its deploy
fails, and so not be made again. So the first deploy of a stage that keeps data protects nothing;
a second one, right behind it, does, and finds nothing else to do.
"""

import sys

from clients.aws import AwsSettings
from fleetlane.events.errors import FleetlaneError
from fleetlane.events.stage_resources import BadStageResourcesError
from infra.stages import Stage, settings_of, stage_from
from operations.platform import UnknownStageError, deployed_resources


def words_for(stage: Stage) -> str:
    """The words for the ``cdk`` that comes first; none where one is enough."""
    try:
        if stage.keeps_data:
            deployed_resources(stage.name, AwsSettings(region_name=stage.region))
    except UnknownStageError:
        return "-c first=true"
    except BadStageResourcesError:
        pass  # another version wrote it; this deploy writes it anew
    return ""


if __name__ == "__main__":
    try:
        sys.stdout.write(words_for(stage_from(sys.argv[1], settings_of(sys.argv[1]))))
    except FleetlaneError as problem:
        sys.exit(f"error: {problem}")
