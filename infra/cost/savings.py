"""Savings: what lowers the bill, each with its effect on the scenario's month."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from fleetlane.events.lanes import LANE_LIMITS, Lane
from infra.cost.bill import bill, kafka_metrics
from infra.cost.edge import accepted_line_bytes
from infra.cost.figures import Figures
from infra.cost.jobs import (
    checkpoints_usd,
    worker_hour_usd,
    workers_needed,
    workers_of_stage,
)
from infra.cost.scenario import HOURS_A_MONTH, INLINE_KIB_MAX, Scenario
from infra.cost.self_hosted_edge import gateway_usd, self_hosted_usd
from infra.stages import Engine

READINGS_A_MESSAGE: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Saving:
    """What is paid in a month ``now`` and ``then``, for what the saving changes."""

    name: str
    now_usd: float
    then_usd: float

    @property
    def saved_usd(self) -> float:
        return self.now_usd - self.then_usd


def savings(scenario: Scenario, figures: Figures) -> Iterator[Saving]:
    """The large ones; each on its own, from the same bill."""
    now_usd = bill(scenario, figures).usd
    yield Saving(
        name=f"Batching: a device sends {READINGS_A_MESSAGE} readings in one message",
        now_usd=now_usd,
        then_usd=bill(batched(scenario, READINGS_A_MESSAGE), figures).usd,
    )
    yield Saving(
        name="A self-hosted edge on Fargate instead of API Gateway and Lambda",
        now_usd=gateway_usd(scenario, figures),
        then_usd=self_hosted_usd(scenario, figures),
    )
    yield _engine(scenario, figures)
    yield _workers(scenario, figures)
    yield _trigger_of_fast(figures)
    yield Saving(
        name="MSK's metrics by broker instead of by topic",
        now_usd=figures.usd("metric_month", kafka_metrics(scenario, figures)),
        then_usd=figures.usd("metric_month", _broker_metrics(scenario, figures)),
    )
    yield Saving(
        name="No line in the log for each accepted message",
        now_usd=_accepted_lines_usd(scenario, figures),
        then_usd=0.0,
    )
    yield Saving(
        name="Receipts, if all streams opted in",
        now_usd=0.0,
        then_usd=receipt_usd(figures) * scenario.messages_a_month,
    )


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


def _engine(scenario: Scenario, figures: Figures) -> Saving:
    glue_usd, emr_usd = (
        bill(with_engine(scenario, engine), figures).usd for engine in (Engine.GLUE, Engine.EMR)
    )
    return Saving(name="EMR Serverless instead of Glue", now_usd=glue_usd, then_usd=emr_usd)


def _workers(scenario: Scenario, figures: Figures) -> Saving:
    usd = worker_hour_usd(scenario.stage.engine, figures) * HOURS_A_MONTH
    needed = {lane: workers_needed(scenario, lane, figures) for lane in scenario.traffic}
    running = {lane: max(workers_of_stage(scenario, lane), n) for lane, n in needed.items()}
    few, many = sum(needed.values()), sum(running.values())
    return Saving(
        name=f"{few} workers, as many as the CPU load needs, instead of {many}",
        now_usd=usd * many,
        then_usd=usd * few,
    )


def _trigger_of_fast(figures: Figures) -> Saving:
    now_usd, then_usd = (
        checkpoints_usd(LANE_LIMITS[lane].trigger_ms, figures) for lane in (Lane.FAST, Lane.SLOW)
    )
    return Saving(
        name="The fast lane at the slow lane's trigger", now_usd=now_usd, then_usd=then_usd
    )


def _broker_metrics(scenario: Scenario, figures: Figures) -> float:
    return scenario.stage.broker_count * figures.measure("kafka_metrics_per_broker")


def _accepted_lines_usd(scenario: Scenario, figures: Figures) -> float:
    logged_bytes = accepted_line_bytes(figures) * scenario.messages_a_month
    return figures.usd("log_gb", logged_bytes / 1e9)
