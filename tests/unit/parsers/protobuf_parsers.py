"""Parsers by the message types of one descriptor set."""

from hypothesis import settings

from fleetlane.parsers.formats.protobuf.parser import Protobuf

quick = settings(max_examples=150, deadline=None)
SET = "tests.unit.parsers:schemas/every_type.binpb"
EVERY = Protobuf(descriptor_set=SET, message="acme.v1.Every")
KNOWN = Protobuf(descriptor_set=SET, message="acme.v1.KnownTypes")
OLD = Protobuf(descriptor_set=SET, message="acme.old.Old")
BATCH = Protobuf(descriptor_set=SET, message="acme.v1.Batch", framing="delimited")
