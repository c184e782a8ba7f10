"""What the installed command runs. Ctrl-C ends it without a traceback, whenever it is pressed."""

import signal
import sys


def main() -> None:
    """Load the command and run it. Until it is loaded, and once it has ended, Ctrl-C just ends."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is not signal.default_int_handler:  # whoever began this ignores it
        _run()
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)

    try:
        signal.signal(signal.SIGINT, handler)
        _run()
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def _run() -> None:
    from fleetlane.cli.main import main as run  # noqa: PLC0415 - as above

    run()


if __name__ == "__main__":
    main()
