"""The set-up's command line: ``python3 -m local.setup GOAL``, from the root of the checkout."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from local.setup.checkout import Checkout
from local.setup.failures import CannotSetUpError
from local.setup.steps import GOALS, make_ready


def main(arguments: list[str]) -> int:
    """Bring the checkout to the goal named. All it says goes to stderr: stdout is for data."""
    if len(arguments) != 1 or arguments[0] not in GOALS:
        sys.stderr.write(f"usage: local/setup/run {'|'.join(sorted(GOALS))}\n")
        return 2
    signal.signal(
        signal.SIGTERM, lambda *_: sys.exit(143)
    )  # leave by `finally`: no child stays behind
    try:
        make_ready(GOALS[arguments[0]](Checkout(root=Path.cwd(), environment=dict(os.environ))))
    except CannotSetUpError as error:
        sys.stderr.write(f"set-up: {error}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("set-up: interrupted; the same command goes on where it stopped.\n")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
