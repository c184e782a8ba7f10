"""Opening the report in a browser, patiently: the machine may be busy."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Browser, Page

PATIENCE_MS: Final = 120_000


@contextmanager
def empty_page(browser: Browser, **wishes: Any) -> Iterator[Page]:
    """A page of a person with these wishes: ``viewport``, ``color_scheme`` and the like."""
    with browser.new_context(**wishes) as context:
        context.set_default_timeout(PATIENCE_MS)
        yield context.new_page()


@contextmanager
def visit(browser: Browser, report: Path, **wishes: Any) -> Iterator[Page]:
    """The report, opened."""
    with empty_page(browser, **wishes) as page:
        page.goto(report.as_uri())
        yield page
