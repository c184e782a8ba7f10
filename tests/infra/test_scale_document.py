"""What docs/scale.md says that large fleets need."""

import pytest

from docs.scale import (
    BEGIN,
    DOCUMENT,
    LIMITS,
    breaks_at,
    fleet_of,
    peak_per_s,
    report,
    stages_for,
    with_tables,
)


def test_the_document_says_what_the_model_says() -> None:
    document = DOCUMENT.read_text()

    assert with_tables(document, report()) == document, "run `.venv/bin/python -m docs.scale`"


@pytest.mark.parametrize("name", LIMITS)
def test_a_fleet_breaks_a_limit_where_it_is_said_to(name: str) -> None:
    need, limit, _ = LIMITS[name]

    at = breaks_at(need, limit)

    assert need(fleet_of(at * 0.98)) <= limit < need(fleet_of(at * 1.02))


def test_each_stage_s_peak_is_within_what_it_lets_in() -> None:
    devices = 100_000_000

    at = fleet_of(devices / stages_for(devices))

    assert peak_per_s(at) <= at.stage.requests_per_s


def test_a_document_without_a_place_for_the_tables_is_refused() -> None:
    with pytest.raises(AssertionError, match=r"docs/scale\.md has no lines"):
        with_tables(BEGIN, "tables")
