"""What a rehearsal that fails says: its cause, in its last lines."""

import re
import time
from collections.abc import Callable
from typing import Final

from local.servers.processes import ServerProcess

_LINES_MAX: Final = 12
_CAUSE: Final = re.compile(r"(?:[a-z][\w$]*\.)+\w*(?:Error|Exception)\b|^\w+Error: |^pip ")
_FINAL: Final = re.compile(
    r"java\.lang\.(?:NoSuch(?:Method|Field)Error|NoClassDefFoundError|AbstractMethodError"
    r"|IncompatibleClassChangeError|ExceptionInInitializerError)"
    r"|^(?:ModuleNotFoundError|ImportError): |Unable to load region|NoRegionError"
    r"|SslAuthenticationException|SaslAuthenticationException|Cannot find catalog plugin class",
    re.MULTILINE,
)
"""What no second attempt mends: a class path, a Python, a role or a region as it was deployed."""


class NotStartedError(Exception):
    """The engine would not have come as far as starting the job."""


class RehearsalFailedError(Exception):
    """A job did not do its work. The last lines are the cause as its log has it."""


def watching(process: ServerProcess, *, poll_s: float = 1.0) -> Callable[[float], None]:
    """What waits in place of ``time.sleep``, and ends the wait once the job cannot succeed."""
    read = 0

    def wait(_: float) -> None:
        nonlocal read
        if process.wait(poll_s):
            raise failure_of(process, f"{process.name} ended with exit code {process.exit_code}")
        with process.log_path.open(errors="replace") as log:
            log.seek(max(0, read - _OVERLAP))
            new = log.read()
            read = log.tell()
        if _FINAL.search(new):
            time.sleep(poll_s)  # for the rest of its lines
            raise failure_of(process, f"{process.name} cannot work as it was deployed")

    return wait


_OVERLAP: Final = 1_000


def failure_of(process: ServerProcess, what: str) -> RehearsalFailedError:
    """The error that ends with what the log gives as causes, each once."""
    lines = process.log_path.read_text(errors="replace").splitlines()
    causes = dict.fromkeys(line.strip() for line in lines if _CAUSE.search(line))
    final = [line for line in causes if _FINAL.search(line)]
    last = final or list(causes) or lines
    said = "\n".join(line[:500] for line in last[-_LINES_MAX:])
    return RehearsalFailedError(f"{what}; its log is {process.log_path}\n{said}")
