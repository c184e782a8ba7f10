"""The report's headline numbers, and from where on each is worth a look."""

from typing import Final

from operations.fleet.presence import Coverage
from operations.report.figures import REPORT_DAYS, FleetFigures
from operations.report.sections import Headline
from operations.report.wording import counted, number, percent

_COVERAGE_LOW: Final = 0.9
_SILENT_MANY: Final = 0.05
_LATE_MANY: Final = 0.05
_MALFORMED_MANY: Final = 0.01


def headlines(figures: FleetFigures) -> tuple[Headline, ...]:
    week = figures.coverage[-1]
    many = _SILENT_MANY * figures.registered
    dated, late = figures.with_end_time, figures.over_an_hour_late
    malformed, messages = figures.malformed, figures.sizes.count
    return (
        _coverage(figures.coverage[0], "reported in 24 hours"),
        _coverage(week, f"reported in {week.days} days"),
        Headline(
            value=number(figures.fell_silent),
            label="fell silent",
            meaning=f"reported before, but not for {REPORT_DAYS} days",
            is_notable=figures.fell_silent > many,
        ),
        Headline(
            value=number(figures.never_reported),
            label="never reported",
            meaning=f"registered over {REPORT_DAYS} days ago, no message sent directly",
            is_notable=figures.never_reported > many,
        ),
        Headline(
            value=percent(late, dated),
            label="over an hour late",
            meaning=f"{number(late)} of the {counted(dated, 'message')} that state their data's "
            "end time",
            is_notable=late > _LATE_MANY * dated,
        ),
        Headline(
            value=percent(malformed, messages),
            label="malformed",
            meaning=f"{number(malformed)} of {counted(messages, 'message')}",
            is_notable=malformed > _MALFORMED_MANY * messages,
        ),
    )


def _coverage(coverage: Coverage, label: str) -> Headline:
    share = coverage.share
    registered = counted(coverage.registered, "registered device")
    return Headline(
        value=percent(coverage.reported, coverage.registered),
        label=label,
        meaning=f"{number(coverage.reported)} of {registered}",
        is_notable=share is not None and share < _COVERAGE_LOW,
    )
