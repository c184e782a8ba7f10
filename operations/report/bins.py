"""Histograms in words: the bins' names, their bars, their table."""

from collections.abc import Callable, Mapping, Sequence

from operations.fleet.answers import Bin
from operations.fleet.lateness import LATE_OVER_MS
from operations.report.palette import GOOD, WATCH
from operations.report.wording import length, percent, size

type Words = Callable[[Bin], str]


def lag_words(lags: Bin) -> str:
    """``1 h to 6 h``; the ends are as in the bin."""
    if lags.low is None:
        return "clock ahead"
    if lags.low < 0:
        return f"up to {length(lags.high or 0)}"
    return f"over {length(lags.low)}" if lags.high is None else f"to {length(lags.high)}"


def size_words(sizes: Bin) -> str:
    """``to 10 kB``: over what the bin before it ends with."""
    return f"over {size(sizes.low)}" if sizes.high is None else f"to {size(sizes.high)}"


def is_late(lags: Bin) -> bool:
    return lags.low is not None and lags.low >= LATE_OVER_MS


def late_of(lags: Sequence[Bin]) -> tuple[int, int]:
    """Messages that declare the end of their data, and those of them over an hour late."""
    return sum(one.messages for one in lags), sum(one.messages for one in lags if is_late(one))


def bars(bins: Sequence[Bin], words: Words) -> list[Mapping[str, object]]:
    """Rows for a chart; bins of late messages are in the colour that asks for a look."""
    messages = sum(one.messages for one in bins)
    return [
        {
            "label": words(one),
            "value": one.messages,
            "words": percent(one.messages, messages),
            "colour": (WATCH if words is lag_words and is_late(one) else GOOD).light,
        }
        for one in bins
    ]


def most_common(bins: Sequence[Bin], words: Words) -> str:
    """A sentence on the largest bin."""
    largest = max(bins, key=lambda one: one.messages)
    messages = sum(one.messages for one in bins)
    return f"The longest bar is “{words(largest)}”: {percent(largest.messages, messages)}."
