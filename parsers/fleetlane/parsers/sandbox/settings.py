"""What is handed on of the environment: to parsers the little of it that they may know."""

import os
from collections.abc import Mapping
from typing import Final

_INHERITED: Final = (
    *("LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH"),
    *("PYTHONHOME", "PYTHONHASHSEED"),
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"),
)

MALLOC_LIMITS: Final = {"MALLOC_MMAP_THRESHOLD_": "4194304", "MALLOC_TRIM_THRESHOLD_": "4194304"}
"""In bytes. Left to itself, glibc raises both to the largest block that was freed: a process would
keep what one large message took."""


def inherited_environment() -> dict[str, str]:
    """What a parser's process is given of this one's environment, which holds credentials."""
    return {name: os.environ[name] for name in _INHERITED if name in os.environ}


def environment_with(variables: Mapping[str, str]) -> dict[str, str]:
    """The whole environment, but for these variables."""
    return {**os.environ, **variables}
