"""Which queries get the next free slot of an application first: those that somebody waits for."""

from pathlib import Path
from typing import Final

PROMPT_QUERIES: Final = ("parse_lane_fast", "fleet_metadata", "fleet_watch")
"""Each has one slot before any other query has two. Their batches are small; what would wait
behind the lake's is a device that must be answered, or one that must be held back."""

_WEIGHT: Final = 4


def written_pools(folder: Path) -> str:
    """Write the pools into a folder, as Spark reads them; returns the file's URL.

    A query's pool has its name. One that is not named here has a weight of 1 and no share.
    """
    file = folder / "pools.xml"
    pools = "".join(
        f'<pool name="{name}"><schedulingMode>FAIR</schedulingMode>'
        f"<weight>{_WEIGHT}</weight><minShare>1</minShare></pool>"
        for name in PROMPT_QUERIES
    )
    file.write_text(f"<allocations>{pools}</allocations>\n")
    return file.as_uri()
