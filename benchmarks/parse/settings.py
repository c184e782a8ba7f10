"""What all contenders are given alike: librdkafka's settings are those of the jobs' sink."""

from typing import Final

PRODUCER: Final = {
    "acks": "all",
    "enable.idempotence": True,
    "linger.ms": 5,
    "batch.size": 256 * 1024,
    "compression.type": "lz4",
    "queue.buffering.max.messages": 500_000,
}
