"""A lease's place in memory; passes the contract tests of the one in S3."""

from clients.s3.lease import FoundLease, LeaseState


class LeaseInMemory:
    name = "lake"

    def __init__(self) -> None:
        self.found: FoundLease | None = None
        self._writes = 0

    def read(self) -> FoundLease | None:
        return self.found

    def write(self, state: LeaseState, *, replacing: str | None) -> str | None:
        if replacing != (self.found and self.found.version):
            return None
        self._writes += 1
        self.found = FoundLease(state=state, version=str(self._writes))
        return self.found.version
