"""Flows in OpenLineage: a job each, that reads raw topics and writes topics of events.

Rules: openlineage.io/docs/spec/object-model; names of datasets: openlineage.io/docs/spec/naming.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from openlineage.client import OpenLineageClient, set_producer
from openlineage.client.event_v2 import InputDataset, Job, JobEvent, OutputDataset
from openlineage.client.facet_v2 import documentation_job, job_type_job, ownership_job
from openlineage.client.facet_v2 import schema_dataset as schemas
from openlineage.client.serde import Serde

from fleetlane.events.errors import FleetlaneError
from fleetlane.events.flows.files import PublishedFlows
from fleetlane.events.flows.flow import Flow
from fleetlane.events.lanes import DECLARED_LANES, Lane
from fleetlane.events.stage_resources import StageResources
from fleetlane.events.times import now_ms, rfc3339
from operations.flows.contracts import data_contract, topics_of_events

_PRODUCER: Final = "https://pypi.org/project/fleetlane"


class LineageNotSentError(FleetlaneError):
    """The place that OpenLineage's settings name took no events."""

    problem: str
    sentence = "lineage was not sent: {problem}"


def job_events(published: PublishedFlows, resources: StageResources) -> Iterator[JobEvent]:
    """What each flow reads and writes, with its owner, its parsers and its events' schema."""
    set_producer(_PRODUCER)
    namespace = f"kafka://{resources.kafka_bootstrap_servers.partition(',')[0]}"
    for flow in published.flows:
        (table,) = data_contract(flow, version=published.version)["schema"]
        schema = schemas.SchemaDatasetFacet(list(_fields(table["properties"])))
        yield JobEvent(
            eventTime=rfc3339(now_ms()),
            job=Job(f"fleetlane-{resources.stage}", f"flow.{flow.stream}", _facets(flow)),
            inputs=[InputDataset(namespace, topic) for topic in _raw_topics(flow)],
            outputs=[
                OutputDataset(namespace, topic, facets={"schema": schema})
                for _, topic, _ in topics_of_events(flow)
            ],
        )


def lineage_lines(published: PublishedFlows, resources: StageResources) -> Iterator[str]:
    """The same as JSON, an event a line."""
    return map(Serde.to_json, job_events(published, resources))


def _facets(flow: Flow) -> dict[str, Any]:
    parsers = ", ".join(rule.use for rule in flow.parsers)
    return {
        "jobType": job_type_job.JobTypeJobFacet("STREAMING", "FLEETLANE", "FLOW"),
        "ownership": ownership_job.OwnershipJobFacet([ownership_job.Owner(f"team:{flow.owner}")]),
        "documentation": documentation_job.DocumentationJobFacet(f"Parsed by {parsers}."),
    }


def _raw_topics(flow: Flow) -> Iterable[str]:
    lanes = Lane if flow.blocks else DECLARED_LANES
    kinds = (None, *sorted(flow.device_types))
    return dict.fromkeys(flow.raw_topic(lane, device_type=kind) for lane in lanes for kind in kinds)


def _fields(columns: Iterable[Mapping[str, Any]]) -> Iterator[schemas.SchemaDatasetFacetFields]:
    for one in columns:
        inner = list(_fields(one.get("properties", ())))
        yield schemas.SchemaDatasetFacetFields(
            one["name"], one["logicalType"], one.get("description"), fields=inner
        )


def send_lineage(published: PublishedFlows, resources: StageResources) -> int:
    """Send all of them to where OpenLineage's own settings say, and give their number.

    What those are: openlineage.io/docs/client/python. Raises ``LineageNotSentError``.
    """
    try:
        client = OpenLineageClient()
        for event in job_events(published, resources):
            client.emit(event)
        client.close()
    except Exception as problem:  # each transport has errors of its own
        raise LineageNotSentError(str(problem)) from problem
    return len(published.flows)
