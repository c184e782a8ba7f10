"""The search for bytes that a parser does wrong with."""

from fleetlane.parsers.testkit.contract_checks import first_wrong


def test_what_is_found_is_made_small() -> None:
    found = first_wrong(lambda body: len(body) >= 3 and body[0] > 7, examples=200)

    assert found == b"\x08\x00\x00"


def test_nothing_is_found_where_nothing_is_wrong() -> None:
    assert first_wrong(lambda _: False, examples=20) is None


def test_a_samples_beginning_is_reached() -> None:
    found = first_wrong(
        lambda body: body.startswith(b"VIB1") and len(body) == 7, examples=400, around=(b"VIB1",)
    )

    assert found is not None


def test_the_same_bytes_are_tried_each_time() -> None:
    tried: list[list[bytes]] = [[], []]

    for one in tried:
        first_wrong(lambda body, one=one: bool(one.append(body)), examples=30)  # type: ignore[misc]

    assert tried[0] == tried[1]


def test_what_is_wrong_only_once_is_reported_all_the_same() -> None:
    times = iter([True])

    found = first_wrong(lambda _: next(times, False), examples=20)

    assert found == b""
