"""A process that lands one record for each line on its standard input: it is frozen in between.

``python -m tests.contract.frozen_sender SERVERS TOPIC TOKEN_LIFETIME_S`` answers each line with
``<seconds> landed``, or why not.
"""

import base64
import json
import sys
import time

from clients.kafka.producer import KafkaProducer, NotDurableError
from clients.kafka.producer_record import ProducerRecord


def main(servers: str, topic: str, lifetime_s: int) -> None:
    producer = KafkaProducer(
        bootstrap_servers=servers,
        security={
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanisms": "OAUTHBEARER",
            "oauth_cb": lambda _: unsigned_token(lifetime_s),
        },
    )
    for line in sys.stdin:
        began_s = time.monotonic()
        outcome = "landed"
        try:
            producer.land(ProducerRecord(topic=topic, key=b"1", value=line.encode()))
        except NotDurableError as problem:
            outcome = str(problem)
        sys.stdout.write(f"{time.monotonic() - began_s:.3f} {outcome}\n")
        sys.stdout.flush()


def unsigned_token(lifetime_s: int) -> tuple[str, float]:
    now_s = int(time.time())
    claims = {"sub": "ingest", "iat": now_s, "exp": now_s + lifetime_s}
    parts = (json.dumps(one).encode() for one in ({"alg": "none"}, claims))
    token = ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)
    return f"{token}.", float(now_s + lifetime_s)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
