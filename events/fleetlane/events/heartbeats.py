"""Heartbeats of the Python workers of a query in real time, as they are in ``fleet.heartbeats``."""

import msgspec


class Heartbeat(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a worker reports of its task, whether or not there are messages.

    ``run`` is Spark's id of one start of the query, ``task`` the task's number in each batch. The
    partition is known from its first message on; all before ``durable_offset`` is done, and what
    came of it is durable. ``waits_ms``: how long the oldest unfinished message has waited. Of the
    time since the heartbeat before are ``lag_ms`` and ``counts``, by ``LaneMetric``'s names. A task
    that ``is_over`` sends no more. ``sent_ms`` is by the worker's clock.
    """

    run: str
    task: int
    sent_ms: int = 0
    topic: str | None = None
    partition: int | None = None
    durable_offset: int | None = None
    waits_ms: int = 0
    lag_ms: int = 0
    counts: dict[str, int] = msgspec.field(default_factory=dict)
    problem: str | None = None
    is_over: bool = False

    def to_json(self) -> bytes:
        return msgspec.json.encode(self)


def heartbeat_from(value: bytes | None) -> Heartbeat | None:
    """Read a record's value; ``None`` where it is none of ours."""
    try:
        return msgspec.json.decode(value or b"", type=Heartbeat)
    except msgspec.DecodeError:
        return None
