"""Reading flow files, and the published ``flows.json``; errors name field, value and limit."""

import hashlib
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Final

import msgspec
from msgspec import inspect

from fleetlane.events.errors import FleetlaneError
from fleetlane.events.flows.artifacts import FlowArtifact
from fleetlane.events.flows.event_schema import BadSchemaError, schema_beside
from fleetlane.events.flows.flow import Flow, FlowSet
from fleetlane.events.lanes import DECLARED_LANES, Lane

VERSION_CHARS: Final = 16
"""A version is so many lowercase hexadecimal digits."""

ROLLED_BACK_MAX: Final = 20
_VALUE_SHOWN_CHARS: Final = 80
_PATH_STEP: Final = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")
_FLOW_TYPE: Final = inspect.type_info(Flow)
_MISSING: Final = re.compile("Object missing required field `(.+)`")


class BadFlowError(FleetlaneError):
    """A flow file is refused. The problem names the field, its value and what is allowed."""

    file: str
    problem: str
    sentence = "{file}: {problem}"


class PublishedFlows(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The flows of a platform as published: one ``flows.json``. Unknown fields are ignored.

    ``artifacts`` are of the rules whose parser is no built-in format. ``before`` are the versions
    that were in force earlier, newest first. ``owners`` are each owner's version in it, and those
    before. Only the current version lists the two. ``published_by`` is for people, and no part of
    what the version is.
    """

    version: str
    flows: tuple[Flow, ...]
    artifacts: tuple[FlowArtifact, ...] = ()
    before: tuple[str, ...] = ()
    owners: Mapping[str, tuple[str, ...]] = {}
    published_by: str = ""

    @classmethod
    def of(cls, flows: Iterable[Flow], artifacts: Iterable[FlowArtifact] = ()) -> "PublishedFlows":
        """Make a version of flows in any order: the same flows are the same version."""
        ordered = tuple(sorted(flows, key=lambda flow: flow.stream))
        brought = tuple(sorted(artifacts, key=lambda one: (one.owner, one.use)))
        content = msgspec.json.encode((ordered, brought), order="deterministic")
        version = hashlib.sha256(content).hexdigest()[:VERSION_CHARS]
        return cls(version=version, flows=ordered, artifacts=brought)

    def to_json(self) -> bytes:
        """Write ``flows.json``: the same bytes for the same flows."""
        return msgspec.json.encode(self, order="deterministic")

    def of_owner(self, owner: str) -> "PublishedFlows":
        """The part of one owner, as a version of its own."""
        flows = [flow for flow in self.flows if flow.owner == owner]
        return PublishedFlows.of(flows, [one for one in self.artifacts if one.owner == owner])

    @cached_property
    def by_stream(self) -> FlowSet:
        return {flow.stream: flow for flow in self.flows}

    @cached_property
    def by_use(self) -> Mapping[tuple[str, str], FlowArtifact]:
        """The artifacts by an owner, and what the owner's rules write as ``use``."""
        return {(one.owner, one.use): one for one in self.artifacts}


class WantedVersion(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which of its versions an owner wants in force, and which were rolled back, newest first."""

    version: str
    rolled_back: tuple[str, ...] = ()

    def following(self, before: "WantedVersion | None", *, is_rollback: bool) -> "WantedVersion":
        """The same, knowing what was rolled back before; with a rollback the version before is."""
        known = () if before is None else before.rolled_back
        if is_rollback and before is not None:
            known = (before.version, *known)
        rolled_back = tuple(one for one in dict.fromkeys(known) if one != self.version)
        return WantedVersion(self.version, rolled_back[:ROLLED_BACK_MAX])

    def to_json(self) -> bytes:
        return msgspec.json.encode(self)


class _Written(msgspec.Struct):
    flows: msgspec.Raw
    artifacts: msgspec.Raw = msgspec.Raw(b"[]")


def version_of(flows_json: bytes) -> str:
    """The version that what ``to_json`` wrote must have: of these bytes, not of what they mean now.

    Raises ``msgspec.MsgspecError`` where it is not of that form.
    """
    written = msgspec.json.decode(flows_json, type=_Written)
    content = b"[%b,%b]" % (bytes(written.flows), bytes(written.artifacts))
    return hashlib.sha256(content).hexdigest()[:VERSION_CHARS]


def flow_from_toml(text: str, *, file: str, beside: Path | None = None) -> Flow:
    """Read one flow; ``file`` names it in errors.

    A schema that it names is read from the folder ``beside`` it, and becomes part of the flow.

    Raises ``BadFlowError`` of the field that is unknown, or whose value is not allowed.
    """
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as problem:  # some numbers, some nesting: not TOML's error
        raise BadFlowError(file, f"is not TOML: {problem}") from None
    unknown = next(_unknown_fields(document, _FLOW_TYPE), None)
    if unknown is not None:
        raise BadFlowError(file, unknown)
    if "schema" in document:
        try:
            document["schema"] = schema_beside(beside, document["schema"])
        except BadSchemaError as problem:
            raise BadFlowError(file, str(problem)) from None
    try:
        return msgspec.convert(document, Flow, strict=True)
    except msgspec.ValidationError as problem:
        raise BadFlowError(file, _plain_sentence(str(problem), document)) from None


def flow_at(path: Path) -> Flow:
    """Read a flow file, and the schema beside it; raises ``BadFlowError``."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as problem:
        raise BadFlowError(str(path), f"is not UTF-8: {problem}") from None
    return flow_from_toml(text, file=str(path), beside=path.parent)


def flows_in(folder: Path) -> FlowSet:
    """Read every ``*.toml`` of a folder; each is named for its stream.

    Raises ``BadFlowError`` where one is refused, or is not named for the stream it declares.
    """
    flows = {}
    for path in sorted(folder.glob("*.toml")):
        flow = flow_at(path)
        if path.stem != flow.stream:
            problem = f"field `stream` is {flow.stream!r}; the file's name allows {path.stem!r}"
            raise BadFlowError(str(path), problem)
        flows[flow.stream] = flow
    return flows


def _unknown_fields(value: object, kind: inspect.Type, *path: str) -> Iterator[str]:
    kind = _plain(kind)
    if isinstance(kind, inspect.StructType) and isinstance(value, dict):
        fields = {field.encode_name: field.type for field in kind.fields}
        for name, inner in value.items():
            if name in fields:
                yield from _unknown_fields(inner, fields[name], *path, name)
            else:
                yield f"unknown field `{'.'.join([*path, name])}`; allowed: {_choice(kind)}"
    elif isinstance(kind, inspect.VarTupleType) and isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _unknown_fields(inner, kind.item_type, *path, str(place))


def _plain_sentence(problem: str, document: object) -> str:
    """Turn msgspec's sentence into one that names field, value and what the field allows."""
    sentence, _, path = problem.partition(" - at `$")
    steps = [name or number for name, number in _PATH_STEP.findall(path.rstrip("`"))]
    value, kind = document, _FLOW_TYPE
    for step in steps:
        value, kind = _value_at(value, step), _type_at(kind, step)
    choice = _choice(kind)
    allowed = f"; allowed: {choice}" if choice else ""
    missing = _MISSING.fullmatch(sentence)
    if missing:
        return f"missing required field `{'.'.join([*steps, missing[1]])}`{allowed}"
    field, shown = f"field `{'.'.join(steps)}`" if steps else "the file", repr(value)
    if len(shown) > _VALUE_SHOWN_CHARS:
        shown = f"{shown[:_VALUE_SHOWN_CHARS]}…"
    return f"{field} is {shown}: {sentence[:1].lower()}{sentence[1:]}{allowed}"


def _value_at(value: object, step: str) -> object:
    if isinstance(value, dict):
        return value.get(step)
    if isinstance(value, list) and step.isdecimal() and int(step) < len(value):
        return value[int(step)]
    return value


def _type_at(kind: inspect.Type, step: str) -> inspect.Type:
    kind = _plain(kind)
    if isinstance(kind, inspect.StructType):
        return next((field.type for field in kind.fields if field.encode_name == step), kind)
    if isinstance(kind, inspect.VarTupleType | inspect.ListType):
        return kind.item_type
    return kind


def _plain(kind: inspect.Type) -> inspect.Type:
    if isinstance(kind, inspect.Metadata):
        return _plain(kind.type)
    if isinstance(kind, inspect.UnionType):
        rest = [one for one in kind.types if not isinstance(one, inspect.NoneType)]
        return _plain(rest[0]) if len(rest) == 1 else kind
    return kind


def _choice(kind: inspect.Type) -> str:
    kind = _plain(kind)
    match kind:
        case inspect.StructType():
            return ", ".join(field.encode_name for field in kind.fields)
        case inspect.EnumType():
            allowed = DECLARED_LANES if kind.cls is Lane else kind.cls
            return ", ".join(str(one.value) for one in allowed)
        case inspect.LiteralType():
            return ", ".join(str(value) for value in kind.values)
        case inspect.StrType(pattern=str() as pattern):
            return f"text matching {pattern}"
        case inspect.IntType(ge=int() as least, le=int() as most):
            return f"{least} to {most}"
        case _:
            return ""
