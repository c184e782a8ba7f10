"""``make local-cloud``: deploy the local stage, send to it, and prove that nothing was lost."""

import signal
import sys
import time
from typing import Final

from fleetlane.events.errors import FleetlaneError
from local.checkout import ROOT
from local.cloud.local_cloud import LocalCloud
from local.cloud.trial import TrialResult, tried
from local.data_folder import taken_data_folder

FOLDER: Final = ROOT / "build" / "local-cloud"
_INTERRUPTED: Final = 128 + signal.SIGINT


def main() -> int:
    """Run it once. The ledger is the last line of stdout; exit code 1 says that it is not even."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        result = _run()
    except FleetlaneError as problem:
        sys.stderr.write(f"error: {problem}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("stopped; nothing is left running\n")
        return _INTERRUPTED
    ledger = result.ledger
    for line in (*result.surprises, *ledger.findings.lines()):
        sys.stderr.write(f"{line}\n")
    sys.stdout.write(f"{ledger.line()}\n")
    return 0 if ledger.is_balanced else 1


def _run() -> TrialResult:
    began_s = time.monotonic()

    def on_step(title: str) -> None:
        sys.stderr.write(f"{time.monotonic() - began_s:4.0f} s  {title}\n")
        sys.stderr.flush()

    with taken_data_folder(FOLDER, fresh=True), LocalCloud(FOLDER) as cloud:
        cloud.start(on_step)
        on_step("devices send, by HTTP and HTTPS")
        return tried(cloud)


if __name__ == "__main__":
    sys.exit(main())
