"""The benchmark of a parser's choice goes with what it measures: it stands in for its parts."""

from benchmarks.parser_choice import choice_us


def test_choosing_a_parser_is_measured() -> None:
    assert choice_us() > 0
