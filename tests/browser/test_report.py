"""The report as people meet it: in light and in dark, on a phone, on paper, and read aloud."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from tests.browser.conftest import LONG_NAME
from tests.browser.visits import empty_page, visit

type Scheme = Literal["light", "dark"]

WIDTHS: Final = {"desk": 1200, "tablet": 800, "phone": 320}
SECTIONS: Final = (
    *("At a glance", "Reporting devices", "Silent devices", "Late messages"),
    *("Message sizes", "Malformed messages", "Parse times"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The page, and all that it asked for and complained of since it was opened."""

    page: Page
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


@pytest.fixture(params=["light", "dark"])
def scheme(request: pytest.FixtureRequest) -> Scheme:
    return "dark" if request.param == "dark" else "light"


@pytest.fixture(params=list(WIDTHS))
def opened(
    browser: Browser, report: Path, scheme: Scheme, request: pytest.FixtureRequest
) -> Iterator[Opened]:
    width = WIDTHS[request.param]
    viewport = {"width": width, "height": 900}
    with empty_page(browser, viewport=viewport, color_scheme=scheme) as page:
        opened = Opened(page=page)
        opened.page.on("request", lambda one: opened.requests.append(one.url))
        opened.page.on("console", lambda one: opened.complaints.append(one.text))
        opened.page.on("pageerror", lambda one: opened.complaints.append(one.message))
        opened.page.goto(report.as_uri())
        yield opened


@pytest.fixture
def page(browser: Browser, report: Path) -> Iterator[Page]:
    with visit(browser, report, viewport={"width": 1200, "height": 900}) as page:
        yield page


def test_it_loads_nothing_and_complains_of_nothing(opened: Opened, report: Path) -> None:
    asked_for = [url for url in opened.requests if not url.startswith("data:")]

    assert asked_for == [report.as_uri()]
    assert opened.complaints == []


def test_nobody_has_to_scroll_sideways(opened: Opened) -> None:
    content, window = opened.page.evaluate(
        "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )

    assert content <= window


def test_charts_stay_within_their_cards(opened: Opened) -> None:
    outside = opened.page.evaluate(
        """[...document.querySelectorAll('.bars span, .columns span')].filter(text => {
            const words = text.getBoundingClientRect(), card = text.closest('.card');
            const frame = card.getBoundingClientRect();
            return words.width && (words.left < frame.left || words.right > frame.right);
        }).map(text => text.textContent)"""
    )

    assert outside == []


def test_no_label_is_clipped(opened: Opened) -> None:
    clipped = opened.page.evaluate(
        """[...document.querySelectorAll('.label, .words, .at, .level')].filter(
            one => one.scrollWidth > one.clientWidth && getComputedStyle(one).overflow != 'visible'
        ).map(one => one.textContent)"""
    )

    assert clipped == []
    assert opened.page.locator(".label", has_text=LONG_NAME).is_visible()


def test_a_table_wider_than_a_phone_shows_that_it_goes_on(browser: Browser, report: Path) -> None:
    with visit(browser, report, viewport={"width": 390, "height": 900}) as page:
        cues = page.evaluate(
            """[...document.querySelectorAll('.scrolls')].filter(
                one => one.scrollWidth > one.clientWidth
            ).map(one => getComputedStyle(one).backgroundAttachment)"""
        )

    assert cues
    assert set(cues) == {"local, local, scroll, scroll"}


def test_cards_side_by_side_end_together(page: Page) -> None:
    ends = page.evaluate(
        """[...document.querySelectorAll('.card:not(.wide)')].map(one => {
            const {top, bottom} = one.getBoundingClientRect();
            return [Math.round(top), Math.round(bottom)];
        })"""
    )

    assert len({top for top, _ in ends}) == len({tuple(one) for one in ends}) == 2


def test_axe_finds_no_barrier(browser: Browser, report: Path, scheme: Scheme) -> None:
    with visit(browser, report, color_scheme=scheme) as page:
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")

        found = Axe().run(page)

    assert found.response["violations"] == []


def test_the_colours_follow_the_persons_wish(
    browser: Browser, report: Path, scheme: Scheme
) -> None:
    with visit(browser, report, color_scheme=scheme) as page:
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")

    is_dark = sum(int(part) for part in ground[4:-1].split(",")[:3]) < 3 * 128
    assert is_dark == (scheme == "dark")


def test_every_section_has_its_heading(page: Page) -> None:
    headings = page.get_by_role("heading", level=2).all_inner_texts()

    assert tuple(headings) == SECTIONS
    assert page.get_by_role("heading", level=1).all_inner_texts() == ["Fleet report"]


def test_a_screen_reader_finds_landmarks(page: Page) -> None:
    found = {role: page.get_by_role(role).count() for role in ("banner", "main", "contentinfo")}

    assert found == {"banner": 1, "main": 1, "contentinfo": 1}
    assert page.get_by_role("navigation", name="Sections").count() == 1


def test_every_chart_is_reported_in_words(page: Page) -> None:
    charts = page.get_by_role("img")

    names = [chart.get_attribute("aria-label") or "" for chart in charts.all()]

    assert len(names) == 5
    assert all(name.startswith("Bar chart of ") and name.endswith(".") for name in names)


def test_every_charts_numbers_are_in_a_table(page: Page) -> None:
    for figure in page.locator("section:has(figure)").all():
        figure.locator("summary").first.click()

        assert figure.get_by_role("table").count() >= 1
        assert figure.get_by_role("rowheader").count() >= 1


def test_the_keyboard_opens_a_table(page: Page) -> None:
    first = page.locator("details").first
    first.locator("summary").focus()

    page.keyboard.press("Enter")

    assert first.get_by_role("table").is_visible()


def test_the_first_tab_leads_past_the_navigation(page: Page) -> None:
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    assert page.evaluate("document.activeElement.id") == "main"


def test_it_needs_no_script(browser: Browser, report: Path) -> None:
    with visit(browser, report, java_script_enabled=False) as page:
        shown = page.get_by_role("img").first.is_visible()

    assert shown


def test_paper_is_light_whatever_the_screen_is(browser: Browser, report: Path) -> None:
    with visit(browser, report, color_scheme="dark") as page:
        page.emulate_media(media="print")

        ink = page.evaluate("getComputedStyle(document.body).color")

    assert sum(int(part) for part in ink[4:-1].split(",")) < 3 * 128
