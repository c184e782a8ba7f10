"""The report in a real browser without a window: Debian's Chromium, driven by Playwright."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from operations.fleet.fleet import Fleet
from operations.report.page import answers_of, page_of
from tests.browser.visits import PATIENCE_MS
from tests.known_fleet import ASKED_AT_MS, known_fleet, lake_of

LONG_NAME = "acme-sensors-of-the-northern-plant.vibration-with-spectra@11.12.13"


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report that has something to say in every section, of a parser with a long name too."""
    known = known_fleet(seed=1, devices=400, messages=4_000)
    page = tmp_path_factory.mktemp("report") / "report.html"
    with (
        closing(lake_of(known, tmp_path_factory.mktemp("lake"))) as catalog,
        Fleet(catalog, known.devices, asked_at_ms=ASKED_AT_MS) as fleet,
    ):
        answers = answers_of(fleet)
        first, *others = answers["parsers"].rows
        long = answers["parsers"].of([{**first, "parser": LONG_NAME}, *others])
        text = page_of(
            {**answers, "parsers": long}, asked_at_ms=ASKED_AT_MS, latest_ms=fleet.arrivals_ms[1]
        )
        page.write_text(text, encoding="utf-8")
    return page


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    program = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if program is None:
        pytest.skip("there is no Chromium: make test-browser installs Debian's, as root")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, timeout=PATIENCE_MS)
        yield browser
        browser.close()
