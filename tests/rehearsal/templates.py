"""A stage's templates as CloudFormation would read them: references resolved, uploads listed."""

import json
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

ACCOUNT = "000000000000"
REGION = "eu-central-1"
_PSEUDO = {
    "AWS::AccountId": ACCOUNT,
    "AWS::NoValue": None,
    "AWS::Partition": "aws",
    "AWS::Region": REGION,
    "AWS::URLSuffix": "amazonaws.com",
}
_NAMED_BY = ("Name", "BucketName", "TableName", "RoleName", "LogGroupName", "FunctionName")

type Resource = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """Files that the deploy puts below a prefix of a bucket: by their keys, where each lies here.

    ``archives`` are unpacked there.
    """

    bucket: str
    prefix: str
    folders: tuple[Path, ...]
    archives: tuple[Path, ...]

    def objects(self) -> Iterator[tuple[str, bytes]]:
        for folder in self.folders:
            for file in sorted(folder.rglob("*")):
                if file.is_file():
                    yield self._key(file.relative_to(folder).as_posix()), file.read_bytes()
        for archive in self.archives:
            with zipfile.ZipFile(archive) as opened:
                for name in opened.namelist():
                    yield self._key(name), opened.read(name)

    def _key(self, name: str) -> str:
        return f"{self.prefix}/{name}" if self.prefix else name


@dataclass(frozen=True, slots=True)
class StageTemplates:
    """All that ``cdk synth`` wrote for a stage, in ``folder``.

    ``attributes`` are what only a running resource knows, by how the attribute's name ends. Other
    names are made up, and the same wherever they are referred to.
    """

    folder: Path
    attributes: Mapping[str, str]
    _templates: dict[str, Mapping[str, Any]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        for path in sorted(self.folder.glob("*.template.json")):
            self._templates[path.name.removesuffix(".template.json")] = json.loads(path.read_text())

    def resources(self, kind: str) -> Iterator[Mapping[str, Any]]:
        """The properties of all resources of a type, resolved."""
        for stack, template in self._templates.items():
            for resource in template["Resources"].values():
                if resource["Type"] == kind:
                    yield self._resolved(stack, resource.get("Properties", {}))

    def physical_names(self, kind: str) -> list[str]:
        return [
            self._name(stack, name)
            for stack, template in self._templates.items()
            for name, resource in template["Resources"].items()
            if resource["Type"] == kind
        ]

    def uploads(self) -> Iterator[Upload]:
        """What CDK's own function copies from the deploy's bucket into the stage's, as it does."""
        assets = dict(self._assets())
        for one in self.resources("Custom::CDKBucketDeployment"):
            paths = [assets[key] for key in one["SourceObjectKeys"]]
            yield Upload(
                bucket=one["DestinationBucketName"],
                prefix=one.get("DestinationBucketKeyPrefix", "").strip("/"),
                folders=tuple(path for path in paths if path.is_dir()),
                archives=tuple(path for path in paths if path.is_file()),
            )

    def _assets(self) -> Iterator[tuple[str, Path]]:
        for path in self.folder.glob("*.assets.json"):
            for asset in json.loads(path.read_text())["files"].values():
                for destination in asset["destinations"].values():
                    yield destination["objectKey"], self.folder / asset["source"]["path"]

    def _resolved(self, stack: str, value: Any) -> Any:
        match value:
            case list():
                return [self._resolved(stack, one) for one in value]
            case dict() if len(value) == 1 and (name := next(iter(value))) in _FUNCTIONS:
                return _FUNCTIONS[name](self, stack, value[name])
            case dict():
                return {name: self._resolved(stack, one) for name, one in value.items()}
            case _:
                return value

    def _joined(self, stack: str, given: tuple[str, Any]) -> str:
        separator, parts = given
        return separator.join(map(str, self._resolved(stack, parts)))

    def _split(self, stack: str, given: tuple[str, Any]) -> list[str]:
        separator, text = given
        return str(self._resolved(stack, text)).split(separator)

    def _selected(self, stack: str, given: tuple[int | str, Any]) -> Any:
        index, values = given
        return self._resolved(stack, values)[int(index)]

    def _substituted(self, stack: str, text: str) -> str:
        begin, *parts = text.split("${")
        for part in parts:
            name, _, rest = part.partition("}")
            begin += f"{self._referred(stack, name)}{rest}"
        return begin

    def _referred(self, stack: str, name: str) -> Any:
        if name == "AWS::StackName":
            return stack
        if name in _PSEUDO:
            return _PSEUDO[name]
        parameter = self._templates[stack].get("Parameters", {}).get(name)
        return self._name(stack, name) if parameter is None else parameter.get("Default", "")

    def _name(self, stack: str, name: str) -> str:
        properties = self._resource(stack, name).get("Properties", {})
        given = (self._resolved(stack, properties[one]) for one in _NAMED_BY if one in properties)
        return next((one for one in given if isinstance(one, str)), f"{stack}-{name}".lower()[:63])

    def _attribute(self, stack: str, given: Sequence[str]) -> str:
        name, attribute = given
        for ending, known in self.attributes.items():
            if attribute.endswith(ending):
                return known
        kind = self._resource(stack, name)["Type"].lower().split("::")[1:]
        return f"arn:aws:{kind[0]}:{REGION}:{ACCOUNT}:{kind[-1]}/{self._name(stack, name)}"

    def _resource(self, stack: str, name: str) -> Resource:
        found: Resource = self._templates[stack]["Resources"][name]
        return found

    def _imported(self, stack: str, name: Any) -> Any:
        wanted = self._resolved(stack, name)
        for exporting, template in self._templates.items():
            for output in template.get("Outputs", {}).values():
                exported = output.get("Export", {}).get("Name")
                if exported is not None and self._resolved(exporting, exported) == wanted:
                    return self._resolved(exporting, output["Value"])
        raise KeyError(wanted)


_FUNCTIONS: Final[Mapping[str, Callable[[StageTemplates, str, Any], Any]]] = {
    "Ref": StageTemplates._referred,
    "Fn::GetAtt": StageTemplates._attribute,
    "Fn::ImportValue": StageTemplates._imported,
    "Fn::Join": StageTemplates._joined,
    "Fn::Select": StageTemplates._selected,
    "Fn::Split": StageTemplates._split,
    "Fn::Sub": StageTemplates._substituted,
}
