"""The light gateway, and the console, as servers of their own."""

import secrets
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from local.checkout import ROOT
from local.servers.ports import remembered_port
from local.servers.processes import ServerProcess, answers_at
from operations.endpoints import CONSOLE_TOKEN, GATEWAY_LOG

GATEWAY: Final = "local.gateway"

_READY_TIMEOUT_S: Final = 30.0


class LocalGateway(ServerProcess):
    """The emulation of API Gateway with the real handlers inside; keeps its port across restarts.

    ``environment`` is all that its process sees, settings included. ``module`` is what runs.
    """

    def __init__(
        self,
        folder: Path,
        environment: Mapping[str, str],
        *,
        upload_queue_url: str,
        module: str = GATEWAY,
    ) -> None:
        port = remembered_port(folder / "port.json")
        self.url = f"http://127.0.0.1:{port}"
        options = ["--port", str(port), "--upload-queue", upload_queue_url]
        super().__init__(
            "Gateway",
            [sys.executable, "-m", module, *options],
            log_path=folder / GATEWAY_LOG.name,
            env={**environment, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
            cwd=ROOT,
        )

    def start(self) -> None:
        """Start the gateway and wait until it answers; raises as ``wait_ready`` does."""
        super().start()
        health = f"{self.url}/v1/health"
        self.wait_ready(lambda: answers_at(health), timeout_s=_READY_TIMEOUT_S)


class LocalConsole(ServerProcess):
    """``fleetlane console`` for the platform that is announced in a data folder.

    ``url`` holds the token, of this start of the platform alone; no command line has it.
    """

    def __init__(self, data: Path) -> None:
        folder = data.resolve() / "console"
        folder.mkdir(parents=True, exist_ok=True)
        port, token = remembered_port(folder / "port.json"), secrets.token_urlsafe()
        self.url = f"http://127.0.0.1:{port}/?token={token}"
        options = ["--data", str(data.resolve()), "--port", str(port)]
        super().__init__(
            "Console",
            [sys.executable, "-m", "fleetlane.cli", "console", *options],
            log_path=folder / "console.log",
            env={CONSOLE_TOKEN: token, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
            cwd=ROOT,
        )
