"""The ``fleetlane`` command: every noun and verb, and where each is."""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType
from typing import Final

from fleetlane.cli.command_group import group


def _named(module: str, *names: str) -> dict[str, str]:
    """Commands whose functions are called as they are."""
    return {name: f"{module}:{name.replace('-', '_')}" for name in names}


_DEVICE: Final = {
    "add": "device.register:add",
    "import": "device.bulk_import:import_devices",
    "list": "device.show:list_devices",
    "show": "device.show:show",
    **_named("device.register", "attributes", "enroll-canary", "rotate"),
    **_named("device.trust", "quarantine", "revoke", "release", "rate-limit"),
    "erase": "device.erase:erase",
    "token": "device.register:token",
}
_FLEET: Final = _named(
    "fleet",
    *("coverage", "silent", "late", "sizes", "health", "issues", "refusals", "device", "report"),
)
_FLOW: Final = {
    **_named("flow.files", "new", "check"),
    "publish": "flow.publish:publish",
    "list": "flow.publish:versions",
    **_named("flow.documents", "graph", "contract", "lineage"),
    **_named("flow.measured", "slo", "canary", "conformance"),
}
_LAKE: Final = _named("lake", "view", "rows", "compact", "expire")
_PARKED: Final = {
    "list": "parked:list_parked",
    "show": "parked:show",
    "replay": "message.replay:replay_parked",
    "export": "parked:export",
}
_PARSER: Final = {
    "new": "parser.new:new",
    "dev": "parser.dev:dev",
    "try": "parser.trials:try_message",
    "test": "parser.check:check",
    "bench": "parser.trials:bench",
    **_named("parser.artifact", "build", "deploy"),
    "diff": "parser.diff:diff",
}

app = group(
    "Fleetlane: telemetry ingestion for device fleets, on this machine and in AWS.",
    {
        "up": "platform.up:up",
        "demo": "platform.demo:demo",
        "console": "platform.console:console",
        "device": group("Register devices, show, restrict and erase them.", _DEVICE),
        "doctor": "platform.doctor:doctor",
        "fleet": group("Show coverage, and silent, late and malformed devices.", _FLEET),
        "flow": group("Write flows, check, publish, roll back and describe them.", _FLOW),
        "lake": group("Show a stream's events; maintain the lake's tables.", _LAKE),
        "ledger": "platform.ledger:ledger",
        "parked": group("Inspect, export and replay what could not be parsed.", _PARKED),
        "parser": group("Write parsers, try, test, build and deploy them.", _PARSER),
        "replay": "message.replay:replay",
        "send": "message.send:send",
        "status": "platform.status:status",
        "tail": "message.tail:tail",
        "team": group("Let teams publish by themselves.", {"policy": "flow.publish:policy"}),
        "top": "platform.status:top",
        "unblock": "message.unblock:unblock",
        "verify": "platform.verify:verify",
        "why": "message.why:why",
    },
)


class WithoutPandas(MetaPathFinder):
    """Keeps pandas from pyarrow, which imports it wherever it is: two seconds of each answer.

    Nothing of ours needs it; a parser that does imports it by itself.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> None:
        asking = getattr(sys.modules.get("pyarrow.dataset"), "__spec__", None)
        if fullname == "pandas" and getattr(asking, "_initializing", False):
            raise ModuleNotFoundError(name=fullname)


def main() -> None:
    sys.meta_path.insert(0, WithoutPandas())
    app()
