"""The example's parsers, built and deployed as any team's are."""

import tempfile
from pathlib import Path
from typing import Final

from clients.flows.parser_store import ParserStore
from fleetlane.parsers.artifacts.building import Platform, uv_for, write_built
from local.checkout import ROOT, UV

EXAMPLE: Final = ROOT / "examples" / "acme-sensors"
OWNER: Final = "acme-sensors"


def example_artifact(folder: Path) -> Path:
    """Build the example's artifact into ``folder``; a second or two, without the network.

    Raises:
        CannotBuildError: It does not build.
    """
    return write_built(uv_for(EXAMPLE, UV if UV.is_file() else None), Platform.HOST, folder)


def deploy_example(store: ParserStore) -> None:
    """Build the example's artifact and deploy it for its owner.

    Raises:
        CannotBuildError: It does not build.
        VersionTakenError: It was changed, and its version was not.
    """
    with tempfile.TemporaryDirectory() as folder:
        store.deploy(example_artifact(Path(folder)), owner=OWNER)
