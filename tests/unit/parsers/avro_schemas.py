"""Schemas of Avro, and what messages of one field hold by them."""

import json

from hypothesis import settings

from fleetlane.parsers.formats.avro.parser import Avro

quick = settings(max_examples=150, deadline=None)
FRAME = b"\0\0\0\0\7"
POINT = {"type": "record", "name": "Point", "fields": [{"name": "x", "type": "int"}]}
NULLS = {"type": "array", "items": "null"}


def field_of(schema: object) -> str:
    """A record's schema, with one field."""
    fields = [{"name": "f", "type": schema}]
    return json.dumps({"type": "record", "name": "R", "fields": fields})


def value_of(schema: object, octets: bytes) -> object:
    (event,) = Avro(schemas={"7": field_of(schema)}).parse(FRAME + octets)
    return event["f"]


ANY = json.dumps(
    {
        "type": "record",
        "name": "Any",
        "fields": [
            {"name": f"f{position}", "type": schema}
            for position, schema in enumerate(
                [
                    {"type": "array", "items": ["null", "double", "Any"]},
                    {"type": "map", "values": ["string", "float"]},
                    {"type": "long", "logicalType": "timestamp-micros"},
                    {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
                ]
            )
        ],
    }
)
