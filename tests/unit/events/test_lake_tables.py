from fleetlane.events.lake.tables import EVENTS, PARSED, RECEIVED, TABLES, Column
from fleetlane.events.metadata import Parsed, Received


def test_a_table_is_named_by_catalog_and_namespace() -> None:
    assert EVENTS.identifier == "fleetlane.events"


def test_received_has_every_field_of_its_record_and_the_day() -> None:
    fields = set(Received.__struct_fields__)

    assert set(RECEIVED.column_names) == fields | {"day"}


def test_parsed_has_every_field_of_its_record_and_the_day() -> None:
    fields = set(Parsed.__dataclass_fields__)

    assert set(PARSED.column_names) == fields | {"day"}


def test_keys_and_partitions_are_columns_that_every_row_has() -> None:
    for table in TABLES:
        required = {column.name for column in table.columns if column.is_required}

        assert {*table.key, *table.partitioned_by} <= required


def test_a_column_is_written_as_sql_wants_it() -> None:
    assert str(Column(name="day", type="date", is_required=True)) == "day date NOT NULL"
