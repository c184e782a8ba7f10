"""What a worker writes to Kafka itself, as Spark's sink would: to the same partitions, alike."""

from collections.abc import Iterable, Mapping
from itertools import batched, starmap
from typing import Any, Final

from confluent_kafka import Producer

from clients.kafka.raw_producer import producer_configuration
from clients.kafka.security import security_configuration
from fleetlane.events import headers as ce
from fleetlane.events.canonical import CANONICAL_CONTENT_TYPE
from fleetlane.events.envelope import Header
from fleetlane.events.job_arguments import KafkaSecurity
from fleetlane.events.metadata import METADATA_CONTENT_TYPE
from fleetlane.events.topics import METADATA_TOPICS, REROUTED_BYTES_MAX
from fleetlane.parsers.sandbox.canonical_records import CanonicalRecords
from glue_jobs.parse_lane.lane_metrics import output_counts
from glue_jobs.parse_lane.lane_parser import Output
from glue_jobs.parse_lane.real_time.progress import MESSAGES_MAX, Taken, TaskProgress
from glue_jobs.parse_lane.results.output_batches import OutputRecord

DELIVERY_TIMEOUT_S: Final = 120.0
"""As long as Kafka's own client for Java tries."""

_QUEUE_KIB_MAX: Final = 64 << 10
_FULL_POLL_S: Final = 0.05
_BEGUN_TOGETHER: Final = 100
_LINGER_MS: Final = 1
"""So that the events of one message come to the broker in one request, not in one each."""


class WorkerSink:
    """Writes what a lane's parser gives. One thread writes; another one serves deliveries.

    Records of a key come to the partition that Kafka's client for Java chooses.
    """

    def __init__(self, bootstrap_servers: str, security: KafkaSecurity) -> None:
        self._producer = Producer(
            {
                **producer_configuration(bootstrap_servers, DELIVERY_TIMEOUT_S),
                **security_configuration(security),
                "linger.ms": _LINGER_MS,
                "request.timeout.ms": 30_000,
                "message.max.bytes": 2 * REROUTED_BYTES_MAX,
                "partitioner": "murmur2_random",
                "queue.buffering.max.messages": 2 * MESSAGES_MAX,
                "queue.buffering.max.kbytes": _QUEUE_KIB_MAX,
            }
        )

    def write(
        self, outputs: Iterable[Output], task: TaskProgress, taken: Taken
    ) -> Mapping[str, int]:
        """Hand over what comes of some records, canonical ones first; count the others.

        The counts are by ``LaneMetric``'s names. Blocks while too much is on its way. Raises
        ``NotDurableError`` if a record before failed.
        """
        others = list[OutputRecord]()
        for output in outputs:
            if isinstance(output, OutputRecord):
                others.append(output)
            elif isinstance(output, CanonicalRecords):
                self._hand_over(starmap(OutputRecord, output), task, taken)
            else:
                columns = (column.to_pylist() for column in output.columns)
                others += starmap(OutputRecord, zip(*columns, strict=True))
        self._hand_over(others, task, taken)
        return output_counts([one.topic for one in others], [one.value for one in others])

    def _hand_over(self, records: Iterable[OutputRecord], task: TaskProgress, taken: Taken) -> None:
        for some in batched(records, _BEGUN_TOGETHER, strict=False):
            on_delivery = task.begin_outputs(taken, len(some))
            for topic, key, value, pairs in some:
                headers = _content_type(topic) if pairs is None else pairs
                self._produce(topic, key, value, headers, on_delivery)

    def serve(self, timeout_s: float) -> None:
        """Call what waits for deliveries; blocks until there is one, or for so long."""
        self._producer.poll(timeout_s)

    def send(self, topic: str, value: bytes) -> None:
        """Write one record that nobody waits for."""
        self._producer.produce(topic, value=value)

    def _produce(
        self, topic: str, key: bytes | None, value: bytes | None, headers: list[Any], done: Any
    ) -> None:
        while True:
            try:
                self._producer.produce(
                    topic, key=key, value=value, headers=headers, on_delivery=done
                )
                return
            except BufferError:  # full by bytes; the other thread empties it too
                self._producer.poll(_FULL_POLL_S)


def _content_type(topic: str) -> list[Header]:
    """As ``with_content_type`` gives it to Spark's sink."""
    is_metadata = topic in METADATA_TOPICS
    content_type = METADATA_CONTENT_TYPE if is_metadata else CANONICAL_CONTENT_TYPE
    return [(ce.CONTENT_TYPE, content_type.encode())]
