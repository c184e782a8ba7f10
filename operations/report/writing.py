"""Writing the report to a file."""

from pathlib import Path

from operations.fleet.fleet import Fleet
from operations.report.figures import figures_of
from operations.report.page import page_of


def write_report(fleet: Fleet, path: Path) -> None:
    """Ask everything, and write the page at once whole."""
    page = page_of(figures_of(fleet))
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.new")
    beside.write_text(page, encoding="utf-8")
    beside.replace(path)
