"""Events beside their flow's schema: how many conform, what is wrong, and what is not named."""

import json
from typing import Final

from operations.fleet.conformance import conformance
from operations.fleet.questions import Row

SCHEMA: Final = {
    "type": "object",
    "required": ["at"],
    "properties": {
        "at": {"type": "string", "format": "date-time"},
        "level": {"type": "number"},
        "raw": {"type": "object"},
        "meta": {"type": "object", "properties": {"site": {"type": "string"}}},
        "cells": {
            "type": "array",
            "items": {"type": "object", "properties": {"mv": {"type": "integer"}}},
        },
    },
}
GOOD: Final = {"at": "2026-11-03T14:00:00Z", "level": 1.5}


def rows(*sampled: tuple[str | None, object]) -> list[Row]:
    return list(conformance(SCHEMA, [(one, json.dumps(data)) for one, data in sampled]).rows)


def test_events_are_counted_by_firmware_with_the_share_that_conforms() -> None:
    found = rows(("1.0", GOOD), ("1.0", GOOD | {"level": "high"}), ("2.0", GOOD), (None, GOOD))

    assert [(one["firmware"], one["events"], one["conforming"]) for one in found] == [
        (None, 1, 1),
        ("1.0", 2, 1),
        ("2.0", 1, 1),
    ]


def test_problems_name_a_property_and_the_schema_s_word_and_no_value() -> None:
    (row,) = rows(
        ("1.0", {"level": "secret"}),
        ("1.0", {"at": "secret", "level": "secret"}),
        ("1.0", {"at": GOOD["at"], "cells": [{"mv": 1}, {"mv": "secret"}]}),
    )

    assert row["problems"][0] == "level: type"
    assert {*row["problems"]} == {"level: type", "at: required", "at: format", "cells.mv: type"}
    assert "secret" not in json.dumps(row)


def test_what_a_firmware_alone_sends_and_the_schema_does_not_name_was_added() -> None:
    old, new = rows(
        ("1.0", GOOD | {"rssi": -70}), ("2.0", GOOD | {"rssi": -70, "humidity": {"deep": 1}})
    )

    assert (old["undeclared"], old["added"]) == (["rssi"], [])
    assert ({*new["undeclared"]}, new["added"]) == ({"rssi", "humidity"}, ["humidity"])


def test_inside_what_the_schema_describes_each_property_is_looked_for_and_elsewhere_none() -> None:
    event = {"raw": {"any": 1}, "meta": {"site": "ulm", "floor": 2}, "cells": [{"mv": 1, "c": 20}]}

    (row,) = rows(("1.0", GOOD | event))

    assert {*row["undeclared"]} == {"meta.floor", "cells[].c"}


def test_an_event_with_many_problems_and_long_names_costs_little_room() -> None:
    event = {f"{number}{'x' * 200}": 1 for number in range(1_000)} | {
        "cells": [{"mv": "x"}] * 1_000
    }

    (row,) = rows(("1.0", event))

    assert len(row["undeclared"]) == 5
    assert max(map(len, row["undeclared"])) == 100
