"""Rows that a batch of the lake persists are unpersisted, also when it fails."""

from typing import Any, cast

import pytest

from glue_jobs.engine.persisted_rows import persisted


class FakeRows:
    def __init__(self) -> None:
        self.is_persisted = False

    def persist(self, level: object) -> "FakeRows":
        self.is_persisted = True
        return self

    def fail(self) -> None:
        assert self.is_persisted
        raise OSError("full")

    def unpersist(self) -> None:
        self.is_persisted = False


def test_rows_are_unpersisted_when_their_batch_fails() -> None:
    rows = FakeRows()

    with pytest.raises(OSError, match="full"), persisted(cast("Any", rows)):
        rows.fail()

    assert not rows.is_persisted
