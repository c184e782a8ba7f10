"""The set-up's command line: ``python3 -m local.setup GOAL``, from the root of the checkout."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from local.setup.doctor import examine, report
from local.setup.goals import GOALS
from local.setup.steps import Checkout, make_ready
from local.setup.tools import CannotSetUpError


def main(arguments: list[str]) -> int:
    """Bring the checkout to the goal named, or examine the machine.

    A set-up writes to stderr: stdout is for data.
    """
    checkout = Checkout(root=Path.cwd(), environment=dict(os.environ))
    if arguments[:1] == ["doctor"] and arguments[1:] in ([], ["--json"]):
        return report(examine(checkout, clock_s=time.time), print, as_json="--json" in arguments)
    if len(arguments) != 1 or arguments[0] not in GOALS:
        sys.stderr.write(f"usage: local/setup/run {'|'.join(sorted(GOALS))}|doctor\n")
        return 2
    # Leave by `finally`: no child stays behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        make_ready(GOALS[arguments[0]](checkout), lock=checkout.logs / "lock")
    except CannotSetUpError as error:
        sys.stderr.write(f"set-up: {error}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("set-up: interrupted; the same command goes on where it stopped.\n")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
