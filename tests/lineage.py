"""OpenLineage's events as they were written, and whether the standard's own classes take them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import error_message_run, job_type_job, ownership_job

type Event = dict[str, Any]


@contextmanager
def written_lineage(file: Path) -> Iterator[None]:
    """OpenLineage's own settings, by which its client appends each event to a file."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENLINEAGE__TRANSPORT__TYPE", "file")
        patch.setenv("OPENLINEAGE__TRANSPORT__LOG_FILE_PATH", str(file))
        patch.setenv("OPENLINEAGE__TRANSPORT__APPEND", "true")
        yield


def events_in(file: Path) -> list[Event]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def check_facet(kind: Any, found: Event, **parts: Any) -> None:
    """A facet is one of its own class: a field that it has not is refused."""
    own = {name: value for name, value in found.items() if not name.startswith("_")}
    made = kind(**own | parts)
    assert made._get_schema() == found["_schemaURL"]


def check_run_event(event: Event) -> None:
    facets, failed = event["job"]["facets"], event["run"]["facets"].get("errorMessage")
    owners = [ownership_job.Owner(**one) for one in facets["ownership"]["owners"]]
    check_facet(ownership_job.OwnershipJobFacet, facets["ownership"], owners=owners)
    check_facet(job_type_job.JobTypeJobFacet, facets["jobType"])
    if failed is not None:
        check_facet(error_message_run.ErrorMessageRunFacet, failed)
    again = RunEvent(
        eventTime=event["eventTime"],
        producer=event["producer"],
        eventType=RunState[event["eventType"]],
        run=Run(event["run"]["runId"]),
        job=Job(event["job"]["namespace"], event["job"]["name"]),
        inputs=[InputDataset(**one) for one in event["inputs"]],
        outputs=[OutputDataset(**one) for one in event["outputs"]],
    )
    assert again.schemaURL == event["schemaURL"]
