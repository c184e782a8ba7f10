"""What each role may do, as the table in ``docs/permissions.md``, read from synthesized stages.

``python -m tests.infra.permissions`` writes the document anew.
"""

import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path

from tests.infra.synthesis import POLICIES, ROOT, Synthesized, run_app, synthesized, write_stand_ins

DOCUMENT = ROOT / "docs" / "permissions.md"
STAGES = ("prod", "staging")
HEAD = """\
# What each function and application may do

Read from the roles of a synthesized stage, and checked by a test: a new right is a changed line.
`.venv/bin/python -m tests.infra.permissions` writes this page anew. `Glue` and `EMR` mark what one
engine alone needs. Only `lake` writes the registry, the overrides and the lake, and no parser runs
in it. Roles of CDK's own functions are not ours to choose. Only a stage that keeps no data has
`Emptied`, and only one with `has_operator_host` has `Operators`.

CloudFormation's names stand for buckets, tables and topics. What each role has of its own is left
out: its log group, its network interfaces, the stage's key.
"""
EMPTIED = "Emptied"
"""Of stages that keep no data, and prod does."""

OPERATORS = "Operators"
"""Of the stage with all options."""

_ENGINES = {"prod": "Glue", "staging": "EMR"}
_EXPORT = re.compile(r"fleetlane-\w+-\w+:ExportsOutput(?:FnGetAtt|Ref)([A-Za-z]+?)[0-9A-F]{8}.*")
_EVERYWHERE = re.compile(r"^(logs:|kms:|ec2:|xray:|glue:GetConnection)")
_CDKS_OWN = ("Custom", "AWS")

type Right = tuple[str, str, str]


def rendered(stages: Mapping[str, Synthesized]) -> str:
    """The whole document."""
    roles: dict[str, dict[Right, set[str]]] = defaultdict(lambda: defaultdict(set))
    for stage in STAGES:
        for role, right in _rights(stages[stage]):
            roles[role][right].add(_ENGINES[stage])
    for _, right in _rights(stages["options"], of="operators"):
        roles[OPERATORS][right].add("")
    parts: list[str] = [HEAD]
    for role in sorted(roles):
        lines = [f"## `{role}`", "", "| on | may | where |", "|---|---|---|"]
        for (resource, actions, condition), engines in sorted(roles[role].items()):
            is_of_one = len(engines) < len(_ENGINES) and role not in (EMPTIED, OPERATORS)
            only = min(engines) if is_of_one else ""
            lines.append(f"| {resource} | {actions} | {' '.join((only, condition)).strip()} |")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _rights(stage: Synthesized, of: str | None = None) -> Iterator[tuple[str, Right]]:
    by_place: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    policies = (stage.resources(kind, of=of) for kind in POLICIES)
    for name, policy in chain.from_iterable(one.items() for one in policies):
        role = re.sub(r"(role)?(Role)?(DefaultPolicy|Policy)?[0-9A-F]{8}.*$", "", name)
        role = re.sub(r"(role|)Role.*$|^Engine|^Uploads", "", role)
        if role.startswith(_CDKS_OWN):
            continue
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]:
            condition = json.dumps(statement["Condition"]) if "Condition" in statement else ""
            for resource in _listed(statement["Resource"]):
                place = (
                    role,
                    _text(resource, stage),
                    condition and f"`{_short(condition, stage)}`",
                )
                by_place[place] |= set(map(str, _listed(statement["Action"])))
    for (role, resource, condition), actions in by_place.items():
        shown = sorted(action for action in actions if not _EVERYWHERE.match(action))
        if shown:
            yield role, (f"`{resource}`", ", ".join(f"`{one}`" for one in shown), condition)


def _short(condition: str, stage: Synthesized) -> str:
    short = condition.replace('"', "").replace("|", r"\|")
    return re.sub(rf"(fleetlane:stage: |Fleetlane/){_name_of(stage)}", r"\1STAGE", short)


def _text(resource: object, stage: Synthesized) -> str:
    """A resource as a reader knows it: by its logical name, without region and account."""
    match resource:
        case str(text):
            return text
        case {"Fn::ImportValue": str(export)}:
            return _EXPORT.sub(r"\1", export)
        case {"Fn::GetAtt": [str(name), *_]} | {"Ref": str(name)}:
            return re.sub(r"[0-9A-F]{8}$", "", name)
        case {"Fn::Join": [str(between), list(parts)]}:
            text = between.join(_text(part, stage) for part in parts)
            text = re.sub(rf"(fleetlane[-_/]){_name_of(stage)}", r"\1STAGE", text)
            return re.sub(r"^arn:[\w:]+?:(\w+):[^:]*:AWS::AccountId:", r"\1:", text)
        case _:
            return json.dumps(resource)


def _name_of(stage: Synthesized) -> str:
    path = next(stage.folder.glob("*-ingest.template.json"))
    return path.name.split("-")[1]


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        artifacts = Path(scratch, "artifacts")
        write_stand_ins(artifacts)
        stages = {}
        for name in (*STAGES, "options"):
            out = Path(scratch, name)
            ended = run_app({"stage": name, "artifacts": str(artifacts)}, out)
            assert ended.returncode == 0, ended.stdout + ended.stderr
            stages[name] = synthesized(out)
        DOCUMENT.write_text(rendered(stages))


if __name__ == "__main__":
    main()
