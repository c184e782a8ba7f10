"""The console's pages: who may look, what is on them, and what a device's text does there."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing
from copy import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from benchmarks.iceberg_tables import add_rows, folder_catalog
from clients.aws import s3_client
from clients.devices.registry import RegisteredDevice
from fleetlane.events.envelope import headers_of
from fleetlane.events.flows.files import flow_from_toml
from fleetlane.events.job_arguments import KafkaSecurity
from fleetlane.events.lake.tables import DAILY, LEDGER, PARKED, PARSED, RECEIVED
from fleetlane.events.stage_resources import StageResources
from fleetlane.events.times import now_ms
from local.demo.lake_tables import make_table
from operations.console.app import ConsoleApp
from operations.console.pages import Pages, picture_of
from operations.endpoints import LAPTOP
from operations.platform import Platform
from tests.brokers import broker_in_process
from tests.contract.aws_in_process import SETTINGS, device_table
from tests.unit.operations.stored_messages import RAW_ID, FakeStore, message_of
from tests.unit.operations.test_issues import parked

TOKEN = "a-token"  # noqa: S105 - of this test
ADDRESS = "http://127.0.0.1:8000"
SCRIPT = "<script>alert(1)</script>"

type Get = Callable[..., httpx.Response]


def flow(stream: str, *, owner: str = "acme", lane: str = "standard") -> Any:
    text = f'stream = "{stream}"\nowner = "{owner}"\nlane = "{lane}"\n[[parsers]]\nuse = "json"\n'
    return flow_from_toml(text, file=f"{stream}.toml")


FLOWS = (flow("thermo"), flow("gps", owner="tracking"), flow("door", lane="fast"))


@pytest.fixture
def broker() -> Iterator[Any]:
    with broker_in_process() as broker:
        yield broker


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A lake without rows."""
    with closing(folder_catalog(tmp_path)) as catalog:
        for table in (RECEIVED, PARSED, DAILY, PARKED, LEDGER):
            make_table(catalog, table)
    return tmp_path


@pytest.fixture
def platform(broker: Any, lake: Path) -> Iterator[Platform]:
    """Flows and devices in moto's AWS, topics of a broker in this process."""
    resources = StageResources(
        stage=LAPTOP,
        region=str(SETTINGS.region_name),
        api_url="",
        kafka_bootstrap_servers=broker[1],
        kafka_security=KafkaSecurity.PLAINTEXT,
        devices_table="devices",
        flows_bucket="held",
        overrides_bucket="held",
        payload_bucket="held",
        parked_bucket="held",
        lake_bucket="held",
        flow_activation_function="",
    )
    found = Platform(resources=resources, aws=SETTINGS, lake_catalog=lake / "catalog.db")
    with device_table():
        flows = found.publisher.flows
        s3_client(SETTINGS).create_bucket(Bucket="held")
        flows.make_current(flows.publish(FLOWS))
        found.registry.register(device("d-17"))
        yield found


def device(device_id: str) -> RegisteredDevice:
    return RegisteredDevice(device_id=device_id, device_type="tank", keys=(), registered_ms=1)


@pytest.fixture
def get(platform: Platform) -> Get:
    return asking(ConsoleApp(Pages(platform), token=TOKEN))


def asking(console: ConsoleApp) -> Get:
    app, own = console.starlette(), {"Cookie": f"fleetlane_console_8000={TOKEN}"}

    def got(
        path: str, headers: dict[str, str] = own, method: str = "GET", **sent: Any
    ) -> httpx.Response:
        async def asked() -> httpx.Response:
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=transport, base_url=ADDRESS) as client:
                return await client.request(method, path, headers=headers, **sent)

        return asyncio.run(asked())

    return got


@pytest.mark.parametrize("path", ["/", "/flows/thermo", "/devices/d-17", "/fleet", "/find?q=gps"])
def test_without_the_token_nothing_of_the_platform_is_shown(get: Get, path: str) -> None:
    answer = get(path, headers={})

    assert answer.status_code == 401
    assert "thermo" not in answer.text


def test_nobody_follows_the_live_page_without_the_token(get: Get) -> None:
    assert get("/live", headers={}).status_code == 401


def test_a_token_that_is_not_ascii_is_refused_as_any_other(get: Get) -> None:
    assert get("/?token=%C3%A9", headers={}).status_code == 401


def test_the_address_with_the_token_leads_to_one_without(get: Get) -> None:
    answer = get(f"/parked?token={TOKEN}", headers={})

    assert (answer.status_code, answer.headers["location"]) == (303, "/parked")
    assert "HttpOnly" in answer.headers["set-cookie"]


def test_a_page_elsewhere_whose_name_leads_here_is_refused(get: Get) -> None:
    answer = get(f"/?token={TOKEN}", headers={"Host": "evil.example:8000"})

    assert answer.status_code == 400


def test_nothing_can_be_changed(get: Get) -> None:
    assert get("/parked", method="POST").status_code == 405


def test_a_page_runs_our_own_script_alone_and_is_kept_nowhere(get: Get) -> None:
    headers = get("/").headers

    assert "script-src 'self'" in headers["content-security-policy"]
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["cache-control"] == "no-store"


def test_many_flows_are_drawn_by_owners_whose_names_lead_to_their_flows() -> None:
    flows = [replace(FLOWS[0], stream=f"tank-{at}", owner=f"team-{at % 3}") for at in range(41)]

    picture = picture_of(flows, None)

    assert picture.count('class="owner"') == 3
    assert 'href="/?owner=team-2"' in picture
    assert "13 flows, 0.0/s" in picture
    assert picture_of(flows[:40], None).count('class="flow"') == 40


def test_the_first_page_has_every_flow_in_its_picture_and_as_text(get: Get) -> None:
    page = get("/").text

    assert all(page.count(f'href="/flows/{one.stream}"') == 2 for one in FLOWS)


@pytest.mark.parametrize(
    ("chosen", "streams"),
    [
        ("lane=fast", {"door"}),
        ("owner=tracking", {"gps"}),
        ("search=o", {"thermo", "door"}),
        ("lane=fast&owner=tracking", set[str]()),
    ],
)
def test_flows_are_chosen_by_lane_owner_and_name(get: Get, chosen: str, streams: set[str]) -> None:
    page = get(f"/?{chosen}").text

    assert {one.stream for one in FLOWS if f'href="/flows/{one.stream}"' in page} == streams


def test_what_kafka_does_not_say_is_said_and_all_else_is_there(get: Get) -> None:
    page = get("/")

    assert page.status_code == 200
    assert "Kafka cannot be read" in page.text


def test_a_flow_that_is_not_there_is_named(get: Get) -> None:
    answer = get("/flows/toaster")

    assert answer.status_code == 404
    assert "no flow for stream" in answer.text


def test_a_flow_shows_its_newest_events_and_what_of_it_is_parked(
    get: Get, broker: Any, lake: Path
) -> None:
    producer, _ = broker
    record = FakeStore().emit(message_of(stream="thermo"), f"{RAW_ID}-0")
    producer.produce(record.topic, value=record.value)
    producer.flush(5)
    park(lake, parked(1, stream="thermo", parked_ms=now_ms() - 1_000))

    page = get("/flows/thermo").text

    assert f'href="/messages/{RAW_ID}"' in page
    assert "… bytes; a level is … bytes" in page


def park(lake: Path, *rows: Any) -> None:
    with closing(folder_catalog(lake)) as catalog:
        add_rows(catalog, PARKED, [dict(one) for one in rows])


def test_an_issue_leads_to_its_flow_and_to_its_newest_message(get: Get, lake: Path) -> None:
    row = parked(7, stream="gps", parked_ms=now_ms() - 1_000)
    park(lake, row)

    page = get("/parked").text

    assert '<a href="/flows/gps">gps</a>' in page
    assert f'<a href="/messages/{row["id"]}">' in page


def test_what_a_device_wrote_is_text_on_every_page(get: Get, lake: Path, broker: Any) -> None:
    park(lake, parked(1, detail=SCRIPT, parked_ms=now_ms() - 1_000))
    land(broker, message_of(content_type=SCRIPT, firmware=SCRIPT))

    pages = [get("/parked").text, get(f"/messages/{RAW_ID}").text]

    assert all(SCRIPT not in page and "&lt;script&gt;" in page for page in pages)


def land(broker: Any, message: Any) -> None:
    producer, _ = broker
    producer.produce("raw.standard", value=message.body, headers=headers_of(message))
    producer.flush(5)


def test_a_message_is_followed_from_its_receipt_and_leads_to_its_device(
    get: Get, broker: Any
) -> None:
    land(broker, message_of())

    page = get(f"/messages/{RAW_ID[:12]}").text

    assert "landed in raw.standard" in page
    assert '<a href="/devices/d-17">d-17</a>' in page


def test_a_message_that_nobody_knows_is_not_found(get: Get, broker: Any) -> None:
    land(broker, message_of())

    assert get(f"/messages/1{'0' * 32}").status_code == 404


def test_a_device_is_found_by_how_its_id_begins(get: Get) -> None:
    page = get("/devices/d-1")

    assert page.status_code == 200
    assert "Device d-17" in page.text


def test_a_device_that_nobody_knows_is_not_found(get: Get) -> None:
    assert get("/devices/toaster").status_code == 404


@pytest.mark.parametrize(
    ("wanted", "path"),
    [("gps", "/flows/gps"), (RAW_ID, f"/messages/{RAW_ID}"), ("d-17", "/devices/d-17")],
)
def test_what_is_looked_for_leads_to_its_page(get: Get, wanted: str, path: str) -> None:
    assert get(f"/find?q={wanted}").headers["location"] == path


def test_what_is_looked_for_leads_to_no_other_site(get: Get) -> None:
    assert get("/find?q=//evil.example").headers["location"] == "/devices///evil.example"


def test_a_lake_that_is_not_there_yet_is_said_on_the_page(get: Get, lake: Path) -> None:
    (lake / "catalog.db").unlink()

    answers = {path: get(path) for path in ("/parked", "/ledger", "/devices", "/fleet")}

    assert [one.status_code for one in answers.values()] == [200, 200, 200, 503]
    assert all("the lake&#39;s job writes it first" in one.text for one in answers.values())


def test_the_report_and_an_empty_ledger_are_shown(get: Get) -> None:
    assert "Fleet report" in get("/fleet").text
    assert "The standing ledger has no hours yet" in get("/ledger").text
