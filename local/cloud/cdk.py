"""The CDK's own command line, against a LocalStack."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from fleetlane.events.errors import FleetlaneError
from local.checkout import ROOT
from local.servers.processes import ServerProcess
from operations.endpoints import variables_for

CDK: Final = ROOT / "build" / "cdk" / "node_modules" / "aws-cdk" / "bin" / "cdk"
_UNPACKED_LIBRARIES: Final = Path.home() / ".cache" / "aws" / "jsii" / "package-cache"
"""Where jsii keeps the CDK's constructs, 200 MB, for every synthesis on this machine."""

_PROGRAMS: Final = Path(sys.executable).parent
_ACCOUNT: Final = "000000000000"
_TIMEOUT_S: Final = 300.0


class CdkMissingError(FleetlaneError):
    """The CDK's command line is not set up."""

    path: Path
    sentence = "there is no {path}: the set-up installs the CDK's command line there"


class CdkFailedError(FleetlaneError):
    """A command of the CDK ended with an error. Its log's last lines usually say why."""

    command: str
    exit_code: int | None
    log_path: Path
    log_tail: str

    def __str__(self) -> str:
        how = "took too long" if self.exit_code is None else f"failed ({self.exit_code})"
        return f"cdk {self.command} {how}; the end of {self.log_path}:\n{self.log_tail}"


class Cdk:
    """Commands for one account and region, one at a time; ``folder`` receives logs and output."""

    def __init__(self, folder: Path, aws: Mapping[str, Any]) -> None:
        """Use the AWS at this address; raises ``CdkMissingError``."""
        if not CDK.is_file():
            raise CdkMissingError(CDK)
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._region = folder, aws["region_name"]
        self._outputs = folder / "outputs.json"
        # Neither AWS settings of the user's own nor a proxy nor the CDK's home.
        self._environment = {
            "PATH": os.pathsep.join((str(_PROGRAMS), os.defpath)),
            "HOME": str(folder),
            "CDK_HOME": str(folder / "home"),
            "CDK_DISABLE_CLI_TELEMETRY": "true",
            "CDK_DISABLE_VERSION_CHECK": "true",
            "JSII_RUNTIME_PACKAGE_CACHE_ROOT": str(_UNPACKED_LIBRARIES),
            "AWS_REGION": aws["region_name"],
            **variables_for(aws),
        }

    def bootstrap(self) -> None:
        """Make what every deploy needs; raises ``CdkFailedError``."""
        self._run("bootstrap", f"aws://{_ACCOUNT}/{self._region}", "--app", "")

    def deploy(self, context: Mapping[str, str]) -> str:
        """Synthesize the app with this context, deploy all its stacks; raises as ``bootstrap``.

        Returns what the command printed: a line for each stack says whether it was changed.
        """
        return self._run(
            "deploy",
            "--all",
            *("--require-approval", "never"),
            *("--output", str(self._folder / "cdk.out")),
            *("--outputs-file", str(self._outputs)),
            *(word for name, value in context.items() for word in ("--context", f"{name}={value}")),
        )

    def outputs(self) -> Mapping[str, str]:
        """Those of all stacks by their names, since the last deploy."""
        stacks = json.loads(self._outputs.read_text())
        return {name: value for stack in stacks.values() for name, value in stack.items()}

    def _run(self, command: str, *arguments: str) -> str:
        log_path = self._folder / f"{command}.log"
        log_path.unlink(missing_ok=True)
        process = ServerProcess(
            f"cdk {command}",
            [str(_PROGRAMS / "node"), str(CDK), command, *arguments, "--no-color", "--no-notices"],
            log_path=log_path,
            env=self._environment,
            cwd=ROOT,
        )
        process.start()
        try:
            process.wait(_TIMEOUT_S)
            exit_code = process.exit_code
        finally:
            process.stop()
        if exit_code != 0:
            raise CdkFailedError(command, exit_code, log_path, process.log_tail())
        return log_path.read_text()
