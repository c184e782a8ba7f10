"""LocalStack replays its whole journal as it starts."""

from pathlib import Path

from local.servers.localstack import ready_within_s


def test_a_first_start_may_take_two_minutes(tmp_path: Path) -> None:
    assert ready_within_s(tmp_path / "journal") == 120


def test_a_start_after_days_may_take_as_long_as_its_journal_is_replayed(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    with journal.open("wb") as file:
        file.truncate(64 * 1024 * 600)

    assert ready_within_s(journal) == 720
