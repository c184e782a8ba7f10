"""What the sandbox reads of the environment: the little of it that parsers may know."""

import os
from typing import Final

_INHERITED: Final = (
    *("LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH"),
    *("PYTHONHOME", "PYTHONHASHSEED"),
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"),
)


def inherited_environment() -> dict[str, str]:
    """What a parser's process is given of this one's environment, which holds credentials."""
    return {name: os.environ[name] for name in _INHERITED if name in os.environ}
