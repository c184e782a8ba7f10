"""Flows as OpenLineage events: read back by the standard's own classes, and sent by its client."""

import json
from collections.abc import Iterator
from copy import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from openlineage.client.event_v2 import InputDataset, Job, JobEvent, OutputDataset
from openlineage.client.facet_v2 import (
    documentation_job,
    job_type_job,
    ownership_job,
    schema_dataset,
)

from fleetlane.events.flows.files import PublishedFlows, flows_in
from local.checkout import FLOWS
from operations.flows.openlineage import LineageNotSentError, lineage_lines, send_lineage
from tests.contract.teams import STAGE
from tests.lineage import check_facet, written_lineage

RESOURCES = replace(STAGE, kafka_bootstrap_servers="b-1:9098,b-2:9098")
PUBLISHED = PublishedFlows.of(flows_in(FLOWS).values())


def events() -> dict[str, dict[str, Any]]:
    written = map(json.loads, lineage_lines(PUBLISHED, RESOURCES))
    return {one["job"]["name"].removeprefix("flow."): one for one in written}


def field(one: dict[str, Any]) -> schema_dataset.SchemaDatasetFacetFields:
    inner = [field(each) for each in one.pop("fields", [])]
    return schema_dataset.SchemaDatasetFacetFields(**one, fields=inner)


@pytest.mark.parametrize("stream", PUBLISHED.by_stream)
def test_the_standards_own_classes_take_the_event_of_each_flow_of_the_demo(stream: str) -> None:
    event = events()[stream]
    facets = event["job"]["facets"]
    owners = [ownership_job.Owner(**one) for one in facets["ownership"]["owners"]]

    check_facet(ownership_job.OwnershipJobFacet, facets["ownership"], owners=owners)
    check_facet(job_type_job.JobTypeJobFacet, facets["jobType"])
    check_facet(documentation_job.DocumentationJobFacet, facets["documentation"])
    schemas = [one["facets"]["schema"] for one in event["outputs"]]
    for one in schemas:
        fields = [field(each) for each in one["fields"]]
        check_facet(schema_dataset.SchemaDatasetFacet, one, fields=fields)
    again = JobEvent(
        eventTime=event["eventTime"],
        producer=event["producer"],
        job=Job(**event["job"] | {"facets": {}}),
        inputs=[InputDataset(**one) for one in event["inputs"]],
        outputs=[OutputDataset(**one) for one in event["outputs"]],
    )
    assert again.schemaURL == event["schemaURL"]


def test_a_flow_reads_raw_topics_and_writes_those_of_its_events() -> None:
    event = events()["door"]

    assert [one["name"] for one in event["outputs"]] == ["canonical.door", "canonical.door-alarms"]
    assert "raw.fast" in [one["name"] for one in event["inputs"]]
    assert {one["namespace"] for one in event["inputs"] + event["outputs"]} == {"kafka://b-1:9098"}
    assert event["job"]["facets"]["ownership"]["owners"] == [{"name": "team:building-safety"}]


def test_the_events_schema_is_among_the_fields() -> None:
    (schema,) = [one["facets"]["schema"] for one in events()["gps"]["outputs"]]
    data = next(one for one in schema["fields"] if one["name"] == "data")

    assert {"at", "lat", "lon"} <= {one["name"] for one in data["fields"]}


@pytest.fixture
def received() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A place that takes lineage by HTTP, and what it was sent."""
    sent: list[dict[str, Any]] = []

    class Taking(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(201)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Taking)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", sent
    server.shutdown()
    server.server_close()


def test_all_flows_are_sent_to_the_address_in_openlineages_own_settings(
    monkeypatch: pytest.MonkeyPatch, received: tuple[str, list[dict[str, Any]]]
) -> None:
    url, sent = received
    monkeypatch.setenv("OPENLINEAGE_URL", url)

    assert send_lineage(PUBLISHED, RESOURCES) == len(PUBLISHED.flows)
    assert [one["job"]["name"] for one in sent] == [f"flow.{one}" for one in PUBLISHED.by_stream]


def test_lineage_goes_to_a_file_where_the_settings_name_one(tmp_path: Path) -> None:
    file = tmp_path / "lineage.json"

    with written_lineage(file):
        send_lineage(PUBLISHED, RESOURCES)

    assert len(file.read_text().splitlines()) == len(PUBLISHED.flows)


def test_a_place_that_does_not_answer_is_an_error_with_a_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__TYPE", "http")
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__URL", "http://127.0.0.1:9")
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__RETRY", '{"total": 0}')

    with pytest.raises(LineageNotSentError, match="lineage was not sent"):
        send_lineage(PUBLISHED, RESOURCES)
