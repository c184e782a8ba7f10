import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from fleetlane.events.flows.files import BadFlowError, flows_in
from fleetlane.events.flows.flow import (
    CanonicalRule,
    EventTimeRule,
    Flow,
    FlowLimits,
    IdentityRule,
    ParserRule,
    TimeUnit,
    topics_of,
)
from fleetlane.events.lanes import DECLARED_LANES, Lane
from fleetlane.events.topics import CanonicalKey, RawStrategy, platform_topics
from tests.unit.events.flow_texts import SMALLEST, read

DESIGNS = """
stream = "thermo"
owner = "acme-sensors"
[event_time]
field = "measured_at"
unit = "s"
[[parsers]]
use = "acme-thermo==1.2.0"
firmware = ">=2"
options = { celsius_per_count = 0.02 }
"""


def test_the_designs_example_loads() -> None:
    assert read(DESIGNS) == Flow(
        stream="thermo",
        owner="acme-sensors",
        event_time=EventTimeRule(field="measured_at", unit=TimeUnit.SECONDS),
        parsers=(
            ParserRule(
                use="acme-thermo==1.2.0", firmware=">=2", options={"celsius_per_count": 0.02}
            ),
        ),
    )


def test_everything_but_the_first_four_lines_has_a_default() -> None:
    flow = read(SMALLEST)

    assert (flow.event_time, flow.lane, flow.topic) == (None, Lane.STANDARD, RawStrategy.LANE)
    assert (flow.oversize, flow.on_failure) == ("slow", "park")
    assert not flow.dedupe_by_content
    assert flow.dedupe is None
    assert flow.identity == IdentityRule(by="message", fields=())
    assert flow.canonical == CanonicalRule(key=CanonicalKey.DEVICE_HOUR, redirects=())
    assert flow.limits == FlowLimits(parse_ms_max=None, events_max=100_000, event_bytes_max=900_000)


def test_an_events_time_is_in_the_future_after_an_hour_and_ancient_after_400_days() -> None:
    rule = read(DESIGNS).event_time

    assert rule is not None
    assert (rule.future_after_s, rule.ancient_after_s) == (3_600, 34_560_000)


def test_a_folder_of_flows_is_read_by_stream(tmp_path: Path) -> None:
    (tmp_path / "thermo.toml").write_text(SMALLEST)
    (tmp_path / "hum.toml").write_text(SMALLEST.replace('"thermo"', '"hum"'))
    (tmp_path / "README.md").write_text("not a flow")

    flows = flows_in(tmp_path)

    assert {stream: flow.stream for stream, flow in flows.items()} == {
        "hum": "hum",
        "thermo": "thermo",
    }


def test_an_empty_folder_has_no_flows(tmp_path: Path) -> None:
    assert flows_in(tmp_path) == {}


def test_a_file_that_is_not_named_for_its_stream_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "termo.toml"
    path.write_text(SMALLEST)

    with pytest.raises(BadFlowError) as refused:
        flows_in(tmp_path)

    assert str(refused.value) == (
        f"{path}: field `stream` is 'thermo'; the file's name allows 'termo'"
    )


def test_a_file_that_is_not_utf_8_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "thermo.toml"
    path.write_bytes(SMALLEST.encode() + b"# 21 \xb0C")

    with pytest.raises(BadFlowError) as refused:
        flows_in(tmp_path)

    assert str(refused.value).startswith(f"{path}: is not UTF-8: ")


FIRST_READINGS: Final = """
import os
from itertools import count
from tests.interrupt import Interrupt
from tests.unit.events.flow_texts import SMALLEST, read

ENDED, GONE_ON, NOT_INTERRUPTED = range(3)

def reading(place: int) -> int:
    interrupt = Interrupt(place, lambda _, kind: kind == "call")
    try:
        with interrupt:
            read(SMALLEST)
    except KeyboardInterrupt:
        return ENDED
    return GONE_ON if interrupt.has_come else NOT_INTERRUPTED

for place in count(1):
    if (child := os.fork()) == 0:
        os._exit(reading(place))
    how = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert how != GONE_ON, f"call {place}"
    if how == NOT_INTERRUPTED:
        break
"""


def test_ctrl_c_at_any_call_ends_the_first_reading_of_a_flow() -> None:
    run = subprocess.run(
        [sys.executable, "-c", FIRST_READINGS], capture_output=True, text=True, check=False
    )

    assert (run.returncode, run.stderr) == (0, "")


def test_without_flows_the_platforms_topics_are_needed() -> None:
    assert topics_of([]) == tuple(sorted(platform_topics()))


@pytest.mark.parametrize(
    ("lines", "own"),
    [
        ("", set()),
        ('topic = "stream"', {f"raw.{lane}.stream.thermo" for lane in DECLARED_LANES}),
        ('topic = "device_type"', set()),
        ("dedupe = { window_s = 60 }", {"unique.thermo"}),
    ],
    ids=["lane", "stream", "device type", "dedupe"],
)
def test_a_flow_needs_its_canonical_topic_and_its_own_raw_ones(lines: str, own: set[str]) -> None:
    topics = topics_of([read(f"{lines}\n{SMALLEST}")])

    assert set(topics) - set(platform_topics()) == {"canonical.thermo"} | own


def test_a_flow_by_device_type_needs_the_topics_of_the_types_it_names() -> None:
    flow = read(f'topic = "device_type"{SMALLEST}device_types = ["t1", "t2"]')

    topics = {topic for topic in topics_of([flow]) if ".type." in topic}

    assert topics == {f"raw.{lane}.type.{kind}" for lane in DECLARED_LANES for kind in ("t1", "t2")}


def test_a_redirect_needs_its_targets_topic() -> None:
    line = 'canonical = { redirects = [{ when = "kind", equals = "alarm", to = "alarms" }] }'

    topics = topics_of([read(f"{line}\n{SMALLEST}")])

    assert {"canonical.thermo", "canonical.alarms"} <= set(topics)
