"""The ``fleetlane`` command: every noun and verb, and where each is."""

from typing import Final

from fleetlane.cli.command_group import Verb, group, verbs

_DEVICE: Final = {
    "add": "register:add",
    "import": "bulk_import:import_devices",
    "list": "show:list_devices",
    "show": "show:show",
    "enroll-canary": "register:enroll_canary",
    "rotate": "register:rotate",
    "quarantine": "trust:quarantine",
    "revoke": "trust:revoke",
    "release": "trust:release",
    "rate-limit": "trust:rate_limit",
    "erase": "erase:erase",
    "token": "register:token",
}
_FLEET: Final = {
    name: f"questions:{name}"
    for name in ("coverage", "silent", "late", "sizes", "health", "device", "report")
}
_FLOW: Final = {
    "new": "new:new",
    "check": "check:check",
    "publish": "publish:publish",
    "list": "publish:versions",
}
_LAKE: Final = {"view": "view:view", "compact": "upkeep:compact", "expire": "upkeep:expire"}
_PARKED: Final = {
    "list": "list_and_show:list_parked",
    "show": "list_and_show:show",
    "replay": "replay:replay_parked",
    "export": "export:export",
}
_PARSER: Final = {
    "new": "new:new",
    "try": "try_message:try_message",
    "test": "check:check",
    "bench": "bench:bench",
    "build": "artifact:build",
    "deploy": "artifact:deploy",
    "diff": "diff:diff",
}

app = group(
    "Fleetlane: telemetry ingestion for device fleets, on this machine and in AWS.",
    {
        "up": Verb(place="platform.up:up", help="Start the platform and stay; Ctrl-C stops it."),
        "demo": Verb(
            place="platform.demo:demo",
            help="Run the platform under a simulated fleet, and prove by id that nothing was lost.",
        ),
        "device": verbs("device", "Register devices, show, restrict and erase them.", _DEVICE),
        "doctor": Verb(place="platform.doctor:doctor", help="Check this machine; changes nothing."),
        "fleet": verbs("fleet", "Show coverage, and silent, late and malformed devices.", _FLEET),
        "flow": verbs("flow", "Write flows, check, publish and roll them back.", _FLOW),
        "lake": verbs("lake", "Show a stream's events; maintain the lake's tables.", _LAKE),
        "ledger": Verb(
            place="platform.ledger:ledger",
            help="Show the standing ledger, and name each message that is missing.",
        ),
        "parked": verbs("parked", "Inspect, export and replay what could not be parsed.", _PARKED),
        "parser": verbs("parser", "Write parsers, try, test, build and deploy them.", _PARSER),
        "replay": Verb(
            place="message.replay:replay",
            help="Parse a stream's messages of a time range again, with the parser in force now.",
        ),
        "send": Verb(place="message.send:send", help="Send a message as a device does."),
        "status": Verb(
            place="platform.status:status", help="Show each lane's throughput and backlog."
        ),
        "tail": Verb(place="message.tail:tail", help="Print a topic's records as they come."),
        "team": verbs("team", "Let teams publish by themselves.", {"policy": "policy:policy"}),
        "unblock": Verb(
            place="message.unblock:unblock", help="Show what blocks a stream, and skip or retry it."
        ),
        "why": Verb(place="message.why:why", help="Show a message's full history."),
    },
)

if __name__ == "__main__":
    app()
