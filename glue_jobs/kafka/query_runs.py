"""Runs of queries as OpenLineage events, where that has settings: each start, and how it ended."""

import logging
import os
import re
import threading
import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from fleetlane.events.job_arguments import JobArguments
from fleetlane.events.times import now_ms, rfc3339
from fleetlane.events.topics import MIRRORED_GROUPS, mirrored_group
from glue_jobs.kafka.admin import KafkaAdmin, KafkaAdminError

if TYPE_CHECKING:
    from glue_jobs.kafka.source_and_sink import QueryPlan

LIMIT_S: Final = 10.0
ERROR_CHARS_MAX: Final = 300
_QUOTED: Final = re.compile(r"""(['"]).*\1""")  # in an error: it may be a device's value
_THREAD: Final = "lineage of a run"
_log = logging.getLogger(__name__)
type _Run = tuple[StreamingQuery, SparkSession, JobArguments, QueryPlan]


def followed(
    query: StreamingQuery, session: SparkSession, arguments: JobArguments, plan: "QueryPlan"
) -> StreamingQuery:
    """Send its start and its end, in a thread: no query waits for that, or ends by it."""
    is_set = any(one.startswith("OPENLINEAGE") for one in os.environ)  # noqa: TID251 - its client's
    if is_set or arguments.openlineage_url:
        run = query, session, arguments, plan
        threading.Thread(target=_follow, args=(run,), name=_THREAD, daemon=True).start()
    return query


def wait_for_ends(limit_s: float = LIMIT_S) -> None:
    """Wait until the ends of queries that ended are sent, so long at most."""
    until_s = time.monotonic() + limit_s
    for one in threading.enumerate():
        if one.name == _THREAD:
            one.join(max(0.0, until_s - time.monotonic()))


def _follow(run: _Run) -> None:
    _send(run, "START")
    try:
        run[0].awaitTermination()
    except Exception as problem:  # noqa: BLE001 - Spark's, of many kinds
        line = _QUOTED.sub("…", str(problem).partition("\n")[0])
        _send(run, "FAIL", f"{type(problem).__name__}: {line}"[:ERROR_CHARS_MAX])
    else:
        _send(run, "COMPLETE")


def _send(run: _Run, state: str, error: str = "") -> None:
    """Log what cannot be sent."""
    query, session, arguments, plan = run
    # A checkout's address may have a password in it.
    config: dict[str, Any] = {"facets": {"source_code_location": {"disabled": True}}}
    if arguments.openlineage_url:
        config["transport"] = {"type": "http", "url": arguments.openlineage_url}
    try:
        from openlineage.client import OpenLineageClient, event_v2, facet_v2  # noqa: PLC0415 - slow

        at, topics, stage = rfc3339(now_ms()), frozenset[str](), f"fleetlane-{arguments.stage}"
        with suppress(KafkaAdminError), closing(KafkaAdmin(session, arguments)) as admin:
            topics = admin.topics()
        kafka = f"kafka://{arguments.kafka_bootstrap_servers.partition(',')[0]}"
        reads, writes = (
            [(kafka, one) for one in sorted(topics) if re.fullmatch(pattern, one)]
            for pattern in (plan.pattern, plan.writes)
        )
        event_v2.set_producer("https://pypi.org/project/fleetlane")
        owner = facet_v2.ownership_job.Owner("application:fleetlane")
        facets = {
            "jobType": facet_v2.job_type_job.JobTypeJobFacet("STREAMING", "FLEETLANE", "QUERY"),
            "ownership": facet_v2.ownership_job.OwnershipJobFacet([owner]),
        }
        failure = facet_v2.error_message_run.ErrorMessageRunFacet(error, "JAVA")
        name = mirrored_group(plan.name).removeprefix(MIRRORED_GROUPS)
        event = event_v2.RunEvent(
            eventTime=at,
            eventType=event_v2.RunState[state],
            run=event_v2.Run(str(query.runId), {"errorMessage": failure} if error else {}),
            job=event_v2.Job(stage, f"query.{name}", facets),
            inputs=[event_v2.InputDataset(*one) for one in reads],
            outputs=[
                *(event_v2.OutputDataset(*one) for one in writes),
                *(event_v2.OutputDataset(stage, one) for one in plan.tables),
            ],
        )
        client = OpenLineageClient(config=config)
        client.emit(event)
        client.close(LIMIT_S)
    except Exception as problem:  # noqa: BLE001 - each transport has errors of its own
        _log.warning("%s of query %s was not sent as lineage: %s", state, plan.name, problem)
