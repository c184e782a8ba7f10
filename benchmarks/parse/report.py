"""From trials to the numbers in ``parse.json``."""

from collections.abc import Mapping, Sequence
from statistics import median

from benchmarks.parse.trial import Trial

_RATIOS = {
    "ratio_to_bare": ("bare", "job"),
    "ratio_to_bare_40us": ("bare_40us", "job_40us"),
    "times_quix": ("quix", "job"),
    "times_bytewax": ("bytewax", "job"),
    "times_row_udf": ("row_udf", "job"),
    "ratio_to_copy": ("copy", "job"),
}
"""CPU time of the first over that of the second."""


def report(trials: Mapping[str, Sequence[Trial]]) -> dict[str, object]:
    """Medians of each contender, and the ratios between those that were measured."""
    cpu = {name: median(one.cpu_us_a_message for one in of) for name, of in trials.items()}
    rate = {name: median(one.messages_a_second for one in of) for name, of in trials.items()}
    numbers: dict[str, object] = {
        name: round(cpu[above] / cpu[below], 3)
        for name, (above, below) in _RATIOS.items()
        if above in cpu and below in cpu
    }
    if "job" in rate and "bare" in rate:
        numbers["rate_to_bare"] = round(rate["job"] / rate["bare"], 3)
    if {"slow_1", "slow_4"} <= rate.keys():
        numbers["slow_partition_speedup"] = round(rate["slow_4"] / rate["slow_1"], 2)
    for name, of in trials.items():
        numbers[f"{name}_cpu_s_per_million"] = round(cpu[name], 2)
        numbers[f"{name}_messages_per_s"] = round(rate[name])
        numbers[f"{name}_cpu_s_per_million_of_each"] = [
            round(one.cpu_us_a_message, 2) for one in of
        ]
    return numbers
