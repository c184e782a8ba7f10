"""Alerts, written and read."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetlane.events.metadata import Alert, AlertKind

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
counts = st.none() | st.integers(0, 2**50)


@given(
    st.builds(
        Alert,
        id=words,
        kind=st.sampled_from(AlertKind),
        at_ms=st.integers(0, 2**50),
        device_id=st.none() | words,
        stream=st.none() | words,
        owner=st.none() | words,
        from_ms=counts,
        devices=counts,
        devices_min=counts,
        parked=counts,
        parked_max=counts,
        messages=counts,
        messages_max=counts,
        window_s=counts,
        quarantined_until_ms=counts,
    )
)
def test_an_alert_is_read_as_it_was_written(alert: Alert) -> None:
    assert msgspec.json.decode(alert.to_json(), type=Alert) == alert


@pytest.mark.parametrize("value", [b"", b"{}", b'{"id":"x","kind":"bored","at_ms":1}'])
def test_what_is_no_alert_is_refused(value: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        msgspec.json.decode(value, type=Alert)
