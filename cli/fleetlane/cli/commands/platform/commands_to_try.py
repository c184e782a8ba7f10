"""What to do with a platform that has just started: three commands, made for its own flows."""

import json
import shlex
from collections.abc import Iterable
from pathlib import Path

from fleetlane.events.flows.flow import Flow
from fleetlane.events.times import rfc3339


def commands_to_try(flows: Iterable[Flow], data: Path | None, *, now_millis: int) -> list[str]:
    """Three commands for this platform: a stream that takes any JSON is the easiest to send to."""
    option = "" if data is None else f" --data {shlex.quote(str(data))}"
    known = list(flows)
    flow = next((flow for flow in known if _takes_any_json(flow)), None)
    if flow is not None:
        stream, body = flow.stream, json.dumps(_reading(flow, now_millis))
        send = f"echo '{body}' | ./fleetlane send {stream} - --device my-device{option}"
    else:
        stream = known[0].stream if known else "STREAM"
        send = f"./fleetlane send {stream} FILE --device my-device{option}"
    return [
        f"./fleetlane device add my-device{option}",
        send,
        f"./fleetlane tail canonical.{stream} --from-beginning{option}",
    ]


def _takes_any_json(flow: Flow) -> bool:
    rule = flow.parsers[0]
    is_plain = not rule.options and rule.firmware is None and rule.device_types is None
    return rule.use == "json" and is_plain and flow.identity.by == "message"


def _reading(flow: Flow, now_millis: int) -> dict[str, object]:
    rule = flow.event_time
    if rule is None or len(rule.path) > 1:
        return {"celsius": 21.5}
    times: dict[str, object] = {
        "ms": now_millis,
        "s": now_millis // 1000,
        "rfc3339": rfc3339(now_millis),
    }
    return {rule.field: times[rule.unit], "celsius": 21.5}
