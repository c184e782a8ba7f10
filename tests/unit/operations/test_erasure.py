"""What Kafka holds of a device, and the bodies that go when it is erased."""

from fleetlane.events.metadata import Outcome
from operations.devices.erasure import delete_bodies, traces_of
from tests.unit.operations.stored_messages import OTHER_ID, FakeStore, by_reference, message_of


class Bucket:
    """Keys; those that are not there may be deleted too."""

    def __init__(self, *keys: str) -> None:
        self.keys = set(keys)

    def delete(self, key: str) -> None:
        self.keys.discard(key)


def test_a_devices_records_are_counted_by_topic_and_nobody_elses() -> None:
    store = FakeStore()
    store.land(message_of())
    store.land(message_of(OTHER_ID, device_id="d-170"))
    store.land(message_of(), "raw.slow")
    store.park(message_of())
    store.tell(message_of(), outcome=Outcome.PARKED)

    traces = traces_of("d-17", store)

    assert traces.records == {"parked": 1, "raw.slow": 1, "raw.standard": 1}


def test_bodies_are_found_where_they_landed_and_where_they_were_parked() -> None:
    store = FakeStore()
    store.land(by_reference(key="payloads/1"))
    store.park(by_reference(key="parked/payloads/2"))

    traces = traces_of("d-17", store)

    assert traces.landed == {"payloads/1"}
    assert traces.parked == {"parked/payloads/1", "parked/payloads/2"}


def test_the_mark_of_an_upload_goes_with_it() -> None:
    store = FakeStore()
    store.land(by_reference(key="uploads/2026-11-03T14-05/1"))

    traces = traces_of("d-17", store)

    assert traces.landed == {"uploads/2026-11-03T14-05/1", "landed/2026-11-03T14-05/1"}


def test_an_upload_is_deleted_before_its_mark_without_which_it_lands_again() -> None:
    store, deleted = FakeStore(), list[str]()
    store.land(by_reference(key="uploads/2026-11-03T14-05/1"))

    traces = traces_of("d-17", store)
    delete_bodies(traces, landed=deleted.append, parked=deleted.append, on_deleted=lambda _: None)

    ours = [key for key in deleted if not key.startswith("parked/")]
    assert ours == ["uploads/2026-11-03T14-05/1", "landed/2026-11-03T14-05/1"]


def test_a_devices_bodies_are_deleted_and_others_stay() -> None:
    store, told = FakeStore(), list[int]()
    store.land(by_reference(key="payloads/1"))
    landed, parked = Bucket("payloads/1", "payloads/9"), Bucket("parked/payloads/9")

    traces = traces_of("d-17", store)
    delete_bodies(traces, landed=landed.delete, parked=parked.delete, on_deleted=told.append)

    assert (landed.keys, parked.keys, told) == ({"payloads/9"}, {"parked/payloads/9"}, [1, 2])
