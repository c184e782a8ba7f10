"""A fake of the table of receipts; passes the contract tests of its real twin."""

from collections.abc import Mapping, Sequence

from clients.devices.receipts import KeptReceipt, ReceiptsUnavailableError


class FakeReceipts:
    """Receipts in memory. ``is_up`` says whether they answer; ``asked`` counts the calls."""

    def __init__(self) -> None:
        self.kept: dict[str, KeptReceipt] = {}
        self.is_up = True
        self.asked = 0

    def find_all(self, keys: Sequence[str], *, now_s: int) -> Mapping[str, KeptReceipt]:
        self._answer()
        there = {key: self.kept[key] for key in keys if key in self.kept}
        return {key: kept for key, kept in there.items() if kept.expires_s > now_s}

    def keep_all(self, receipts: Mapping[str, KeptReceipt]) -> None:
        self._answer()
        self.kept.update(receipts)

    def _answer(self) -> None:
        self.asked += 1
        if not self.is_up:
            raise ReceiptsUnavailableError("no answer")
