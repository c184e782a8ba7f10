"""Errors declare their fields; the sentence names only those, and all of it survives pickling."""

import importlib
import pickle
import pkgutil
from pathlib import Path
from string import Formatter

import pytest

import clients
import fleetlane.cli
import fleetlane.events
import fleetlane.parsers
import operations
from clients.kafka.producer import NotDurableError
from fleetlane.events.errors import FleetlaneError


class BodyTooLargeError(FleetlaneError):
    reason = "too_large"
    size_bytes: int
    limit_bytes: int = 10
    sentence = "the body is {size_bytes} bytes; the limit is {limit_bytes} bytes"


class NamedBodyTooLargeError(BodyTooLargeError):
    name: str = "a body"
    sentence = "{name!r}: {size_bytes} of {limit_bytes}"


class SpokenError(FleetlaneError):
    """Without fields: what it is given is its text."""


PUBLISHED_REASONS = Path(__file__).with_name("published_reasons.txt").read_text().split()


def test_a_sentence_is_filled_with_the_fields() -> None:
    error = BodyTooLargeError(12, limit_bytes=11)

    assert str(error) == "the body is 12 bytes; the limit is 11 bytes"
    assert (error.size_bytes, error.limit_bytes) == (12, 11)


def test_a_field_may_have_a_default_and_be_inherited() -> None:
    error = NamedBodyTooLargeError(12, name="d-1")

    assert str(error) == "'d-1': 12 of 10"


def test_an_error_without_fields_says_what_it_was_given() -> None:
    assert str(SpokenError("no broker")) == "no broker"


@pytest.mark.parametrize("error", [BodyTooLargeError(12), NamedBodyTooLargeError(1, 2, name="n")])
def test_an_error_is_the_same_after_crossing_a_process(error: FleetlaneError) -> None:
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own

    assert (type(copy), copy.args, str(copy)) == (type(error), error.args, str(error))


def test_braces_in_a_value_are_text() -> None:
    assert str(NamedBodyTooLargeError(1, 2, name="{size_bytes}")) == "'{size_bytes}': 1 of 2"


def _all_errors(of: type[FleetlaneError] = FleetlaneError) -> list[type[FleetlaneError]]:
    return [kind for child in of.__subclasses__() for kind in (child, *_all_errors(child))]


@pytest.fixture(scope="module")
def all_errors() -> list[type[FleetlaneError]]:
    for package in (clients, operations, fleetlane.cli, fleetlane.events, fleetlane.parsers):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    return _all_errors()


def test_an_error_that_declares_no_reason_has_its_own_name_as_one() -> None:
    assert (SpokenError.reason, NotDurableError.reason) == ("spoken", "not_durable")


def test_an_error_has_the_reason_of_the_one_that_it_extends() -> None:
    assert NamedBodyTooLargeError.reason == BodyTooLargeError.reason == "too_large"


def test_no_reason_that_was_published_is_ever_changed(
    all_errors: list[type[FleetlaneError]],
) -> None:
    assert set(PUBLISHED_REASONS) <= {kind.reason for kind in all_errors}


def test_each_sentence_names_fields_of_its_error_alone(
    all_errors: list[type[FleetlaneError]],
) -> None:
    for kind in all_errors:
        parts = Formatter().parse(kind.sentence)
        named = {name.partition(".")[0] for _, name, _, _ in parts if name}
        assert named <= set(kind._fields), kind
