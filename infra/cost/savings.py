"""Savings: what lowers the bill, each with its effect on the scenario's month."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from fleetlane.events.lanes import LANE_LIMITS, Lane
from infra.cost.bill import bill, kafka_metrics
from infra.cost.edge import accepted_line_bytes, gateway_usd, self_hosted_usd
from infra.cost.figures import Figures
from infra.cost.jobs import checkpoints_usd, worker_hour_usd, workers_needed, workers_of_stage
from infra.cost.scenario import GB, HOURS_A_MONTH, INLINE_KIB_MAX, Scenario
from infra.stages import Engine

READINGS_A_MESSAGE: Final = 10


def savings(scenario: Scenario, figures: Figures) -> Iterator[tuple[str, float, float]]:
    """The large ones, each on its own: its name, and what is paid in a month now and then."""
    in_batches = batched(scenario, READINGS_A_MESSAGE)
    yield (
        f"Batching: a device sends {READINGS_A_MESSAGE} readings in one message",
        bill(scenario, figures).usd,
        bill(in_batches, figures).usd,
    )
    yield (
        "A self-hosted edge on Fargate instead of API Gateway and Lambda",
        gateway_usd(scenario, figures),
        self_hosted_usd(scenario, figures),
    )
    on_glue, on_emr = (with_engine(scenario, one) for one in (Engine.GLUE, Engine.EMR))
    yield "EMR Serverless instead of Glue", bill(on_glue, figures).usd, bill(on_emr, figures).usd
    needed = {lane: workers_needed(scenario, lane, figures) for lane in scenario.traffic}
    running = {lane: max(workers_of_stage(scenario, lane), n) for lane, n in needed.items()}
    few, many = sum(needed.values()), sum(running.values())
    worker_usd = worker_hour_usd(scenario.stage.engine, figures) * HOURS_A_MONTH
    yield (
        f"{few} workers, as many as the CPU load needs, instead of {many}",
        worker_usd * many,
        worker_usd * few,
    )
    fast_usd, slow_usd = (
        checkpoints_usd(LANE_LIMITS[lane].trigger_ms, figures) for lane in (Lane.FAST, Lane.SLOW)
    )
    yield "The fast lane at the slow lane's trigger", fast_usd, slow_usd
    by_broker = scenario.stage.broker_count * figures.measure("kafka_metrics_per_broker")
    yield (
        "MSK's metrics by broker instead of by topic",
        figures.usd("metric_month", kafka_metrics(scenario, figures)),
        figures.usd("metric_month", by_broker),
    )
    logged_gb = accepted_line_bytes(figures) * scenario.messages_a_month / GB
    yield "No line in the log for each accepted message", figures.usd("log_gb", logged_gb), 0.0
    receipts_usd = receipt_usd(figures) * scenario.messages_a_month
    yield "Receipts, if all streams opted in", 0.0, receipts_usd


def batched(scenario: Scenario, readings: int) -> Scenario:
    """The same readings in fewer messages; the slow lane's messages stay as they are."""
    traffic = {
        lane: one
        if lane is Lane.SLOW
        else replace(
            one,
            messages_a_day=one.messages_a_day / readings,
            body_kib=min(INLINE_KIB_MAX, one.body_kib * readings),
        )
        for lane, one in scenario.traffic.items()
    }
    return replace(scenario, traffic=traffic)


def with_engine(scenario: Scenario, engine: Engine) -> Scenario:
    return replace(scenario, stage=replace(scenario.stage, engine=engine))


def receipt_usd(figures: Figures) -> float:
    """A message's: read before it lands, and written after."""
    return figures.usd("dynamodb_read") + figures.usd("dynamodb_write")
