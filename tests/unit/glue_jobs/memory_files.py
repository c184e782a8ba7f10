"""The folder of the checkpoints, in memory: what ``HadoopFiles`` is beside Spark."""


class MemoryFiles:
    def __init__(self) -> None:
        self.written: dict[str, bytes] = {}

    def read(self, name: str) -> bytes | None:
        return self.written.get(name)

    def write(self, name: str, content: bytes) -> None:
        self.written[name] = content

    def names(self, folder: str) -> list[str]:
        inside = f"{folder}/"
        return [name.removeprefix(inside) for name in self.written if name.startswith(inside)]

    def delete(self, name: str) -> None:
        del self.written[name]
