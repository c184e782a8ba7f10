"""Of two drivers on the same checkpoints the one that began last goes on."""

from glue_jobs.engine.driver_mark import DriverMark
from tests.unit.glue_jobs.memory_files import MemoryFiles

NAME = "started/fleetlane-lanes"


def begun(files: MemoryFiles) -> DriverMark:
    mark = DriverMark(files, NAME)
    mark.write_once(lambda: True)
    return mark


def test_a_driver_alone_goes_on() -> None:
    files = MemoryFiles()
    begun(files)
    mark = begun(files)

    assert not mark.look()


def test_one_that_began_before_another_is_replaced_and_the_other_is_not() -> None:
    files = MemoryFiles()
    first, second = begun(files), begun(files)

    assert (first.look(), second.look()) == (True, False)


def test_one_whose_queries_have_not_all_begun_replaces_none() -> None:
    files = MemoryFiles()
    first, second = begun(files), DriverMark(files, NAME)

    second.write_once(lambda: False)

    assert not first.look()


def test_what_earlier_drivers_left_replaces_none_that_has_not_begun() -> None:
    files = MemoryFiles()
    begun(files)

    assert not DriverMark(files, NAME).look()


def test_one_that_has_not_begun_is_replaced_by_another_that_has() -> None:
    files = MemoryFiles()
    begun(files)
    first = DriverMark(files, NAME)

    begun(files)

    assert first.look()


def test_one_that_was_replaced_does_not_take_the_checkpoints_again() -> None:
    files = MemoryFiles()
    first, second = begun(files), begun(files)

    first.write_once(lambda: True)

    assert not second.look()


def test_a_file_that_somebody_deleted_replaces_none() -> None:
    files = MemoryFiles()
    mark = begun(files)

    files.delete(NAME)

    assert not mark.look()
