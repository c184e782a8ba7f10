"""The views of streams in the Glue Data Catalog, which here is moto's, as the flows change."""

import base64
import json
import logging
from collections.abc import Iterator
from copy import replace
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import boto3
import pytest

from clients.flows.store import FlowsNotPublishedError, FlowStore
from clients.lake.view_sql import Engine, select
from fleetlane.events.flows.files import flow_from_toml
from fleetlane.events.flows.flow import Flow
from fleetlane.events.job_arguments import LakeArguments, LakeTables
from fleetlane.events.lake.tables import NAMESPACE
from fleetlane.events.lake.views import view_of
from glue_jobs.lake.stream_views import StreamViews, stream_views
from tests.contract.aws_in_process import SETTINGS, buckets

if TYPE_CHECKING:
    from mypy_boto3_glue.client import GlueClient

BUCKET = "flows"


@dataclass(frozen=True, kw_only=True)
class Place:
    """The flows, a catalog, and what puts the views of the one into the other."""

    flows: FlowStore
    glue: "GlueClient"
    views: StreamViews

    def publish(self, *flows: Flow) -> None:
        self.flows.make_current(self.flows.publish(list(flows)))

    def tables(self) -> dict[str, Any]:
        listed = self.glue.get_tables(DatabaseName=NAMESPACE)["TableList"]
        return {table["Name"]: table for table in listed}


@pytest.fixture
def place() -> Iterator[Place]:
    with buckets(BUCKET) as s3:
        flows, glue = FlowStore(s3, BUCKET), boto3.client("glue", region_name=SETTINGS.region_name)
        glue.create_database(DatabaseInput={"Name": NAMESPACE})
        yield Place(flows=flows, glue=glue, views=StreamViews(flows, glue, NAMESPACE))


def flow(stream: str, **properties: str) -> Flow:
    text = f'stream = "{stream}"\nowner = "acme"\n[[parsers]]\nuse = "json"\n'
    kinds = {name: {"type": kind} for name, kind in properties.items()}
    schema: dict[str, object] = {"type": "object", "properties": kinds}
    return replace(flow_from_toml(text, file=stream), schema=schema if properties else None)


def definition(table: dict[str, Any]) -> dict[str, Any]:
    """What Athena reads of a view."""
    text = table["ViewOriginalText"].removeprefix("/* Presto View: ").removesuffix(" */")
    found: dict[str, Any] = json.loads(base64.b64decode(text, validate=True))
    return found


def test_each_stream_with_a_schema_has_a_view(place: Place) -> None:
    place.publish(flow("thermo", celsius="number"), flow("door-alarms", at="string"), flow("bare"))

    place.views.put_new()

    assert sorted(place.tables()) == ["stream_door_alarms", "stream_thermo"]


def test_a_view_is_as_athena_writes_it(place: Place) -> None:
    thermo = flow("thermo", celsius="number", place="string", tags="array")
    place.publish(thermo)

    place.views.put_new()

    table, view = place.tables()["stream_thermo"], view_of(thermo)
    assert view is not None
    assert (table["TableType"], table["ViewExpandedText"]) == ("VIRTUAL_VIEW", "/* Presto View */")
    assert table["Parameters"] == {"presto_view": "true", "comment": "Presto View"}
    assert definition(table)["originalSql"] == select(view, Engine.ATHENA)


def test_its_columns_have_the_types_of_athena_and_of_hive(place: Place) -> None:
    place.publish(flow("thermo", celsius="number", place="string", tags="array"))

    place.views.put_new()

    table = place.tables()["stream_thermo"]
    hive = {one["Name"]: one["Type"] for one in table["StorageDescriptor"]["Columns"]}
    athena = {one["name"]: one["type"] for one in definition(table)["columns"]}
    names = ("arrived_at", "day", "revision", "celsius", "place", "tags")
    assert [athena[name] for name in names] == [
        "timestamp(3)", "date", "bigint", "double", "varchar", "varchar"
    ]  # fmt: skip
    assert [hive[name] for name in names] == [
        "timestamp", "date", "bigint", "double", "string", "string"
    ]  # fmt: skip
    assert list(hive) == list(athena)


def test_a_view_follows_its_schema(place: Place) -> None:
    place.publish(flow("thermo", celsius="number"))
    place.views.put_new()
    place.publish(flow("thermo", celsius="number", humidity="integer"))

    place.views.put_new()

    columns = definition(place.tables()["stream_thermo"])["columns"]
    assert {one["name"] for one in columns} >= {"celsius", "humidity"}


def test_a_view_that_is_as_it_should_be_is_not_written_again(place: Place) -> None:
    place.publish(flow("thermo", celsius="number"))
    place.views.put_new()
    before = place.tables()

    StreamViews(place.flows, place.glue, NAMESPACE).put_new()

    assert place.tables() == before


def test_the_view_of_a_flow_that_is_withdrawn_stays(place: Place) -> None:
    place.publish(flow("thermo", celsius="number"))
    place.views.put_new()
    place.publish(flow("gps", lat="number"))

    place.views.put_new()

    assert sorted(place.tables()) == ["stream_gps", "stream_thermo"]


def test_one_that_cannot_be_put_is_logged_and_holds_up_no_other(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    own_table = {"Name": "stream_gps", "TableType": "EXTERNAL_TABLE"}
    place.glue.create_table(DatabaseName=NAMESPACE, TableInput=own_table)  # type: ignore[arg-type]
    place.publish(flow("gps", lat="number"), flow("thermo", celsius="number"))

    with caplog.at_level(logging.WARNING):
        place.views.put_new()

    assert place.tables()["stream_gps"]["TableType"] == "EXTERNAL_TABLE"
    assert "stream_thermo" in place.tables()
    assert "view stream_gps cannot be put into the catalog: what has that" in caplog.text


def test_what_could_not_be_put_is_put_later(place: Place) -> None:
    place.glue.delete_database(Name=NAMESPACE)
    place.publish(flow("thermo", celsius="number"))
    place.views.put_new()
    place.glue.create_database(DatabaseInput={"Name": NAMESPACE})

    place.views.put_new()

    assert list(place.tables()) == ["stream_thermo"]


def test_without_flows_it_is_for_another_time(place: Place) -> None:
    with pytest.raises(FlowsNotPublishedError):
        place.views.put_new()


ARGUMENTS = LakeArguments(
    kafka_bootstrap_servers="b-1:9098",
    checkpoint_folder="s3://checkpoints",
    tables=LakeTables.EVENTS,
    lake_warehouse="s3://lake/tables",
    lake_bucket="lake",
    payload_bucket="none",
    flows_bucket=BUCKET,
)


def test_the_query_of_the_events_puts_the_views(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", str(SETTINGS.region_name))
    place.publish(flow("thermo", celsius="number"))

    views = stream_views(ARGUMENTS)

    assert views is not None
    views.put_new()
    assert list(place.tables()) == ["stream_thermo"]


@pytest.mark.parametrize(
    "other",
    [{"tables": LakeTables.FLEET}, {"lake_catalog_uri": "jdbc:x"}],
    ids=["the fleet's tables", "a laptop's catalog"],
)
def test_nobody_else_does(other: dict[str, Any]) -> None:
    assert stream_views(replace(ARGUMENTS, **other)) is None
