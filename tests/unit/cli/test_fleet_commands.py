"""``fleetlane fleet`` against a lake in a folder, and a registry that here is moto's."""

import csv
import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from typer.testing import CliRunner, Result

from clients.devices.registry import DeviceRegistry
from fleetlane.cli.main import app
from tests.contract.aws_in_process import device_table
from tests.deployed_stage import STAGE, register_lake, use_region, write_stage
from tests.known_fleet import KnownFleet, known_fleet, lake_of

type Ask = Callable[..., Result]


@pytest.fixture(scope="module")
def known() -> KnownFleet:
    return known_fleet(seed=5, devices=20, messages=200)


@pytest.fixture(scope="module")
def lake(known: KnownFleet, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlCatalog]:
    with closing(lake_of(known, tmp_path_factory.mktemp("lake"))) as lake:
        yield lake


@pytest.fixture
def ask(
    known: KnownFleet, lake: SqlCatalog, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Ask]:
    use_region(monkeypatch)
    monkeypatch.chdir(tmp_path)
    with device_table() as table:
        DeviceRegistry(table).register_all(known.devices)
        write_stage()
        register_lake(lake)
        yield run


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["fleet", *arguments, "--stage", STAGE])


@pytest.mark.parametrize(
    ("command", "heading"),
    [
        ("coverage", "of registered"),
        ("silent", "silent for"),
        ("late", "Messages by lag"),
        ("sizes", "largest"),
        ("health", "No message was parsed"),
    ],
)
def test_each_question_is_answered_in_a_table(ask: Ask, command: str, heading: str) -> None:
    answer = ask(command)

    assert answer.exit_code == 0
    assert heading in answer.stdout


def test_each_answer_has_its_rows_in_json(ask: Ask) -> None:
    document = json.loads(ask("coverage", "--by-day", "--json").stdout)

    assert [row["days"] for row in document["coverage"]] == [1, 2, 7]
    assert len(document["by_day"]) == 31
    assert document["coverage"][0]["share"] is not None


def test_published_names_of_fields_stay(ask: Ask) -> None:
    header = ask("coverage", "--by-day", "--csv").stdout.splitlines()[0]

    assert header == "day,heard,through_gateway,messages"


def test_rows_come_as_csv(ask: Ask, known: KnownFleet) -> None:
    rows = list(csv.DictReader(ask("silent", "--csv").stdout.splitlines()))

    assert rows
    assert {row["device_id"] for row in rows} <= {one.device_id for one in known.devices}


def test_two_formats_at_once_are_refused(ask: Ask) -> None:
    answer = ask("silent", "--csv", "--json")

    assert answer.exit_code == 1
    assert answer.stderr == "error: either --json or --csv can be printed, not both\n"


def test_a_device_is_reported_with_what_the_registry_says(ask: Ask) -> None:
    document = json.loads(ask("device", "d-0001", "--json").stdout)

    assert [row["device_id"] for row in document["device"]] == ["d-0001"]


def test_of_the_registry_one_devices_answer_reads_that_device_alone(
    known: KnownFleet, lake: SqlCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_region(monkeypatch)

    with device_table() as table:
        DeviceRegistry(table).register_all(known.devices)
        table.put_item(Item={"device_id": "broken"})
        write_stage()
        register_lake(lake)
        of_one, of_all = run("device", "d-0001"), run("coverage")

    assert (of_one.exit_code, of_all.exit_code) == (0, 1)


def test_a_device_that_nobody_knows_is_an_error(ask: Ask) -> None:
    answer = ask("device", "nobody")

    assert answer.exit_code == 1
    assert answer.stderr == "error: device nobody is not registered, and sent nothing in 30 days\n"


def test_a_lake_that_is_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    use_region(monkeypatch)

    with device_table():
        write_stage()
        answer = run("coverage")

    assert answer.exit_code == 1
    assert answer.stderr.startswith("error: there is no table fleetlane.received in ")


def test_the_report_is_one_page(ask: Ask, tmp_path: Path) -> None:
    answer = ask("report", "--output", "out/fleet.html")

    assert answer.stdout == "written to out/fleet.html\n"
    assert (tmp_path / "out" / "fleet.html").read_text().startswith("<!doctype html>")
