"""The numbers that a person takes in at a glance, and from where on each is worth a look."""

from typing import Final

from operations.fleet.answers import Coverage
from operations.report.bins import late_of
from operations.report.figures import REPORT_DAYS, FleetFigures
from operations.report.sections import Headline
from operations.report.wording import counted, number, percent

_COVERAGE_LOW: Final = 0.9
_SILENT_MANY: Final = 0.05
_LATE_MANY: Final = 0.05
_MALFORMED_MANY: Final = 0.01


def headlines(figures: FleetFigures) -> tuple[Headline, ...]:
    return (*_presence(figures), *_messages(figures))


def _presence(figures: FleetFigures) -> tuple[Headline, ...]:
    never = sum(device.last_ms is None for device in figures.silent)
    fell_silent = len(figures.silent) - never
    many = _SILENT_MANY * figures.registered
    return (
        _heard(figures.coverage[0], "heard in 24 hours"),
        _heard(figures.coverage[-1], f"heard in {figures.coverage[-1].days} days"),
        Headline(
            value=number(fell_silent),
            label="fell silent",
            meaning=f"were heard once, and not for {REPORT_DAYS} days",
            is_notable=fell_silent > many,
        ),
        Headline(
            value=number(never),
            label="never heard",
            meaning=f"registered over {REPORT_DAYS} days ago, and not one message of their own",
            is_notable=never > many,
        ),
    )


def _messages(figures: FleetFigures) -> tuple[Headline, ...]:
    dated, late = late_of(figures.lags)
    messages = figures.sizes.count
    malformed = sum(one.malformed for one in figures.firmware)
    return (
        Headline(
            value=percent(late, dated),
            label="over an hour late",
            meaning=f"{number(late)} of {counted(dated, 'message')} that declare a time",
            is_notable=late > _LATE_MANY * dated,
        ),
        Headline(
            value=percent(malformed, messages),
            label="malformed",
            meaning=f"{number(malformed)} of {counted(messages, 'message')}",
            is_notable=malformed > _MALFORMED_MANY * messages,
        ),
    )


def _heard(coverage: Coverage, label: str) -> Headline:
    share = coverage.share
    return Headline(
        value=percent(coverage.heard, coverage.registered),
        label=label,
        meaning=f"{number(coverage.heard)} of {counted(coverage.registered, 'registered device')}",
        is_notable=share is not None and share < _COVERAGE_LOW,
    )
