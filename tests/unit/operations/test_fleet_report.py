"""The report's page: what it says is what the lake answers, and it needs nothing else."""

import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from clients.devices.registry import DeviceStatus
from fleetlane.events.times import DAY_MS, HOUR_MS
from operations import report
from operations.fleet.fleet import Fleet
from operations.fleet.wording import number, percent
from operations.report.charts import Columns
from operations.report.page import Answers, answers_of, page_of
from tests import slow_answers
from tests.known_fleet import ASKED_AT_MS, KnownFleet, known_fleet, lake_of


@pytest.fixture(scope="module")
def known() -> KnownFleet:
    return known_fleet(seed=3, devices=60, messages=1_500)


@pytest.fixture(scope="module")
def answers(known: KnownFleet, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Answers]:
    with (
        closing(lake_of(known, tmp_path_factory.mktemp("lake"))) as catalog,
        Fleet(catalog, known.devices, asked_at_ms=ASKED_AT_MS) as fleet,
    ):
        yield answers_of(fleet)


@pytest.fixture(scope="module")
def page(answers: Answers) -> str:
    return page_of(answers, asked_at_ms=ASKED_AT_MS, latest_ms=ASKED_AT_MS)


class _Cells(HTMLParser):
    """The text of each cell of the tables, row by row."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self._is_in_cell = False
        self.feed(page)

    def handle_starttag(self, tag: str, _: object) -> None:
        if tag == "tr":
            self.rows.append([])
        elif tag in {"th", "td"}:
            self.rows[-1].append("")
            self._is_in_cell = True

    def handle_endtag(self, tag: str) -> None:
        self._is_in_cell = self._is_in_cell and tag not in {"th", "td"}

    def handle_data(self, data: str) -> None:
        if self._is_in_cell:
            self.rows[-1][-1] += data


def test_coverage_in_the_page_is_that_of_the_truth(page: str, known: KnownFleet) -> None:
    week = slow_answers.coverage(known, 7)

    share = percent(week["reported"], week["registered"])

    others = number(week["unregistered"])
    row = ["7 days", number(week["reported"]), share, number(week["through_gateway"]), others]
    assert row in _Cells(page).rows


def test_malformed_in_the_page_are_those_of_the_truth(page: str, known: KnownFleet) -> None:
    rows = _Cells(page).rows

    for one in slow_answers.by_firmware(known, 7):
        share = percent(one["malformed"], one["messages"])
        expected = [number(one["messages"]), number(one["malformed"]), share, number(one["parked"])]
        assert [one["firmware"] or "not declared", *expected] in rows


def test_the_silent_in_the_page_are_those_of_the_truth(page: str, known: KnownFleet) -> None:
    names = [row[0] for row in _Cells(page).rows if row]

    silent = [device["device_id"] for device in slow_answers.silent(known, 7)]

    assert silent
    assert [name for name in names if name in silent[:15]][: len(silent)] == silent[:15]


def test_devices_that_fell_silent_on_one_day_are_reported_together(answers: Answers) -> None:
    silent = answers["silent"]
    last_ms = [ASKED_AT_MS - 9 * DAY_MS] * 6 + [ASKED_AT_MS - 12 * DAY_MS] * 2
    rows = [{**silent.rows[0], "last_ms": one} for one in last_ms]
    alone = [{**silent.rows[0], "last_ms": one} for one in last_ms[5:]]
    together, apart = (
        page_of({**answers, "silent": silent.of(of)}, asked_at_ms=ASKED_AT_MS, latest_ms=None)
        for of in (rows, alone)
    )

    sentence = "Of those that fell silent, 6 sent their last message on the same day, 2026-10-28."
    assert sentence in together
    assert "on the same day" not in apart


def test_less_than_two_days_are_shown_by_the_hour(known: KnownFleet, tmp_path: Path) -> None:
    lately = [one for one in known.sent if one.received_ms > ASKED_AT_MS - 30 * HOUR_MS]
    young = KnownFleet(devices=known.devices, sent=tuple(lately))
    trusted = {one.device_id for one in known.devices if one.status is not DeviceStatus.REVOKED}
    direct = defaultdict[int, set[str]](set)
    for one in lately:
        if one.via is None and one.device_id in trusted:
            direct[one.received_ms - one.received_ms % HOUR_MS].add(one.device_id)

    with (
        closing(lake_of(young, tmp_path)) as catalog,
        Fleet(catalog, young.devices, asked_at_ms=ASKED_AT_MS) as fleet,
    ):
        answers = answers_of(fleet)
    page = page_of(answers, asked_at_ms=ASKED_AT_MS, latest_ms=ASKED_AT_MS)

    over_time = answers["over_time"]
    assert over_time.name == "by_hour"
    assert {row["hour_ms"]: row["reported"] for row in over_time.rows if row["reported"]} == {
        hour_ms: len(names) for hour_ms, names in direct.items()
    }
    assert [row["days"] for row in answers["coverage"].rows] == [1, 2]
    assert f"Messages of {len(over_time.rows)} hours by lag" in page
    assert "Coverage by hour" in page
    assert "7 days by" not in page


def test_two_days_and_more_are_shown_by_the_day(answers: Answers, page: str) -> None:
    assert answers["over_time"].name == "by_day"
    assert "Coverage by day" in page
    assert "Messages of 7 days by lag" in page


def test_an_empty_lake_makes_a_page(tmp_path_factory: pytest.TempPathFactory) -> None:
    nobody = KnownFleet(devices=(), sent=())

    with (
        closing(lake_of(nobody, tmp_path_factory.mktemp("lake"))) as catalog,
        Fleet(catalog, (), asked_at_ms=ASKED_AT_MS) as fleet,
    ):
        page = page_of(answers_of(fleet), asked_at_ms=ASKED_AT_MS, latest_ms=fleet.arrivals_ms[1])

    assert "The lake holds no message yet." in page
    assert "No registered device has sent a message in 30 days." in page
    assert "There are no messages." in page
    assert "<table" not in page
    assert 'class="how"' not in page
    assert not re.search(r"\b0 of (the )?0\b", page)


def test_a_large_share_of_few_messages_is_no_alarm(answers: Answers) -> None:
    lags, sizes = answers["lags"], answers["sizes"]
    late = lags.of(
        [{**one, "messages": 46 if one["low"] == 86_400_000 else 0} for one in lags.rows]
    )
    all_of_them = sizes.of([{**sizes.rows[0], "count": 10_377}])

    page = page_of(
        {**answers, "lags": late, "sizes": all_of_them}, asked_at_ms=ASKED_AT_MS, latest_ms=None
    )

    [classes, text] = headline(page, "over an hour late")
    assert "46 of the 46 messages whose data's end is known, of 10,377 in all" in text
    assert "notable" not in classes


def test_a_large_share_of_many_messages_is_an_alarm(answers: Answers) -> None:
    lags, sizes = answers["lags"], answers["sizes"]
    late = lags.of([{**one, "messages": 800} for one in lags.rows])
    all_of_them = sizes.of([{**sizes.rows[0], "count": 10_377}])

    page = page_of(
        {**answers, "lags": late, "sizes": all_of_them}, asked_at_ms=ASKED_AT_MS, latest_ms=None
    )

    assert "notable" in headline(page, "over an hour late")[0]


def test_a_firmware_with_a_handful_of_messages_is_not_marked(answers: Answers) -> None:
    firmware = answers["firmware"]
    rows = [
        {**firmware.rows[0], "firmware": name, "messages": messages, "malformed": malformed}
        | {"malformed_share": malformed / messages}
        for name, messages, malformed in (("9.9", 1, 1), ("2.1", 4_000, 400), ("2.0", 6_000, 6))
    ]

    page = page_of({**answers, "firmware": firmware.of(rows)}, asked_at_ms=ASKED_AT_MS, latest_ms=0)

    marks = dict(
        re.findall(r'"label">(\d.\d)</span>\s*<span class="track"><span class="fill (\w+)"', page)
    )
    assert marks == {"9.9": "good", "2.1": "watch", "2.0": "good"}


def test_p50_and_p95_are_named(page: str) -> None:
    headings = [row for row in _Cells(page).rows if row[0] == "parser"]

    assert headings == [["parser", "attempts", "p50", "p95", "p99", "longest"]]
    assert "The tick is p50 (the median), the end of the bar p95." in page


@pytest.mark.parametrize(
    ("top", "ticks"),
    [(1, [0, 1]), (6, [0, 2, 4, 6]), (392, [0, 100, 200, 300]), (5_000, [*range(0, 5_001, 1_000)])],
)
def test_a_scale_has_round_numbers(top: int, ticks: list[int]) -> None:
    assert list(Columns(alt="", columns=(), kinds=(), top=top).ticks) == ticks


def headline(page: str, label: str) -> tuple[str, str]:
    """Its classes, and its text."""
    found = re.search(rf"<div([^>]*)>\s*<dt>{label}</dt>(.*?)</div>", page, re.DOTALL)
    assert found is not None
    return found[1], " ".join(unescape(found[2]).split())


def test_the_page_names_nothing_to_load(page: str) -> None:
    addresses = re.findall(r"(?:src|href|url)\s*[=(]\s*[\"']?([^\"')\s>]+)", page)

    assert {one for one in addresses if not one.startswith("#")} == {"data:,"}


def test_a_device_id_cannot_become_markup(answers: Answers) -> None:
    silent = answers["silent"]
    hostile = silent.of([{**silent.rows[0], "device_type": "<script>alert(1)</script>"}])

    page = page_of({**answers, "silent": hostile}, asked_at_ms=ASKED_AT_MS, latest_ms=None)

    assert "<script" not in page


def test_a_firmware_cannot_become_markup_in_a_table_or_a_chart(answers: Answers) -> None:
    firmware = answers["firmware"]
    hostile = firmware.of(
        [{**one, "firmware": "<script>alert(1)</script>", "malformed": 1} for one in firmware.rows]
    )

    page = page_of({**answers, "firmware": hostile}, asked_at_ms=ASKED_AT_MS, latest_ms=None)

    assert "<script" not in page
    assert "&lt;script&gt;" in page


@pytest.mark.parametrize("colour", ["ink", "muted", "watch"])
@pytest.mark.parametrize("ground", ["page", "card"])
def test_words_stand_out_from_their_ground(colour: str, ground: str) -> None:
    light, dark = colours()

    assert contrast(light[colour], light[ground]) >= 4.5
    assert contrast(dark[colour], dark[ground]) >= 4.5


@pytest.mark.parametrize("colour", ["good", "watch", "aside"])
def test_bars_stand_out_from_their_ground(colour: str) -> None:
    light, dark = colours()

    assert contrast(light[colour], light["card"]) >= 3
    assert contrast(dark[colour], dark["card"]) >= 3


def colours() -> list[dict[str, str]]:
    """The light ones by name, and the dark ones."""
    text = (Path(report.__file__).parent / "colours.css").read_text()
    return [dict(re.findall("--([a-z]+): (#[0-9a-f]{6});", one)) for one in text.split("@media")]


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts)
    return sum(part * weight for part, weight in zip(linear, (0.2126, 0.7152, 0.0722), strict=True))
