import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from clients.device_api import DeviceKey
from clients.devices.registry import BadDeviceError, DeviceRegistry, DeviceStatus, RegisteredDevice
from operations.devices.bulk_import import BadDeviceFileError, DeviceImport, ImportRegistry
from tests.contract.aws_in_process import device_table

NOW_MS = 1_790_000_000_000
KEY = DeviceKey.generate()
HEADER = "device_id,device_type,public_key,gateway_id"


class Registry:
    """A registry in memory, which answers only so many times."""

    def __init__(self, *devices: RegisteredDevice) -> None:
        self.devices = {device.device_id: device for device in devices}
        self.writes_left = 1_000

    def find_all(self, device_ids: Iterable[str]) -> Mapping[str, RegisteredDevice]:
        return {one: self.devices[one] for one in device_ids if one in self.devices}

    def register_all(self, devices: Sequence[RegisteredDevice]) -> None:
        if not self.writes_left:
            raise ConnectionError
        self.writes_left -= 1
        self.devices.update({device.device_id: device for device in devices})


def line(device_id: str, *, kind: str = "tank", key: DeviceKey = KEY, gateway: str = "") -> str:
    jwk = json.dumps(key.public_jwk).replace('"', '""')
    return f'{device_id},{kind},"{jwk}",{gateway}'


def importing(folder: Path, lines: Sequence[str], registry: ImportRegistry) -> DeviceImport:
    path = folder / "devices.csv"
    path.write_text("\n".join([HEADER, *lines]) + "\n")
    return DeviceImport(path, registry, now_ms=NOW_MS)


def problems(imported: DeviceImport) -> list[str]:
    return [str(problem) for problem in imported.problems(lambda _: None)]


def test_devices_are_registered_as_the_file_says(tmp_path: Path) -> None:
    registry = Registry()
    file = importing(tmp_path, [line("d-1", gateway="gw-1"), line("d-2")], registry)

    imported = file.register(lambda _: None)

    assert imported == (2, 0)
    assert registry.devices["d-1"] == RegisteredDevice(
        device_id="d-1",
        device_type="tank",
        keys=(KEY.public_jwk,),
        gateway_id="gw-1",
        registered_ms=NOW_MS,
    )


def test_an_import_that_was_cut_short_goes_on_when_it_is_run_again(tmp_path: Path) -> None:
    registry = Registry()
    file = importing(tmp_path, [line(f"d-{number}") for number in range(1_200)], registry)
    registry.writes_left = 1
    with pytest.raises(ConnectionError):
        file.register(lambda _: None)
    registry.writes_left = 1_000

    imported = (problems(file), file.register(lambda _: None))

    assert imported == ([], (700, 500))


def test_what_was_done_to_a_device_since_is_left_as_it_is(tmp_path: Path) -> None:
    registry = Registry()
    file = importing(tmp_path, [line("d-1")], registry)
    file.register(lambda _: None)
    new = DeviceKey.generate().public_jwk
    changed = replace(
        registry.devices["d-1"], status=DeviceStatus.REVOKED, keys=(KEY.public_jwk, new)
    )
    registry.devices["d-1"] = changed

    imported = (problems(file), file.register(lambda _: None))

    assert imported == ([], (0, 1))
    assert registry.devices["d-1"] == changed


def test_a_device_that_is_there_otherwise_is_a_problem(tmp_path: Path) -> None:
    registry = Registry()
    importing(tmp_path, [line("d-1")], registry).register(lambda _: None)

    file = importing(tmp_path, [line("d-0"), line("d-1", kind="pump")], registry)

    assert problems(file) == [
        "line 3: device d-1 is registered differently: `fleetlane device show` it"
    ]


def test_a_device_whose_item_cannot_be_read_is_named_and_stays(tmp_path: Path) -> None:
    with device_table() as table:
        table.put_item(Item={"device_id": "d-1", "status": "revoked"})
        file = importing(tmp_path, [line("d-0"), line("d-1")], DeviceRegistry(table))

        with pytest.raises(BadDeviceError, match="d-1"):
            file.register(lambda _: None)

        assert table.scan()["Items"] == [{"device_id": "d-1", "status": "revoked"}]


def test_a_device_that_is_in_two_lines_is_a_problem(tmp_path: Path) -> None:
    file = importing(tmp_path, [line("d-1"), line("d-2"), line("d-1")], Registry())

    assert problems(file) == ["line 4: device d-1 is already in line 2"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (line("a/b"), "device 'a/b': device id 'a/b' does not match"),
        (line("d-1", kind="Tank"), "device type 'Tank' does not match"),
        (line("d-1", gateway="a/b"), "device id 'a/b' does not match"),
        ("d-1,tank,,", "the public key is neither PEM nor a JWK"),
        ("d-1,tank", "has more or fewer fields than the header"),
        (line("d-1") + ",more", "has more or fewer fields than the header"),
    ],
    ids=count(),  # keys differ from one process to the next
)
def test_each_wrong_line_is_reported_by_its_number_and_its_cause(
    tmp_path: Path, wrong: str, said: str
) -> None:
    file = importing(tmp_path, [line("d-0"), wrong, line("d-9")], Registry())

    (problem,) = problems(file)

    assert problem.startswith("line 3: ")
    assert said in problem


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"device_id,device_type\nd-1,tank\n",
        b"device_id,device_type,public_key,colour\n",
        b"device_id,device_id,device_type,public_key\n",
        b"device_id,device_type,public_key\n\xff\xfe,x,y\n",
        b'device_id,device_type,public_key\n"d-1,tank\n',
    ],
)
def test_what_is_no_file_of_devices_is_refused_whole(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "devices.csv"
    path.write_bytes(content)

    with pytest.raises(BadDeviceFileError, match="nothing was registered"):
        problems(DeviceImport(path, Registry(), now_ms=NOW_MS))


def test_progress_is_reported_up_to_the_last_line(tmp_path: Path) -> None:
    told: list[int] = []
    file = importing(tmp_path, [line(f"d-{number}") for number in range(600)], Registry())

    file.register(told.append)

    assert told == [501, 601]


def test_a_device_s_attributes_are_in_columns_of_their_own(tmp_path: Path) -> None:
    registry, path = Registry(), tmp_path / "devices.csv"
    header = f"{HEADER},attribute.site,attribute.line"
    path.write_text(f"{header}\n{line('d-1')},Ulm,3\n{line('d-2')},,\n")

    DeviceImport(path, registry, now_ms=NOW_MS).register(lambda _: None)

    found = [registry.devices[one].attributes for one in ("d-1", "d-2")]
    assert found == [{"site": "Ulm", "line": "3"}, {}]


def test_an_attribute_that_events_cannot_take_along_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "devices.csv"
    path.write_text(f"{HEADER},attribute.Site\n{line('d-1')},Ulm\n")

    (problem,) = problems(DeviceImport(path, Registry(), now_ms=NOW_MS))

    assert "line 2" in problem
    assert "'Site'" in problem
