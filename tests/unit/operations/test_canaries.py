"""Canaries beside what they are to replace: which devices are compared, and what is proposed."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest

from benchmarks.iceberg_tables import add_rows, folder_catalog
from clients.lake.laptop_lake import LaptopLake
from fleetlane.events.flows.flow import Flow, ParserRule
from fleetlane.events.lake.tables import PARSED, RECEIVED
from fleetlane.events.times import DAY_MS, HOUR_MS, day_of
from local.demo.lake_tables import make_table
from operations.fleet.canaries import canaries_of
from operations.fleet.fleet import Fleet
from operations.fleet.questions import Row

NOW_MS: Final = 1_794_000_000_000
RULE: Final = ParserRule(use="tank==2.0.0", share=0.3)
FLOW: Final = Flow(stream="tank", owner="acme", parsers=(RULE, ParserRule(use="tank==1.0.0")))
IN_SHARE: Final = [f"d-{n}" for n in range(1_000) if RULE.takes(f"d-{n}")]
OTHERS: Final = [f"d-{n}" for n in range(1_000) if not RULE.takes(f"d-{n}")]

type Ask = Callable[..., Row | None]


class Sent:
    """Rows of messages in the lake."""

    def __init__(self) -> None:
        self.received: list[dict[str, Any]] = []
        self.parsed: list[dict[str, Any]] = []

    def add(self, *devices: str, firmware: str = "2.0", **changes: object) -> None:
        """A message of each of these devices, parsed half an hour ago."""
        for device_id in devices:
            at_ms = NOW_MS - HOUR_MS // 2
            about = {"day": day_of(at_ms), "id": f"1{len(self.received):032x}"}
            about |= {"device_id": device_id, "stream": "tank", "lane": "standard"}
            about |= {"source_topic": "raw.standard", "source_partition": 0, "source_offset": 0}
            sizes = {"received_ms": at_ms, "body_bytes": 1, "by_reference": False}
            self.received.append({**about, **sizes, "firmware": firmware})
            came: dict[str, object] = {"attempt": 1, "outcome": "parsed", "parsed_ms": at_ms}
            came |= {"events": 10, "parse_us": 40, "inflated_bytes": 1}
            came |= {"parser": "tank@2.0.0" if device_id in IN_SHARE else "tank@1.0.0"}
            self.parsed.append({**about, **came, **changes})


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Ask]:
    with closing(folder_catalog(tmp_path)) as catalog:

        def asked(sent: Sent, flow: Flow = FLOW) -> Row | None:
            for table, rows in ((RECEIVED, sent.received), (PARSED, sent.parsed)):
                make_table(catalog, table)
                add_rows(catalog, table, rows)
            lake = LaptopLake(catalog=tmp_path / "catalog.db")
            with Fleet(lake, (), asked_at_ms=NOW_MS) as fleet:
                return next(iter(fleet.ask(canaries_of(flow), days=1).rows), None)

        yield asked


def answered(ask: Ask, sent: Sent) -> Row:
    row = ask(sent)
    assert row is not None
    return row


def test_devices_of_the_share_are_beside_all_others(ask: Ask) -> None:
    sent = Sent()
    sent.add(*IN_SHARE, *IN_SHARE[:5], *OTHERS)
    sent.add(*OTHERS[:7], outcome="parked", events=0)

    row = answered(ask, sent)

    assert (row["use"], row["share"], row["devices"]) == ("tank==2.0.0", 0.3, len(IN_SHARE))
    assert (row["messages"], row["others_messages"]) == (len(IN_SHARE) + 5, len(OTHERS) + 7)
    assert (row["parked_share"], row["others_parked_share"]) == (0, 7 / (len(OTHERS) + 7))
    assert (row["events_a_message"], row["others_events_a_message"]) == (10, 10)
    assert row["proposal"] == "let it have more devices"


def test_a_message_that_another_attempt_parsed_counts_once_with_all_its_time(ask: Ask) -> None:
    sent = Sent()
    sent.add(*IN_SHARE, *OTHERS)
    again = [one | {"attempt": 2, "parsed_ms": one["parsed_ms"] + 1} for one in sent.parsed]
    for one in sent.parsed:
        one |= {"outcome": "diverted", "events": 0}
    sent.parsed += again

    row = answered(ask, sent)

    assert (row["messages"], row["p95_us"]) == (len(IN_SHARE), 80)


def test_a_message_that_arrived_on_several_days_counts_once(ask: Ask) -> None:
    sent = Sent()
    sent.add(*IN_SHARE, *OTHERS)
    day = day_of(NOW_MS - HOUR_MS // 2 - DAY_MS)
    sent.received += [one | {"day": day} for one in sent.received[:9]]

    row = answered(ask, sent)

    assert (row["messages"], row["others_messages"]) == (len(IN_SHARE), len(OTHERS))


def test_devices_whose_firmware_the_canary_is_not_for_are_not_compared(ask: Ask) -> None:
    sent = Sent()
    sent.add(*IN_SHARE, *OTHERS)
    sent.add(*IN_SHARE, *OTHERS, firmware="1.0", parser="tank@1.0.0", outcome="parked")

    row = answered(ask, sent)

    assert (row["messages"], row["others_messages"]) == (len(IN_SHARE), len(OTHERS))
    assert (row["parked_share"], row["others_parked_share"]) == (0, 0)


@pytest.mark.parametrize(
    ("changed", "proposal"),
    [
        ({"outcome": "parked", "events": 0}, "take it back: it parks more"),
        ({"events": 5}, "look closer: another number of events"),
        ({"parse_us": 90}, "look closer: it is slower"),
        ({}, "let it have more devices"),
    ],
)
def test_what_is_proposed_follows_from_the_figures(
    ask: Ask, changed: dict[str, Any], proposal: str
) -> None:
    sent = Sent()
    sent.add(*IN_SHARE[100:], *OTHERS)
    sent.add(*IN_SHARE[:100], **changed)

    assert answered(ask, sent)["proposal"] == proposal


def test_few_messages_are_not_judged(ask: Ask) -> None:
    sent = Sent()
    sent.add(*IN_SHARE[:20], outcome="parked")
    sent.add(*OTHERS)

    assert answered(ask, sent)["proposal"] == "wait for more messages"


def test_a_flow_without_canaries_has_no_row(ask: Ask) -> None:
    sent = Sent()
    sent.add(*OTHERS)

    assert ask(sent, Flow(stream="tank", owner="acme", parsers=FLOW.parsers[1:])) is None
