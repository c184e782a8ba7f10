"""The benchmark of the model behind docs/scale.md: what it counts, its units, its predictions."""

from collections import Counter
from collections.abc import Iterator, Mapping
from copy import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from threading import Thread
from typing import Final

import httpx
import pytest

from benchmarks.scale.counting_proxy import (
    PAYLOAD,
    PAYLOAD_COPY,
    REGISTRY_READ,
    CountingProxy,
    kind_of,
    request_of,
)
from benchmarks.scale.counts import (
    AUTHORIZER,
    INGEST,
    INGEST_LARGE,
    LANES,
    MACHINE,
    SENDERS,
    Calls,
    Counts,
    Phase,
)
from benchmarks.scale.model import (
    compared,
    door_measured,
    door_predicted,
    door_units,
    lanes_measured,
    lanes_predicted,
    lanes_units,
)
from benchmarks.scale.timed_gateway import Timer
from benchmarks.scale.traffic import lane_of, outgoing
from fleetlane.events.lanes import INLINE_BYTES_MAX, Lane
from infra.cost.scenario import KIB, LARGE_LANES

SECONDS: Final = 10.0
LANES_IDLE_S: Final = 2.0


def size(times: int) -> Phase:
    """A machine on which all that grows does so with the messages: as the model has it."""
    of_one = {Lane.FAST: 20, Lane.STANDARD: 175, Lane.BULK: 4, Lane.SLOW: 1}
    messages = {lane: count * times for lane, count in of_one.items()}
    large = 5 * times
    small, asked = 195 * times, 40 * times
    counts = Counts(
        seconds=SECONDS,
        messages=messages,
        body_bytes={
            lane: count * KIB * (512 if lane in LARGE_LANES else 1)
            for lane, count in messages.items()
        },
        cpu_s={LANES: LANES_IDLE_S + 0.3 * times},
        calls={
            INGEST: calls(small, each_ms=6),
            INGEST_LARGE: calls(large, each_ms=50),
            AUTHORIZER: calls(asked, each_ms=12),
        },
        raw_bytes=250_000 * times,
        output_bytes=900_000 * times,
        registry_reads=asked,
        payload_requests=3 * large,
    )
    return Phase(window=counts, whole=counts)


def calls(count: int, *, each_ms: int) -> Calls:
    ran_s = count * each_ms / 1e3
    return Calls(calls=count, cpu_s=count * 1e-3, ran_s=ran_s, billed_s=ran_s)


IDLE: Final = size(1)


def door_check(first: Phase, second: Phase) -> Mapping[str, Mapping[str, float]]:
    predicted = door_predicted(door_units(first), first, second)
    return compared(predicted, door_measured(second))


def test_what_grows_with_messages_is_predicted_at_the_door() -> None:
    check = door_check(size(2), size(8))

    # A function's time is rounded up to whole milliseconds, of a mean by the model.
    assert {name: one["off_by"] for name, one in check.items()} == pytest.approx(
        dict.fromkeys(check, 0), abs=0.03
    )


def test_what_grows_with_messages_is_predicted_of_the_lanes() -> None:
    first, second = size(2), size(8)
    units = lanes_units(first, IDLE)

    predicted = lanes_predicted({**door_units(first), **units}, second, IDLE)

    assert predicted == pytest.approx(dict(lanes_measured(second)), rel=0.001)


def test_units_are_the_models_own() -> None:
    units = door_units(size(1))

    assert units["ingest_cpu_us"] == pytest.approx(1_000)
    assert units["kafka_ack_ms"] == pytest.approx(5)
    assert units["payload_put_ms"] == pytest.approx(44)
    assert units["registry_read_ms"] == pytest.approx(11)
    inline_kib, envelopes_kib = 195, 0.5 * 200
    assert units["raw_compressed_share"] == pytest.approx(
        250_000 / KIB / (inline_kib + envelopes_kib), rel=0.001
    )


def test_parsing_and_metadata_share_what_they_took_as_measured_before() -> None:
    units = lanes_units(size(2), IDLE)

    assert units["parse_cpu_us_per_kib"] / units["metadata_cpu_us"] == pytest.approx(50 / 31)
    kib, messages = 195 + 5 * 512, 200
    in_all_us = units["parse_cpu_us_per_kib"] * kib + units["metadata_cpu_us"] * messages
    assert in_all_us == pytest.approx(300_000, rel=0.001)


def test_what_does_not_grow_as_predicted_is_off() -> None:
    second = size(4)
    twice = replace(second, window=replace(second.window, registry_reads=320))

    check = door_check(size(2), twice)

    assert check["registry_reads_per_s"] == {"predicted": 16, "measured": 32, "off_by": -0.5}


def test_the_whole_counts_at_the_windows_pace() -> None:
    phase = size(1)
    longer = replace(phase.whole, seconds=3 * SECONDS, messages={Lane.STANDARD: 400})

    evenly = replace(phase, whole=longer).evenly

    assert evenly.all_messages / evenly.seconds == phase.messages_per_s


def test_counts_are_since_an_earlier_look() -> None:
    early, late = size(1).window, replace(size(3).window, seconds=2 * SECONDS)

    between = late.since(early)

    assert between.seconds == SECONDS
    assert between.messages == size(2).window.messages
    assert between.calls[INGEST].calls == size(2).window.calls[INGEST].calls
    assert between.cpu_s[LANES] == pytest.approx(0.6)


def test_others_are_whose_cpu_is_none_of_ours() -> None:
    counts = replace(size(1).window, cpu_s={LANES: 4.0, SENDERS: 1.0, MACHINE: 8.0})

    cores = counts.cores_of_others

    assert cores == pytest.approx(3 / SECONDS)


def test_of_two_hundred_devices_a_few_are_in_each_other_lane() -> None:
    lanes = Counter(map(lane_of, range(200)))

    assert lanes == {Lane.STANDARD: 175, Lane.FAST: 20, Lane.BULK: 4, Lane.SLOW: 1}


@pytest.mark.parametrize("lane", Lane)
def test_a_body_is_as_large_as_its_lane_has_them(lane: Lane) -> None:
    body = outgoing(lane, Random(1), 1_800_000_000_000).body  # noqa: S311 - a simulation

    usual_bytes = 512 * KIB if lane in LARGE_LANES else KIB
    assert len(body) == pytest.approx(usual_bytes, rel=0.1)
    assert (len(body) > INLINE_BYTES_MAX) == (lane in LARGE_LANES)


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        ("POST / HTTP/1.1\r\nX-Amz-Target: DynamoDB_20120810.GetItem\r\n\r\n", REGISTRY_READ),
        ("POST / HTTP/1.1\r\nX-Amz-Target: DynamoDB_20120810.PutItem\r\n\r\n", None),
        ("PUT /fleetlane-payloads/payloads/1 HTTP/1.1\r\n\r\n", PAYLOAD),
        ("GET /fleetlane-payloads/payloads/1?x-id=GetObject HTTP/1.1\r\n\r\n", PAYLOAD),
        ("PUT /fleetlane-lake/archive/ab HTTP/1.1\r\n\r\n", PAYLOAD_COPY),
        ("GET /fleetlane-flows/flows/current.json HTTP/1.1\r\n\r\n", None),
    ],
)
def test_requests_count_by_what_they_ask(head: str, kind: str | None) -> None:
    request = request_of(head.encode())

    assert kind_of(request) == kind


class _Echo(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is declared
        pass


@pytest.fixture
def echo_url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Echo) as server:
        server.daemon_threads = True
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_the_proxy_passes_bodies_on_and_counts(echo_url: str) -> None:
    body = b"x" * 1_000_000

    with (
        CountingProxy(lambda: echo_url) as proxy,
        httpx.Client(base_url=proxy.url, trust_env=False) as client,
    ):
        answers = [client.put("/fleetlane-payloads/payloads/1", content=body) for _ in range(3)]

    assert [one.content for one in answers] == [body] * 3
    assert proxy.counted == {PAYLOAD: 3}


def test_a_call_is_timed_even_if_it_fails() -> None:
    timer = Timer()

    def fail(_event: object, _context: object) -> object:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        timer.timed(fail, lambda _: INGEST)({}, None)

    summed = timer.sums()[INGEST]
    assert summed.calls == 1
    assert 0 <= summed.billed_s - summed.ran_s < 0.001
