"""Units of one size, in the model's own figures, and what by them another size needs."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from benchmarks.scale.counts import AUTHORIZER, INGEST, INGEST_LARGE, LANES, Calls, Counts, Phase
from docs.scale import STAGE, authorizer_at_once, ingest_at_once, payloads_per_s, reads_per_s
from infra.cost.backend import brokers_needed, workers_needed
from infra.cost.scenario import DAY_S, KIB, Figures, Scenario, Traffic, figures_of_files
from infra.stages import WORKER_CPUS

type Numbers = Mapping[str, float]
type Comparison = dict[str, dict[str, float]]

_FULL_CPU_MIB: Final = 1_769
"""At which Lambda gives a whole vCPU, as a thread has here: the model gives less memory less."""


def with_measures(figures: Figures, units: Numbers) -> Figures:
    values = {name: {"value": value} for name, value in units.items()}
    return replace(figures, measures={**figures.measures, **values})


def scenario_of(counts: Counts, units: Numbers, *, authorizer_hits: float = 0.0) -> Scenario:
    """The model's view of what was counted: its messages a second, which are its own peak."""
    traffic = {
        lane: Traffic(
            messages_a_day=messages / counts.seconds * DAY_S,
            body_kib=counts.body_bytes[lane] / messages / KIB,
        )
        for lane, messages in counts.messages.items()
    }
    figures = with_measures(figures_of_files(), {**units, "authorizer_memory_mib": _FULL_CPU_MIB})
    stage = replace(STAGE, ingest_memory_mib=_FULL_CPU_MIB)
    return Scenario(
        stage=stage, traffic=traffic, figures=figures, authorizer_hits=authorizer_hits, peak=1
    )


def bytes_per_s(at: Scenario) -> float:
    """What clients write to Kafka: the model's brokers, if one took a byte a second."""
    assert at.stage.broker_type is not None
    name = f"broker_mib_per_s_{at.stage.broker_type.replace('.', '_')}"
    stage = replace(at.stage, broker_count=0)
    return brokers_needed(
        replace(at, stage=stage, figures=with_measures(at.figures, {name: 1 / KIB**2}))
    )


def lanes_cpu_us_per_s(at: Scenario) -> float:
    """The lanes' CPU: the model's workers without drivers, if one had a microsecond a second."""
    small = {"worker_busy_share": 1e-6 / WORKER_CPUS}
    tiny = replace(at, figures=with_measures(at.figures, small))
    return sum(workers_needed(tiny, lane) - 1 for lane in at.traffic)


def bytes_units(counts: Counts) -> dict[str, float]:
    """What is left of raw records, and of what jobs write, by the sizes that the model has."""
    at = scenario_of(counts, {})
    raw = bytes_per_s(_with(at, raw_compressed_share=1, output_compressed_share=0))
    output = bytes_per_s(_with(at, raw_compressed_share=0, output_compressed_share=1))
    return {
        "raw_compressed_share": counts.raw_bytes / counts.seconds / raw,
        "output_compressed_share": counts.output_bytes / counts.seconds / output,
    }


def function_units(window: Counts) -> dict[str, float]:
    """Of a call: CPU, and what it waits for, Kafka, S3 and the registry, besides."""
    small, large, authorizer = (
        window.calls.get(name, Calls()) for name in (INGEST, INGEST_LARGE, AUTHORIZER)
    )
    ingest = small.beside(large)
    cpu_ms, authorizer_cpu_ms = (
        ingest.cpu_s / ingest.calls * 1e3,
        _mean_ms(authorizer.cpu_s, authorizer),
    )
    small_ms, large_ms = _mean_ms(small.ran_s, small), _mean_ms(large.ran_s, large)
    return {
        "lambda_overhead_ms": 0.0,
        "ingest_cpu_us": cpu_ms * 1e3,
        "kafka_ack_ms": small_ms - cpu_ms,
        "payload_put_ms": large_ms - small_ms if large.calls else 0.0,
        "payload_put_ms_per_mib": 0.0,
        "authorizer_cpu_us": authorizer_cpu_ms * 1e3,
        "registry_read_ms": _mean_ms(authorizer.ran_s, authorizer) - authorizer_cpu_ms,
    }


def _mean_ms(seconds: float, of: Calls) -> float:
    return seconds / of.calls * 1e3 if of.calls else 0.0


def lanes_units(first: Phase, idle: Phase) -> dict[str, float]:
    """The CPU of parsing and of the metadata: what more messages take more.

    Both run in one application here, so their ratio is the one in measured.toml.
    """
    more_us = first.window.cpu_us_per_s(LANES) - idle.window.cpu_us_per_s(LANES)
    factor = more_us / (_lanes_us_per_s(first, {}) - _lanes_us_per_s(idle, {}))
    names, at = ("parse_cpu_us_per_kib", "metadata_cpu_us"), scenario_of(first.window, {})
    return {name: at.measure(name) * factor for name in names}


def hits_of(window: Counts) -> float:
    """The share of requests that the gateway's cache answered."""
    return 1 - window.registry_reads / window.all_messages


def door_units(first: Phase) -> dict[str, float]:
    return {**function_units(first.window), **bytes_units(first.evenly)}


def door_predicted(units: Numbers, first: Phase, second: Phase) -> Numbers:
    """What the second size needs at the API, in Kafka and in S3, by the units of the first."""
    hits = hits_of(first.window)
    at = scenario_of(second.window, units, authorizer_hits=hits)
    whole = scenario_of(second.evenly, units, authorizer_hits=hits)
    ingest_us = at.measure("ingest_cpu_us") * second.messages_per_s
    return {
        "ingest_at_once": ingest_at_once(at),
        "authorizer_at_once": authorizer_at_once(at),
        "functions_cpu_us_per_s": ingest_us + at.measure("authorizer_cpu_us") * reads_per_s(at),
        "registry_reads_per_s": reads_per_s(at),
        "payload_requests_per_s": payloads_per_s(whole),
        "kafka_bytes_per_s": bytes_per_s(whole),
    }


def door_measured(phase: Phase) -> Numbers:
    """The same, as it was counted."""
    window, whole = phase.window, phase.evenly
    ingest = window.calls[INGEST].beside(window.calls.get(INGEST_LARGE, Calls()))
    authorizer = window.calls[AUTHORIZER]
    return {
        "ingest_at_once": ingest.billed_s / window.seconds,
        "authorizer_at_once": authorizer.billed_s / window.seconds,
        "functions_cpu_us_per_s": (ingest.cpu_s + authorizer.cpu_s) / window.seconds * 1e6,
        "registry_reads_per_s": window.registry_reads / window.seconds,
        "payload_requests_per_s": whole.payload_requests / whole.seconds,
        "kafka_bytes_per_s": (whole.raw_bytes + whole.output_bytes) / whole.seconds,
    }


def lanes_predicted(units: Numbers, second: Phase, idle: Phase) -> Numbers:
    """The same of the lanes' workers; records written many at once take other bytes."""
    growing = _lanes_us_per_s(second, units) - _lanes_us_per_s(idle, units)
    return {"lanes_cpu_us_per_s": idle.window.cpu_us_per_s(LANES) + growing}


def lanes_measured(phase: Phase) -> Numbers:
    return {"lanes_cpu_us_per_s": phase.window.cpu_us_per_s(LANES)}


def compared(predicted: Numbers, measured: Numbers) -> Comparison:
    """Side by side; ``off_by`` is what the prediction has too much, as a share of the measured."""
    return {
        name: {
            "predicted": rounded(predicted[name]),
            "measured": rounded(number),
            "off_by": round(predicted[name] / number - 1, 3),
        }
        for name, number in measured.items()
    }


def rounded(number: float) -> float:
    """To four digits."""
    return float(f"{number:.4g}")


def _lanes_us_per_s(phase: Phase, units: Numbers) -> float:
    return lanes_cpu_us_per_s(scenario_of(phase.window, units))


def _with(at: Scenario, **measures: float) -> Scenario:
    return replace(at, figures=with_measures(at.figures, measures))
