"""What all contenders share: a broker with the messages, and S3 with the flow."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.parse import readings_parser
from benchmarks.parse.jvm_copy import COPIES_TOPIC
from benchmarks.parse.workload import PARTITIONS, RAW_TOPIC, STREAM, write_messages
from benchmarks.running.services import Services, services
from fleetlane.events.topics import FLEET_PARSED, PARKED, canonical_topic


@contextmanager
def stage(folder: Path, messages: int, *, partitions: int = PARTITIONS) -> Iterator[Services]:
    """Start broker and S3 in ``folder``, and write the messages; all is stopped at the end."""
    with services(folder) as ready:
        outputs = (canonical_topic(STREAM), FLEET_PARSED, COPIES_TOPIC, PARKED)
        ready.create_topics([RAW_TOPIC, "raw.slow", *outputs], partitions=partitions)
        write_messages(ready.bootstrap_servers, messages, partitions=partitions)
        ready.deploy(Path(readings_parser.__file__), "readings", "Readings")
        yield ready
