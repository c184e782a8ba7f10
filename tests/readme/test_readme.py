"""The README, followed to the letter in a fresh checkout by somebody who knows nothing else.

Then docs/parsers.md, docs/flows.md, docs/parked.md and docs/fleet.md, while the platform runs that
the README has started; and docs/first-day.md once it was started anew. `make demo` and `make
test`, with which the README begins, are left out: the second runs this.
"""

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from local.checkout import ROOT
from tests.readme.newcomer import copy_checkout, followed
from tests.readme.terminal import Terminal

pytestmark = [
    pytest.mark.spark,
    pytest.mark.kafka,
    pytest.mark.localstack,
    pytest.mark.skipif(shutil.which("curl") is None, reason="the README sends by curl, too"),
]

README: Final = (ROOT / "README.md").read_text()
FOR_AUTHORS: Final = (ROOT / "docs" / "parsers.md").read_text()
AUTHORS_SECTIONS: Final = (
    *("Begin", "Write it", "Try it", "Test it", "Build it"),
    *("Change it", "Real messages", "Deploy it"),
)
OF_FLOWS: Final = (ROOT / "docs" / "flows.md").read_text()
OF_THE_FLEET: Final = (ROOT / "docs" / "fleet.md").read_text()
FLOWS_SECTIONS: Final = ("Check", "Publish", "Show")
OF_THE_FIRST_DAY: Final = (ROOT / "docs" / "first-day.md").read_text()
OF_PARKED: Final = (ROOT / "docs" / "parked.md").read_text()
PARKED_SECTIONS: Final = ("Look", "Mend", "Send again", "Everything of a time, once more")
FIRST: Final = {"at": "2026-11-03T14:05:00Z", "lat": 47.37, "lon": 8.54}
BY_CURL: Final = {"at": "2026-11-03T14:06:00Z", "lat": 47.38, "lon": 8.55}
BOTH_POSITIONS: Final = "./fleetlane tail canonical.gps --from-beginning --limit 2"
FIVE_BYTES: Final = r"""
printf '\x69\x08\xb8\x55\x05' | ./fleetlane send tank - --device tank-7
./fleetlane tail parked --from-beginning --limit 1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """What a newcomer saw, and what was left when they had gone.

    ``first`` and ``own`` are what was printed in the two sections that are followed, ``both`` the
    events of the first, and ``again`` the same once the platform had been started anew, with the
    versions of the flows that are then ``published``. ``author`` is what was printed in
    each section of docs/parsers.md, ``flows`` of docs/flows.md, ``parked`` of docs/parked.md,
    ``fleet`` in docs/fleet.md, ``verified`` in docs/first-day.md. ``console`` has pages by path.
    """

    first: str
    both: str
    own: str
    five_bytes: str
    author: Mapping[str, str]
    flows: Mapping[str, str]
    parked: Mapping[str, str]
    fleet: str
    console: Mapping[str, str]
    verified: str
    again: str
    published: str
    exit_codes: tuple[int | None, ...]
    left_running: tuple[str, ...]


@pytest.fixture(scope="module")
def visit(tmp_path_factory: pytest.TempPathFactory) -> Visit:
    checkout = tmp_path_factory.mktemp("checkout").resolve()
    copy_checkout(checkout)
    terminal = Terminal(checkout, tmp_path_factory.mktemp("screen") / "up.txt")
    with ExitStack() as at_the_end:
        for name in (".venv", "tank/.venv"):  # a gigabyte
            at_the_end.callback(shutil.rmtree, checkout / name, ignore_errors=True)
        at_the_end.callback(terminal.ctrl_c)
        first = followed(README, "Run it", checkout, terminal)
        both = terminal.run(BOTH_POSITIONS)
        own = followed(README, "Your own parser and flow", checkout, terminal)
        five_bytes = terminal.run(FIVE_BYTES)
        author = {
            name: followed(FOR_AUTHORS, name, checkout, terminal) for name in AUTHORS_SECTIONS
        }
        flows = {name: followed(OF_FLOWS, name, checkout, terminal) for name in FLOWS_SECTIONS}
        parked = {name: followed(OF_PARKED, name, checkout, terminal) for name in PARKED_SECTIONS}
        fleet = followed(OF_THE_FLEET, "Ask", checkout, terminal)
        console = console_pages(terminal.shown())
        exit_code = terminal.ctrl_c()
        verified = followed(OF_THE_FIRST_DAY, "2. The same on a laptop", checkout, terminal)
        again = terminal.run(BOTH_POSITIONS)
        published = terminal.run("./fleetlane flow list")
        exit_codes = exit_code, terminal.ctrl_c()
    return Visit(
        first=first,
        both=both,
        own=own,
        five_bytes=five_bytes,
        author=author,
        flows=flows,
        parked=parked,
        fleet=fleet,
        console=console,
        verified=verified,
        again=again,
        published=published,
        exit_codes=exit_codes,
        left_running=tuple(processes_of(checkout)),
    )


def test_the_first_message_comes_out_as_an_event(visit: Visit) -> None:
    assert data_in(visit.first) == [FIRST]


def test_what_is_sent_by_curl_comes_out_as_an_event(visit: Visit) -> None:
    assert data_in(visit.both) == [FIRST, BY_CURL]


def test_a_parser_of_ones_own_makes_events(visit: Visit) -> None:
    assert data_in(visit.own) == [{"measured_at": 0x6908B855, "share": 0.5}]


def test_what_ones_own_parser_refuses_is_parked_with_its_sentence(visit: Visit) -> None:
    assert "5 bytes; a level is 6 bytes" in visit.five_bytes


def test_a_parsers_author_begins_with_what_works(visit: Visit) -> None:
    assert visit.author["Begin"].endswith("tank: tank@0.1.0, 2 samples: ok\n")


def test_an_author_sees_what_a_message_becomes(visit: Visit) -> None:
    assert "1762179157   0.5" in visit.author["Try it"]


def test_an_authors_samples_are_written_down_and_hold(visit: Visit) -> None:
    assert visit.author["Test it"].count("tank: tank@0.1.0, 2 samples: ok\n") == 2
    assert '"detail": "3 bytes; levels are 6 bytes each"' in visit.author["Test it"]


def test_an_authors_own_pytest_passes(visit: Visit) -> None:
    assert " 1 passed in " in visit.author["Test it"]


def test_an_author_builds_an_artifact(visit: Visit) -> None:
    assert "offers tank==0.1.0; runs on any" in visit.author["Build it"]


def test_an_author_sees_a_change_before_it_goes_out(visit: Visit) -> None:
    assert "share 0.5116666666666667 -> 0.5" in visit.author["Change it"]


def test_an_author_compares_real_messages(visit: Visit) -> None:
    assert "2 messages: 2 same; both refuse 1\n" in visit.author["Real messages"]


def test_an_author_tries_a_parked_message_again(visit: Visit) -> None:
    assert visit.author["Real messages"].endswith("it still is malformed\n")


def test_an_author_deploys_publishes_and_rolls_back(visit: Visit) -> None:
    printed = visit.author["Deploy it"]

    assert "parsers/water-works/tank/0.1.0.zip: flows of water-works may use tank==0.1.0" in printed
    assert printed.count(" are in force\n") == 2


def test_flows_are_checked_published_listed_and_rolled_back(visit: Visit) -> None:
    checked, published = visit.flows["Check"], visit.flows["Publish"]

    assert checked.endswith("build/pollen: 1 flow, no problems\n")
    assert published.count(" are in force\n") == 2
    assert sum(line.endswith("  in force") for line in published.splitlines()) == 2


def test_flows_in_force_are_drawn_and_described(visit: Visit) -> None:
    shown = visit.flows["Show"]

    assert shown.startswith("flowchart LR\n")
    assert '"id": "fleetlane:gps"' in shown


def test_what_is_parked_is_looked_at_exported_and_replayed(visit: Visit) -> None:
    look, export = visit.parked["Look"], visit.parked["Mend"]

    assert "5 bytes; a level is 6 bytes" in look
    assert "outcome: parked" in look
    assert export.count(".record.json\n") == 2
    assert "1 message replayed, revision 0" in visit.parked["Send again"]


def test_a_range_that_would_be_replayed_is_counted(visit: Visit) -> None:
    counted = visit.parked["Everything of a time, once more"]

    assert " would be replayed, revision 1" in counted


def test_the_fleet_is_asked_and_reported(visit: Visit) -> None:
    assert "of registered" in visit.fleet
    assert visit.fleet.endswith("written to build/fleet-report.html\n")


def console_pages(printed: str) -> Mapping[str, str]:
    """What a browser gets at the address that ``up`` printed."""
    (address,) = (line.split()[1] for line in printed.splitlines() if line.startswith("console "))
    paths = ("/", "/flows/tank", "/devices/d-1", "/parked", "/ledger", "/fleet")
    with httpx.Client(follow_redirects=True, timeout=60, trust_env=False) as browser:
        at_first = browser.get(address)
        pages = {path: browser.get(str(at_first.url.join(path))) for path in paths}
        with browser.stream("GET", str(at_first.url.join("/live"))) as live:
            pages["/live"] = live
            first = next(live.iter_lines())
    assert {one.status_code for one in pages.values()} == {200}
    return {path: first if path == "/live" else page.text for path, page in pages.items()}


def test_the_console_shows_one_s_own_flow_with_its_events_and_what_is_parked(visit: Visit) -> None:
    page = visit.console["/flows/tank"]

    assert "&#34;share&#34;:0.5" in page
    assert "5 bytes; a level is 6 bytes" in visit.five_bytes
    assert "… bytes; a level is … bytes" in visit.console["/parked"]


def test_the_console_shows_flows_with_their_rates_once_and_live(visit: Visit) -> None:
    assert '<a href="/flows/gps">' in visit.console["/"]
    assert "/s, fleet-tracking" in visit.console["/"]
    assert visit.console["/live"].startswith('data: "')


def test_the_console_shows_one_s_device_the_ledger_and_the_report(visit: Visit) -> None:
    assert "tracker" in visit.console["/devices/d-1"]
    assert "Ledger by hour of arrival" in visit.console["/ledger"]
    assert "At a glance" in visit.console["/fleet"]


def test_the_platform_is_verified_as_a_stage_is(visit: Visit) -> None:
    lines = visit.verified.splitlines()

    begun = [line.split()[1] for line in lines if line.startswith("expected  ")]
    assert begun == ["flows:", "door:", "canonical:", "lake:", "ledger:", "report:"]
    assert lines[-1].startswith("verified in ")


def test_what_was_published_is_in_force_after_a_restart(visit: Visit) -> None:
    in_force = [line for line in visit.published.splitlines() if line.endswith("  in force")]
    printed = visit.flows["Publish"].splitlines()
    rolled_back_to = [line for line in printed if line.endswith(" are in force")][-1]

    assert len(in_force) == 1
    assert in_force[0].split()[0] in rolled_back_to


def test_the_data_is_there_at_the_next_start(visit: Visit) -> None:
    assert visit.again == visit.both


def test_ctrl_c_ends_the_platform_as_one_wishes(visit: Visit) -> None:
    assert visit.exit_codes == (0, 0)


def test_nothing_is_left_running(visit: Visit) -> None:
    assert visit.left_running == ()


def data_in(printed: str) -> list[object]:
    """The data of the canonical events in what was printed."""
    return [found["data"] for found in objects_in(printed) if "data" in found]


def objects_in(printed: str) -> Iterator[dict[str, Any]]:
    decoder, at = json.JSONDecoder(), printed.find("{")
    while at >= 0:
        found, end = decoder.raw_decode(printed, at)
        yield found
        at = printed.find("{", end)


def processes_of(checkout: Path) -> list[str]:
    """The commands of all processes that have something of the checkout in them."""
    ps = ["ps", "-eo", "args"]
    listed = subprocess.run(ps, capture_output=True, text=True, check=True)
    return [line for line in listed.stdout.splitlines() if str(checkout) in line]
