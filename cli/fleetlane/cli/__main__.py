"""What the installed command runs. Ctrl-C ends it without a traceback, whenever it is pressed."""

import _thread
import signal
import sys
import time


def main() -> None:
    """Load the command and run it. Until it is loaded, and once it has ended, Ctrl-C just ends."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is not signal.default_int_handler:  # whoever began this ignores it
        _run()
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)

    try:
        signal.signal(signal.SIGINT, handler)
        sys.unraisablehook = _interrupt_again
        _run()
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def _interrupt_again(ignored: "sys.UnraisableHookArgs") -> None:
    """Ctrl-C came where Python ignores what is raised, such as while it drops a weak reference."""
    if ignored.exc_type is KeyboardInterrupt:
        _thread.start_new_thread(_interrupt_soon, (_thread.get_ident(),))
    else:
        sys.__unraisablehook__(ignored)


def _interrupt_soon(main_thread: int) -> None:
    time.sleep(0.01)  # by then main is where an error counts
    if hasattr(signal, "pthread_kill"):  # not on Windows: it ends a call that blocks, too
        signal.pthread_kill(main_thread, signal.SIGINT)
    else:
        _thread.interrupt_main()


def _run() -> None:
    from fleetlane.cli.main import main as run  # noqa: PLC0415 - as above

    run()


if __name__ == "__main__":
    main()
