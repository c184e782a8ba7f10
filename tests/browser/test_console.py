"""The console as people meet it: in light and in dark, on a phone, by keyboard, read aloud."""

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
import uvicorn
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from clients.aws import AwsSettings
from fleetlane.events.flows.files import flows_in
from fleetlane.events.lanes import Lane
from fleetlane.events.metadata import Outcome
from local.checkout import FLOWS
from operations.console.app import ConsoleApp
from operations.console.pages import Page as ConsolePage
from operations.console.pages import Pages, picture_of
from operations.console.replays import Replays
from operations.endpoints import Endpoints
from operations.fleet.issues import ISSUES
from operations.lanes.status import LaneStatus, QueryStatus, Status
from operations.lanes.tally import LaneCounts
from operations.messages.parked import ParkedFilter
from operations.messages.trace import MessageTrace, message_trace
from operations.platform import Platform
from tests.browser.visits import empty_page, visit
from tests.unit.operations.stored_messages import RAW_ID, FakeStore, message_of
from tests.unit.operations.test_console_replays import FakePlatform, IssuePages

NOWHERE: Final = Endpoints(api="", kafka="", s3="", dynamodb="", region="")
ISSUE: Final = {
    "stream": "thermo",
    "reason": "malformed",
    "problem": "… bytes; a level is … bytes",
    "messages": 12_345,
    "devices": 17,
    "first_ms": 1_794_000_000_000,
    "last_ms": 1_794_000_000_000,
    "firmware": ["1.0", "2.0-beta.with-a-long-name"],
    "parsers": ["acme-thermo@1.2.0"],
    "id": "1" + "ab" * 16,
    "new_since": "acme-thermo@1.2.0",
    "hours": [0] * 20 + [1, 5, 3, 2],
}


STATUS: Final = Status(
    at_ms=1_794_000_000_000,
    window_s=60.0,
    lanes=(
        LaneStatus(
            lane=Lane.FAST, parsed_per_s=1.5, parked_percent=None, waiting=3, oldest_arrival_ms=1
        ),
    ),
    queries=(
        QueryStatus(query="parse-fast", waiting=3, seen_ms=1_793_999_999_000),
        QueryStatus(query="lake-events", waiting=3, seen_ms=None),
    ),
    streams={"gps": LaneCounts(parsed=90, parked=10)},
)


def trace_of_a_message() -> MessageTrace:
    store = FakeStore()
    store.land(message_of())
    store.tell(message_of(), Outcome.PARSED, events=1)
    store.emit(message_of(), f"{RAW_ID}-0")
    return message_trace(store, RAW_ID, since_ms=None)


def replaying_console(platform: Any) -> ConsoleApp:
    replays = Replays(platform, token="none")  # noqa: S106 - of this test
    return ConsoleApp(IssuePages(), token="none", replays=replays)  # noqa: S106 - likewise


@contextmanager
def served(console: ConsoleApp) -> Iterator[str]:
    """Its address, with the token."""
    server = uvicorn.Server(uvicorn.Config(console.starlette(), log_level="warning"))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/parked?token=none"
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages of the flows, of parked messages, of a message and of a replay, as files."""
    folder, flows = tmp_path_factory.mktemp("console"), list(flows_in(FLOWS).values())
    platform = Platform(resources=NOWHERE.resources, aws=AwsSettings(region_name="eu-central-1"))
    app = ConsoleApp(Pages(platform), token="none")  # noqa: S106 - nobody is served
    of_flows = ConsolePage(
        title="Flows",
        template="flows.html.j2",
        notes=["Kafka cannot be read: timed out"],
        shown={
            "flows": flows,
            "status": STATUS,
            "picture": picture_of(flows, STATUS),
            "lanes": ["fast", "slow"],
            "owners": ["acme-sensors"],
            "chosen": {"lane": "fast", "owner": "", "search": ""},
        },
    )
    of_message = ConsolePage(
        title="Message", template="message.html.j2", shown={"trace": trace_of_a_message()}
    )
    of_issues = ConsolePage(title="Parked", tables=[ISSUES.of([ISSUE])])
    replaying = replaying_console(FakePlatform())
    of_replays = replaying.written(replace(of_issues, template="parked.html.j2"))
    shown = {"wanted": ParkedFilter(stream="thermo", reason="malformed", until_ms=1)}
    of_replay = ConsolePage(
        title="Replay of thermo, malformed",
        template="replay.html.j2",
        notes=["12,345 messages would be replayed, revision 0", "estimated time: 62 s or more"],
        shown={**shown, "limit": 10_000, "confirms": True},
    )
    (folder / "replays.html").write_text(of_replays, encoding="utf-8")
    (folder / "replay.html").write_text(replaying.written(of_replay), encoding="utf-8")
    (folder / "message.html").write_text(app.written(of_message), encoding="utf-8")
    (folder / "flows.html").write_text(app.written(of_flows), encoding="utf-8")
    (folder / "parked.html").write_text(app.written(of_issues), encoding="utf-8")
    return folder


@pytest.fixture(params=["flows", "parked", "replays", "replay", "message"])
def file(pages: Path, request: pytest.FixtureRequest) -> Path:
    return pages / f"{request.param}.html"


@pytest.fixture(params=["light", "dark"])
def page(browser: Browser, file: Path, request: pytest.FixtureRequest) -> Iterator[Page]:
    with visit(browser, file, color_scheme=request.param) as page:
        yield page


def test_axe_has_no_complaint(page: Page) -> None:
    found = Axe().run(page)

    assert found.violations_count == 0, found.generate_report()


def test_nobody_has_to_scroll_sideways_on_a_phone(browser: Browser, file: Path) -> None:
    with visit(browser, file, viewport={"width": 320, "height": 900}) as page:
        content, window = page.evaluate(
            "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        )

    assert content <= window


def test_the_first_tab_leads_past_the_navigation(page: Page) -> None:
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    assert page.evaluate("document.activeElement.id") == "main"


def test_a_flow_in_the_picture_is_a_link_with_its_name(browser: Browser, pages: Path) -> None:
    with visit(browser, pages / "flows.html") as page:
        link = page.locator("svg").get_by_role("link", name=re.compile("gps"))

        assert link.get_attribute("href") == "/flows/gps"


def test_it_needs_no_script(browser: Browser, pages: Path) -> None:
    with visit(browser, pages / "flows.html", java_script_enabled=False) as page:
        shown = page.get_by_role("heading", name="Flows").is_visible()

    assert shown


def test_two_buttons_replay_without_a_script_and_the_page_loaded_again_does_not(
    browser: Browser,
) -> None:
    platform = FakePlatform()
    platform.store.park(message_of(), at_ms=1)
    with (
        served(replaying_console(platform)) as address,
        empty_page(browser, java_script_enabled=False) as page,
    ):
        page.goto(address)
        page.get_by_role("button", name="replay … tank, malformed").click()
        page.get_by_role("button", name="Replay now").click()
        said = page.get_by_role("main").inner_text()
        page.reload()
        said_again = page.get_by_role("main").inner_text()

    assert "1 message replayed" in said
    assert "were replayed since" in said_again
    assert len(platform.kafka.landed) == 1
