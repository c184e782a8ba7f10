"""A function's code in a process of its own, under AWS's runtime for Python."""

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path

from localstack_hostmode.functions.runtime_api import Answer, RuntimeApi

_STOP_GRACE_S = 2.0


class FunctionProcess(RuntimeApi):
    """Runs from the moment it is made until it is stopped, fails, or LocalStack ends.

    It is in LocalStack's process group, and ends when the runtime API no longer answers.
    """

    def __init__(
        self, folder: Path, handler: str, environment: Mapping[str, str], *, log_path: Path
    ) -> None:
        """Start ``module.function`` of the unpacked bundle in ``folder``; does not wait.

        All that it prints is added to ``log_path``.
        """
        super().__init__()
        with log_path.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - the code that was deployed
                [sys.executable, "-m", "awslambdaric", handler],
                cwd=folder,
                env=_environment(folder, environment, self.address),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        threading.Thread(target=self._watch, daemon=True).start()

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def stop(self) -> None:
        """End it by SIGTERM, and after a grace by SIGKILL."""
        self._process.terminate()
        try:
            self._process.wait(_STOP_GRACE_S)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def _watch(self) -> None:
        status = self._process.wait()
        message = f"Error: Runtime exited with error: exit status {status}"
        self.close(Answer(body=error_json("Runtime.ExitError", message), is_error=True))


def error_json(kind: str, message: str) -> bytes:
    """An error as Lambda writes it."""
    return json.dumps({"errorType": kind, "errorMessage": message}).encode()


def _environment(folder: Path, environment: Mapping[str, str], api_address: str) -> dict[str, str]:
    """Nothing of LocalStack's own. The bundle's packages come before those of its interpreter."""
    return {
        **environment,
        "PATH": os.defpath,
        "LANG": "en_US.UTF-8",
        "TMPDIR": tempfile.gettempdir(),
        "TZ": "UTC",
        "PYTHONPATH": str(folder),
        "PYTHONUNBUFFERED": "1",
        "LAMBDA_TASK_ROOT": str(folder),
        "AWS_LAMBDA_RUNTIME_API": api_address,
    }
