"""Job ``fleet_watch``: quarantines runaway devices, and writes when devices were last seen."""

import re
from functools import partial
from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from clients.aws import AwsSettings, dynamodb_table, s3_client
from clients.devices.overrides import OverridesStore
from clients.devices.sightings import DeviceSightings
from clients.flows.store import CachedFlows, FlowStore
from fleetlane.events.job_arguments import FleetWatchArguments
from fleetlane.events.lanes import Lane
from fleetlane.events.metrics import FLEET_WATCH, Dimension
from fleetlane.events.times import now_ms
from fleetlane.events.topics import FLEET_ALERTS, FLEET_RECEIVED
from glue_jobs.engine.cloudwatch_metrics import published_to
from glue_jobs.engine.session import use_catalog
from glue_jobs.engine.supervisor import PeriodicTask, Supervisor, always_running
from glue_jobs.fleet_watch.batches import WatchBatches, WatchContext
from glue_jobs.fleet_watch.canary_check import CHECK_INTERVAL_S, LakeCanaries, check_canaries
from glue_jobs.fleet_watch.flow_watch import POLL_INTERVAL_S, FlowWatch, LakeHours
from glue_jobs.fleet_watch.quarantine import PerMinute, QuarantineRules
from glue_jobs.kafka.source_and_sink import QueryPlan, in_batches, raw_records, write_alerts

RECORDS_PER_BATCH_MAX: Final = 200_000
_PER_MINUTE_MAX: Final = PerMinute(messages=600, bytes=16 << 20)
"""Of a device whose flow has no rate limits of its own."""


def start(session: SparkSession, arguments: FleetWatchArguments) -> Supervisor:
    """Start the query, and keep it running; returns at once.

    Where there is a lake, flows are compared beside it with what is usual for them.
    """
    context = _context(session, arguments)
    batches = WatchBatches(
        context,
        QuarantineRules(
            hold_ms=1_000 * arguments.watch_hold_s, window_ms=1_000 * arguments.watch_window_s
        ),
        per_minute_max=_PER_MINUTE_MAX,
        sightings_at_once_max=arguments.watch_sightings_per_batch_max,
    )

    def start_query() -> StreamingQuery:
        topic, trigger_ms = re.escape(FLEET_RECEIVED), arguments.watch_trigger_ms
        records = raw_records(
            session, arguments, pattern=topic, messages_per_batch_max=RECORDS_PER_BATCH_MAX
        )
        plan = QueryPlan(
            name=FLEET_WATCH, pattern=topic, trigger_ms=trigger_ms, writes=FLEET_ALERTS
        )
        query = in_batches(records, arguments, plan=plan, each=batches.handle)
        if arguments.lake_warehouse is not None:
            uri, database = arguments.lake_catalog_uri, arguments.lake_database
            use_catalog(session, warehouse=arguments.lake_warehouse, uri=uri, database=database)
            _comparison(session, context).run_beside(query)
            _canary_check(session, arguments).run_beside(query)
        return query

    return always_running({FLEET_WATCH: start_query})


def _comparison(session: SparkSession, context: WatchContext) -> PeriodicTask:
    hours, flows = LakeHours(session), context.flows
    watch = FlowWatch(hours, flows, send=context.send, publish=context.publish, now_ms=now_ms)
    return PeriodicTask(
        name="comparison of flows with what is usual",
        run=watch.judge_hours,
        interval_s=POLL_INTERVAL_S,
        is_first_at_once=False,
    )


def _canary_check(session: SparkSession, arguments: FleetWatchArguments) -> PeriodicTask:
    namespace, canaries = arguments.metrics_namespace, LakeCanaries(session)
    publish = published_to(namespace, Dimension.JOB, FLEET_WATCH)
    of_lane = {lane: published_to(namespace, Dimension.LANE, lane) for lane in Lane}
    return PeriodicTask(
        name="check of the canary",
        run=lambda: check_canaries(
            canaries, publish=publish, publish_of_lane=of_lane, now_ms=now_ms()
        ),
        interval_s=CHECK_INTERVAL_S,
        is_first_at_once=False,
    )


def _context(session: SparkSession, arguments: FleetWatchArguments) -> WatchContext:
    s3 = s3_client(AwsSettings())
    sightings = DeviceSightings(dynamodb_table(AwsSettings(), arguments.registry_table))
    return WatchContext(
        flows=CachedFlows(
            FlowStore(s3, arguments.flows_bucket), max_age_s=arguments.flows_max_age_s
        ),
        overrides=OverridesStore(s3, arguments.overrides_bucket),
        note_sighting=sightings.note,
        send=partial(write_alerts, session, arguments),
        publish=published_to(arguments.metrics_namespace, Dimension.JOB, FLEET_WATCH),
        now_ms=now_ms,
    )
