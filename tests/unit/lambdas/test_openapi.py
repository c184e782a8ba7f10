"""docs/openapi.yaml knows what the code knows: routes, tags, and every real answer."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jsonschema_rs
import pytest
import yaml

from fleetlane.events.errors import ProblemTag
from fleetlane.events.lanes import PAYLOAD_BYTES_MAX, Lane
from lambdas.http.device_request import (
    BODY_ENCODING,
    BODY_ENCODINGS,
    CONTENT_TYPE,
    FIRMWARE,
    IDEMPOTENCY_KEY,
    MILLIS,
)
from lambdas.http.problems import PROBLEM_CONTENT_TYPE
from lambdas.ingest.batch_document import ENTRIES_MAX
from lambdas.ingest.dispatcher import Dispatcher
from lambdas.ingest.service import Landed, Notice
from lambdas.ingest.sink_health import Condition, Sink
from local.checkout import ROOT
from local.gateway.event import RESOURCES
from tests.unit.lambdas.api_gateway import Answer, event, ingest_routes, post, send
from tests.unit.lambdas.cloud_events import entry, post_batch
from tests.unit.lambdas.fakes import FakeKafka
from tests.unit.lambdas.test_upload_issuing import World as UploadWorld

API: Mapping[str, Any] = yaml.safe_load((ROOT / "docs" / "openapi.yaml").read_text())
COMPONENTS: Mapping[str, Any] = API["components"]
SCHEMAS: Mapping[str, Any] = COMPONENTS["schemas"]


def operations() -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for path, item in API["paths"].items():
        for method, operation in item.items():
            if method != "parameters":
                yield method.upper(), path, operation


def test_the_routes_are_those_of_the_gateway() -> None:
    described = {(method, path) for method, path, _ in operations()}

    assert described == {(one.method, one.path) for one in RESOURCES}


def test_only_what_is_public_needs_no_token() -> None:
    public = {path for _, path, operation in operations() if operation.get("security") == []}

    assert public == {one.path for one in RESOURCES if one.is_public}


def test_the_tags_are_those_of_the_code_with_their_statuses() -> None:
    problem = SCHEMAS["Problem"]["properties"]

    assert problem["type"]["enum"] == [f"urn:fleetlane:problem:{tag}" for tag in ProblemTag]
    assert problem["status"]["enum"] == [tag.status for tag in ProblemTag]


def test_every_route_of_a_device_describes_the_answers_that_any_may_get() -> None:
    of_any = {"400", "401", "403", "413", "429", "503"}

    described = [set(one["responses"]) for method, _, one in operations() if method == "POST"]

    assert all(of_any <= statuses for statuses in described)


@pytest.mark.parametrize(
    ("given", "is_valid"),
    [
        ({"data": 1}, True),
        ({"data_base64": "AQ=="}, True),
        ({}, True),
        ({"data": 1, "data_base64": "AQ=="}, False),
    ],
)
def test_an_entry_has_data_in_one_form_in_the_document_as_in_the_code(
    given: dict[str, Any], *, is_valid: bool
) -> None:
    described = jsonschema_rs.validator_for({**SCHEMAS["Entry"], "components": COMPONENTS})
    one = entry(**given)

    answer = post_batch(routes(), one)

    assert described.is_valid(one) is is_valid
    assert answer.body["receipts"][0]["status"] == (202 if is_valid else 400)


def test_a_start_after_its_end_is_in_the_document_and_a_clear_problem() -> None:
    rules = [
        SCHEMAS["Entry"]["x-data-range"],
        COMPONENTS["parameters"]["DataStart"]["x-data-range"],
    ]
    headers = {rules[1]["start"]: "2", rules[1]["end"]: "1"}

    single = post(routes(), headers=headers).body
    one = entry(**{rules[0]["start"]: "2", rules[0]["end"]: "1"})
    (of_batch,) = post_batch(routes(), one).body["receipts"]

    assert (single["status"], of_batch["status"]) == (400, 400)
    assert all("allowed: at most" in one["detail"] for one in (single, of_batch))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("Lane", Lane),
        ("Landed", Landed),
        ("Notice", Notice),
        ("Condition", Condition),
        ("BodyEncoding", BODY_ENCODINGS),
    ],
)
def test_what_may_be_in_a_field_is_what_the_code_knows(name: str, values: Any) -> None:
    assert SCHEMAS[name]["enum"] == [str(value) for value in values]


@pytest.mark.parametrize(
    ("described", "rule"),
    [
        (SCHEMAS["MillisText"], MILLIS),
        (SCHEMAS["Entry"]["properties"]["id"], IDEMPOTENCY_KEY),
        (SCHEMAS["Entry"]["properties"]["firmware"], FIRMWARE),
        (SCHEMAS["Entry"]["properties"]["datacontenttype"], CONTENT_TYPE),
        (SCHEMAS["UploadDeclaration"]["properties"]["content_type"], CONTENT_TYPE),
        (COMPONENTS["parameters"]["IdempotencyKey"]["schema"], IDEMPOTENCY_KEY),
        (COMPONENTS["parameters"]["Firmware"]["schema"], FIRMWARE),
    ],
    ids=["millis", "entry id", "entry firmware", "entry type", "upload type", "key", "firmware"],
)
def test_patterns_are_those_of_the_code(described: Mapping[str, Any], rule: Any) -> None:
    assert described["pattern"] == f"^{rule.pattern.pattern}$"


def test_body_encodings_and_the_longest_batch_are_those_of_the_code() -> None:
    document = API["paths"]["/v1/batch"]["post"]["requestBody"]["content"]
    (batch,) = document.values()

    assert "|".join(SCHEMAS["BodyEncoding"]["enum"]) == BODY_ENCODING.pattern.pattern
    assert batch["schema"]["maxItems"] == ENTRIES_MAX
    assert set(SCHEMAS["Health"]["properties"]["sinks"]["properties"]) == set(Sink)


STREAM, BATCH, UPLOADS = "/v1/streams/{stream}", "/v1/batch", "/v1/uploads/{stream}"
REAL: Mapping[str, tuple[str, Callable[[], Answer]]] = {
    "health": ("/v1/health", lambda: send(routes(), event("GET", "/v1/health", identity=None))),
    "a message": (STREAM, lambda: post(routes())),
    "a large one": (STREAM, lambda: post(routes(), body=bytes(300_000))),
    "one too large": (STREAM, lambda: post(routes(), body=bytes(1_000_001))),
    "no stream": (STREAM, lambda: post(routes(), "/v1/streams/No")),
    "a bad header": (STREAM, lambda: post(routes(), headers={"Idempotency-Key": ""})),
    "nobody": (STREAM, lambda: post(routes(), identity=None)),
    "Kafka away": (STREAM, lambda: post(routes(is_up=False))),
    "not fast": ("/v1/fast/{stream}", lambda: post(routes(), "/v1/fast/thermo")),
    "a batch": (BATCH, lambda: post_batch(routes(), entry(), entry("e-2"))),
    "a bad entry": (BATCH, lambda: post_batch(routes(), entry(), entry(id=""))),
    "a batch, Kafka away": (BATCH, lambda: post_batch(routes(is_up=False), entry())),
    "an upload": (UPLOADS, lambda: asked_for(bytes=6_000_000)),
    "an upload too large": (UPLOADS, lambda: asked_for(bytes=11_000_000)),
    "no upload": (UPLOADS, lambda: asked_for(size=1)),
    "another method": (STREAM, lambda: send(routes(), event("GET", "/v1/streams/thermo"))),
    "no batch": (BATCH, lambda: post(routes(), BATCH, b"")),
}


def test_the_largest_upload_is_that_of_the_code() -> None:
    assert SCHEMAS["UploadDeclaration"]["properties"]["bytes"]["maximum"] == PAYLOAD_BYTES_MAX


def asked_for(**declared: int) -> Answer:
    status, body = UploadWorld().ask({"sha256": "ab" * 32, **declared})
    content_type = "application/json" if status < 300 else PROBLEM_CONTENT_TYPE
    return Answer(status=status, content_type=content_type, headers={}, body=body)


def routes(*, is_up: bool = True) -> Dispatcher:
    kafka = FakeKafka(["raw.standard", "raw.bulk.large"])
    kafka.is_up = is_up
    return ingest_routes(producer=kafka)


@pytest.mark.parametrize("name", REAL)
def test_real_answers_are_as_described(name: str) -> None:
    path, answered = REAL[name]
    (operation,) = (one for _, route, one in operations() if route == path)

    answer = answered()

    described = resolved(operation["responses"][str(answer.status)])
    schema = described["content"][answer.content_type]["schema"]
    assert [str(one) for one in validator(schema).iter_errors(dict(answer.body))] == []
    assert ("Retry-After" in answer.headers) <= ("headers" in described)


def resolved(value: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" not in value:
        return value
    _, _, kind, name = value["$ref"].split("/")
    found: Mapping[str, Any] = COMPONENTS[kind][name]
    return found


def validator(schema: Mapping[str, Any]) -> Any:
    return jsonschema_rs.validator_for({**schema, "components": dict(COMPONENTS)})
