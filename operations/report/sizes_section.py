"""How large messages are, and how far they are compressed."""

from typing import Final

from operations.report import columns
from operations.report.bins import bars, most_common, size_words
from operations.report.charts import Chart, bars_chart
from operations.report.figures import REPORT_DAYS, FleetFigures
from operations.report.sections import NumbersTable, Section, numbers_table
from operations.report.wording import counted, percent, size

_MEANING: Final = (
    f"Messages of {REPORT_DAYS} days by the bytes of their body as it was sent. Each bar begins "
    "where the one above ends. Compression is what bodies were once unpacked, over what was sent."
)


def sizes_section(figures: FleetFigures) -> Section:
    return Section(
        key="sizes",
        title="How large messages are",
        answer=_answer(figures) if figures.sizes.count else "There is no message.",
        meaning=_MEANING,
        chart=_chart(figures) if figures.sizes.count else None,
        tables=_tables(figures) if figures.sizes.count else (),
    )


def _answer(figures: FleetFigures) -> str:
    sizes = figures.sizes
    return (
        f"Half of {counted(sizes.count, 'message')} have at most {size(sizes.p50)}, "
        f"{percent(0.95, 1)} at most {size(sizes.p95)}; the largest has {size(sizes.max)}. "
        f"Together they are {size(sizes.total)}."
    )


def _chart(figures: FleetFigures) -> Chart:
    return bars_chart(
        bars(figures.size_bins, size_words),
        title="messages",
        alt=f"Bar chart of messages by size. {most_common(figures.size_bins, size_words)}",
    )


def _tables(figures: FleetFigures) -> tuple[NumbersTable, ...]:
    compression = numbers_table(
        "Compression by stream",
        columns.COMPRESSION,
        figures.compression,
        command="fleetlane fleet sizes",
    )
    sizes = figures.size_bins
    as_columns = columns.bins("size", size_words, sizes)
    return numbers_table("Messages by size", as_columns, sizes), compression
