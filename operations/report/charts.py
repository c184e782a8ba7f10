"""Charts as SVG, each in a width for screens and paper, and one for phones; and their colours.

Blue and orange are from Okabe and Ito's palette, safe for every kind of colour vision. Charts are
drawn in the light colours; the page's style sheet maps each to a variable.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import altair  # noqa: ICN001 - `alt` is a text for who does not see
import vl_convert


@dataclass(frozen=True, slots=True, kw_only=True)
class Colour:
    """A colour as ``#rrggbb``."""

    name: str
    light: str
    dark: str


PAGE: Final = Colour(name="page", light="#f3f5f8", dark="#10151b")
CARD: Final = Colour(name="card", light="#ffffff", dark="#1a212a")
EDGE: Final = Colour(name="edge", light="#d5dce4", dark="#36414e")
INK: Final = Colour(name="ink", light="#17212b", dark="#e9eef3")
MUTED: Final = Colour(name="muted", light="#51606f", dark="#a9b6c3")
GRID: Final = Colour(name="grid", light="#e3e8ee", dark="#2c3641")
GOOD: Final = Colour(name="good", light="#0072b2", dark="#56b4e9")
WATCH: Final = Colour(name="watch", light="#b34e00", dark="#f0a13c")
ASIDE: Final = Colour(name="aside", light="#76838f", dark="#8794a1")

COLOURS: Final = (PAGE, CARD, EDGE, INK, MUTED, GRID, GOOD, WATCH, ASIDE)
IN_CHARTS: Final = (INK, MUTED, GRID, GOOD, WATCH, ASIDE)
"""Those that charts are drawn in."""


WHOLE_PX: Final = 1_000
HALF_PX: Final = 480
PHONE_PX: Final = 320
_BAR_PX: Final = 18
_BAR_STEP_PX: Final = 30
_NUMBERS: Final = ",~f"
_FONT: Final = "Arial, Helvetica, 'Liberation Sans', sans-serif"
"""Text widths are computed for it; ``_PADDING`` allows for wider fonts."""
_PADDING: Final = {"left": 20, "right": 8, "top": 4, "bottom": 4}
_CONFIG: Final[dict[str, Any]] = {
    "background": "transparent",
    "font": _FONT,
    "view": {"stroke": "transparent"},
    "axis": {
        "labelColor": MUTED.light,
        "titleColor": MUTED.light,
        "domainColor": MUTED.light,
        "tickColor": MUTED.light,
        "gridColor": GRID.light,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelLimit": 170,
    },
    "legend": {
        "columnPadding": 32,
        "labelColor": MUTED.light,
        "labelFontSize": 12,
        "labelLimit": 400,
    },
}

type Row = Mapping[str, object]
type Drawn = Any
"""One of Altair's kinds of charts: what they return is typed too loosely to name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """One chart in two widths. ``alt`` describes it in words."""

    alt: str
    wide_svg: str
    phone_svg: str


def days_chart(rows: Sequence[Row], *, colours: Mapping[str, Colour], alt: str, top: int) -> Chart:
    """Stacked bars per day, of ``day``, ``kind`` and ``devices``, from zero to at least ``top``."""

    def drawn(width: int) -> Drawn:
        return (
            altair.Chart(_data(rows))
            .mark_bar()
            .encode(
                x=altair.X("day:O", title=None, sort=None).axis(
                    labelAngle=0, labelOverlap="greedy", labelSeparation=12
                ),
                y=altair.Y("devices:Q", title="devices")
                .scale(domain=[0, top], nice=True)
                .axis(format=_NUMBERS, tickCount=5, titlePadding=18),
                color=altair.Color("kind:N", title=None, sort=None)
                .scale(domain=list(colours), range=[one.light for one in colours.values()])
                .legend(orient="top", direction="vertical" if width == PHONE_PX else "horizontal"),
                order=altair.Order("place:Q"),
            )
            .properties(height=220)
        )

    return _chart(drawn, alt, WHOLE_PX)


def bars_chart(rows: Sequence[Row], *, title: str, alt: str) -> Chart:
    """Horizontal bars from zero in the rows' order: ``label``, ``value``, ``words``, ``colour``.

    Rows that have a ``middle`` get a tick there.
    """

    def drawn(width: int) -> Drawn:
        layers: list[Drawn] = [*_bar_layers(rows, title=title, width=width)]
        if any("middle" in row for row in rows):
            tick = altair.Chart(_data(rows)).mark_tick(color=INK.light, thickness=3, height=_BAR_PX)
            layers.append(tick.encode(x=altair.X("middle:Q"), y=altair.Y("label:N", sort=None)))
        return altair.layer(*layers).properties(height={"step": _BAR_STEP_PX})

    return _chart(drawn, alt, HALF_PX)


def _bar_layers(
    rows: Sequence[Row], *, title: str, width: int
) -> tuple[altair.Chart, altair.Chart]:
    """Bars, and words at their ends, with room for them."""
    room = 1.45 if width == PHONE_PX else 1.3
    top = max((float(str(row["value"])) for row in rows), default=0.0) * room or 1.0
    place = altair.Y("label:N", title=None, sort=None).axis(
        domain=False, ticks=False, labelPadding=6
    )
    bars = (
        altair.Chart(_data(rows))
        .mark_bar(height=_BAR_PX)
        .encode(
            x=altair.X("value:Q", title=title)
            .scale(domain=[0, top], nice=False)
            .axis(format=_NUMBERS, tickCount=4, labelOverlap="greedy", labelSeparation=8),
            y=place,
            color=altair.Color("colour:N").scale(None),
        )
    )
    words = (
        altair.Chart(_data(rows))
        .mark_text(align="left", dx=6, color=INK.light, fontSize=12)
        .encode(x="value:Q", y=place, text="words:N")
    )
    return bars, words


def _data(rows: Iterable[Row]) -> altair.InlineData:
    return altair.InlineData(values=[{"colour": GOOD.light, **row} for row in rows])


def _chart(drawn: Callable[[int], Drawn], alt: str, wide_px: int) -> Chart:
    return Chart(
        alt=alt, wide_svg=_svg(drawn(wide_px), wide_px), phone_svg=_svg(drawn(PHONE_PX), PHONE_PX)
    )


def _svg(chart: Drawn, width_px: int) -> str:
    """The chart's image, hidden from screen readers, which get ``alt``."""
    fitted = chart.properties(
        width=width_px,
        padding=_PADDING,
        autosize=altair.AutoSizeParams(type="fit-x", contains="padding"),
    ).configure(**_CONFIG)
    svg: str = vl_convert.vegalite_to_svg(fitted.to_dict())
    return svg.replace("<svg ", '<svg aria-hidden="true" focusable="false" ', 1)
