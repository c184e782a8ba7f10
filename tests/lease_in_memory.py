"""A lease's place in memory; passes the contract tests of the one in S3."""

from clients.s3.lease import LeaseState


class LeaseInMemory:
    name = "lake"

    def __init__(self) -> None:
        self.found: tuple[LeaseState, str] | None = None
        self._writes = 0

    def read(self) -> tuple[LeaseState, str] | None:
        return self.found

    def write(self, state: LeaseState, *, replacing: str | None) -> str | None:
        if replacing != (self.found and self.found[1]):
            return None
        self._writes += 1
        self.found = (state, str(self._writes))
        return self.found[1]
