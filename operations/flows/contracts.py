"""What readers of a flow may rely on, in two standards: AsyncAPI 3.0 and ODCS 3.1.

Rules: asyncapi.com/docs/reference/specification/v3.0.0 and
bitol-io.github.io/open-data-contract-standard/v3.1.0.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from fleetlane.events.canonical import CANONICAL_CONTENT_TYPE, CanonicalEvent
from fleetlane.events.flows.flow import Flow
from fleetlane.events.times import DAY_MS
from fleetlane.events.topics import CanonicalKey, canonical_topic, topic_settings, unique_topic

_KEYS: Final[Mapping[CanonicalKey, str]] = {
    CanonicalKey.DEVICE_HOUR: "Device and hour in UTC, as d-17/2026-11-03T14.",
    CanonicalKey.DEVICE: "The device.",
    CanonicalKey.EVENT_MILLIS: "The event's time in milliseconds since 1970, as decimal text.",
}
_SCHEMAS: Final = "#/components/schemas/"
_OPTIONS: Final = ("minimum", "maximum", "minLength", "maxLength", "pattern")
"""JSON Schema's keywords that ODCS has by the same names."""

type Document = dict[str, Any]


def asyncapi(flow: Flow, *, version: str) -> Document:
    """Describe the topics that a flow's events are in, and the events.

    ``version`` is that of the published flows.
    """
    topics = list(topics_of_events(flow))
    return {
        "asyncapi": "3.0.0",
        "info": {
            "title": _title(flow),
            "version": version,
            "description": _usage(flow),
            "contact": {"name": flow.owner},
        },
        "defaultContentType": CANONICAL_CONTENT_TYPE,
        "channels": {name: _channel(flow, topic, summary) for name, topic, summary in topics},
        "operations": {
            f"send_{name}": {"action": "send", "channel": {"$ref": f"#/channels/{name}"}}
            for name, _, _ in topics
        },
        "components": {
            "messages": {
                flow.stream: {
                    "title": _title(flow),
                    "payload": {"$ref": f"{_SCHEMAS}{CanonicalEvent.__name__}"},
                    "bindings": _kafka_bindings(
                        key={"type": "string", "description": _KEYS[flow.canonical.key]}
                    ),
                }
            },
            "schemas": _schemas(flow),
        },
    }


def _channel(flow: Flow, topic: str, summary: str) -> Document:
    settings = topic_settings(topic).kafka_configuration()
    return {
        "address": topic,
        "summary": summary,
        "messages": {flow.stream: {"$ref": f"#/components/messages/{flow.stream}"}},
        "bindings": _kafka_bindings(
            topic=topic, topicConfiguration={name: int(value) for name, value in settings.items()}
        ),
    }


def _kafka_bindings(**facts: object) -> Document:
    return {"kafka": {**facts, "bindingVersion": "0.5.0"}}


def data_contract(flow: Flow, *, version: str) -> Document:
    """Describe a flow's events as a table, with its owner, for how long it is kept, and its key.

    ``version`` is that of the published flows.
    """
    schemas, topics = _schemas(flow), [topic for _, topic, _ in topics_of_events(flow)]
    properties = _properties(schemas[CanonicalEvent.__name__], schemas, key="id")
    return {
        "apiVersion": "v3.1.0",
        "kind": "DataContract",
        "id": f"fleetlane:{flow.stream}",
        "name": flow.stream,
        "version": version,
        "status": "active",
        "description": {"purpose": _title(flow), "usage": _usage(flow)},
        "team": {"name": flow.owner},
        "schema": [
            {
                "name": flow.stream,
                "physicalName": topics[0],
                "logicalType": "object",
                "properties": list(properties),
            }
        ],
        "slaProperties": [
            {"property": "retention", "value": days, "unit": "d", "element": topic}
            for topic in (flow.raw_topic(flow.lane, device_type=None), *topics)
            for days in [topic_settings(topic).retention_ms // DAY_MS]
        ],
    }


def topics_of_events(flow: Flow) -> Iterator[tuple[str, str, str]]:
    """By a name: each topic with this flow's events, and which of them."""
    yield "canonical", canonical_topic(flow.stream), "All events, repeats included."
    if flow.dedupe is not None:
        window = f"Without repeats within {flow.dedupe.window_s} s."
        yield "unique", unique_topic(flow.stream), window
    for redirect in flow.canonical.redirects:
        which = f"Events whose `{redirect.when}` is {msgspec.json.encode(redirect.equals).decode()}"
        yield f"to_{redirect.to}", canonical_topic(redirect.to), f"{which}, instead."


def _title(flow: Flow) -> str:
    return str((flow.schema or {}).get("title", f"Events of stream {flow.stream}"))


def _usage(flow: Flow) -> str:
    same = {
        "message": "each event of a message has an id of its own",
        "fields": f"events of a device with the same {', '.join(flow.identity.fields)} are one",
        "content": "events of a device with the same content and time are one",
    }[flow.identity.by]
    return (
        f"An event may come more than once: keep one of each `id`, that of the highest `revision`;"
        f" {same}. Which events of a `rawid` count is said by its highest `revision` too."
    )


def _schemas(flow: Flow) -> dict[str, Document]:
    """The CloudEvent and what it refers to, as JSON Schema; ``data`` is by the flow's own."""
    _, schemas = msgspec.json.schema_components(
        [CanonicalEvent], schema_hook=lambda _: {"title": "Any"}, ref_template=_SCHEMAS + "{name}"
    )
    properties = schemas[CanonicalEvent.__name__]["properties"]
    properties["type"] = {"type": "string", "const": flow.stream}
    properties["time"] = {"type": "string", "format": "date-time"}
    properties["datacontenttype"] = {"type": "string", "const": "application/json"}
    declared = {name: value for name, value in (flow.schema or {}).items() if name != "$schema"}
    properties["data"] = declared or {"type": "object"}
    properties |= {name: {"type": "string"} for name in flow.attributes}
    return schemas


def _properties(
    schema: Mapping[str, Any], schemas: Mapping[str, Document], *, key: str = ""
) -> Iterator[Document]:
    required = schema.get("required", [])
    for name, one in schema.get("properties", {}).items():
        found = {"name": name, **_typed(one, schemas), "required": name in required}
        yield found | ({"primaryKey": True, "primaryKeyPosition": 1} if name == key else {})


def _typed(schema: Mapping[str, Any], schemas: Mapping[str, Document]) -> Document:
    """What ODCS says of a value, which has one type there, and never ``null``."""
    if "$ref" in schema:
        schema = schemas[schema["$ref"].removeprefix(_SCHEMAS)]
    named = schema.get("type", "string")
    kind = named if isinstance(named, str) else next(iter(sorted({*named} - {"null"})), "string")
    typed: Document = {"logicalType": kind, "physicalType": kind}
    if kind == "string" and schema.get("format") == "date-time":
        typed["logicalType"] = "timestamp"
    if kind == "object":
        typed["properties"] = list(_properties(schema, schemas))
    if kind == "array" and isinstance(schema.get("items"), Mapping):
        typed["items"] = _typed(schema["items"], schemas)
    if "description" in schema:
        typed["description"] = schema["description"]
    options = {name: schema[name] for name in _OPTIONS if name in schema}
    return typed | ({"logicalTypeOptions": options} if options else {})
