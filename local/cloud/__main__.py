"""``make local-cloud``: deploy the local stage, and verify it as an operator does.

``--keep`` (``make local-cloud KEEP=1``) leaves the stage running afterwards, until Ctrl-C, for
every command of ``./fleetlane`` with ``--stage local``.
"""

import argparse
import signal
import sys
import time
from typing import Final

from fleetlane.events.errors import FleetlaneError
from local.cloud.local_cloud import LocalCloud
from local.data_folder import taken_data_folder
from operations.endpoints import ENDPOINT_FILE, LOCAL_STAGE, LocalStage
from operations.platform import Platform
from operations.verification import Verification

FOLDER: Final = ENDPOINT_FILE.parent
_INTERRUPTED: Final = 128 + signal.SIGINT
_HOW_TO_USE: Final = """
The stage local stays up until Ctrl-C; the API is at {api_url}
Every command with --stage local works on it from another terminal, such as:
  ./fleetlane status --stage local
"""


def main() -> None:
    """Run it once; the exit code is 1 where it is not verified."""
    parser = argparse.ArgumentParser(prog="python -m local.cloud")
    parser.add_argument("--keep", action="store_true", help="stay until Ctrl-C")
    keep = parser.parse_args().keep
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        _run(keep=keep)
    except FleetlaneError as problem:
        sys.exit(f"error: {problem}")
    except KeyboardInterrupt:
        sys.stderr.write("stopped; nothing is left running\n")
        sys.exit(_INTERRUPTED)


def _run(*, keep: bool) -> None:
    began_s = time.monotonic()

    def on_step(title: str) -> None:
        sys.stderr.write(f"{time.monotonic() - began_s:4.0f} s  {title}\n")

    with taken_data_folder(FOLDER, fresh=True), LocalCloud(FOLDER, has_lake=True) as cloud:
        cloud.start(on_step)
        stage = LocalStage(
            endpoint_url=cloud.aws.endpoint_url,
            region=cloud.aws.client_settings["region_name"],
            api_url=cloud.api_url,
            lake_catalog=str(cloud.lake.catalog_path),
        )
        stage.write(ENDPOINT_FILE)
        try:
            for line in Verification(platform=Platform.of_stage(LOCAL_STAGE)).lines():
                sys.stdout.write(f"{line}\n")
                sys.stdout.flush()
            if keep:
                sys.stdout.write(_HOW_TO_USE.format(api_url=cloud.api_url))
                sys.stdout.flush()
            while keep:
                signal.pause()
        finally:
            ENDPOINT_FILE.unlink()


if __name__ == "__main__":
    main()
