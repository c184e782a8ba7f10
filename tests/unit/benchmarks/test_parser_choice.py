"""Tests of the parser choice benchmark: it runs against the current interfaces."""

from benchmarks.parser_choice import choice_us


def test_choosing_a_parser_is_measured() -> None:
    assert choice_us() > 0
