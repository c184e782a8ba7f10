"""Where objects are in the platform's buckets; infra grants rights by the same prefixes."""

from typing import Final
from urllib.parse import quote, unquote

# In the bucket of payloads.
PAYLOADS: Final = "payloads/"
UPLOADS: Final = "uploads/"
LANDED_UPLOADS: Final = "landed/"
UPLOAD_SWEEP: Final = "sweep/"
UPLOAD_SWEEP_KEY: Final = f"{UPLOAD_SWEEP}position"

# In the bucket of parked payloads.
PARKED_PAYLOADS: Final = "parked/"
BLOCKED_MESSAGES: Final = "blocked/"

# In the spool.
SPOOL: Final = "spool/"

# In the bucket of artifacts.
FLOWS: Final = "flows/"
CURRENT_FLOWS_KEY: Final = f"{FLOWS}current.json"
FLOW_VERSIONS: Final = f"{FLOWS}versions/"
FLOW_OWNERS: Final = f"{FLOWS}owners/"
PARSERS: Final = "parsers/"
OVERRIDES: Final = "overrides/"
OVERRIDES_KEY: Final = f"{OVERRIDES}current.json"

# Beside the lake's tables.
ARCHIVED_BODIES: Final = "archive/"
LEASES: Final = "leases/"
UPKEEP_REQUESTS: Final = "requests/"
UPKEEP_ANSWERS: Final = "answers/"
UPKEEP_SCHEDULED: Final = "scheduled/"
ERASED: Final = "erased/"

# Beside the checkpoints.
STOP_MARKERS: Final = "stop/"
STARTED_MARKERS: Final = "started/"
HELD_APPLICATIONS: Final = "held/"


def archived_key(sha256: str) -> str:
    """Where the raw archive keeps a body by reference: equal bodies are one object."""
    return ARCHIVED_BODIES + sha256


def owners_prefix(owner: str) -> str:
    return f"{PARSERS}{owner}/"


def owners_flows(owner: str) -> str:
    """Where an owner publishes, and nobody else: who may write there is who it is.

    An owner is free text in a flow file, so what is not plain is written as in a URL.
    """
    return f"{FLOW_OWNERS}{quote(owner, safe='')}/"


def owner_in_key(key: str) -> str:
    """The owner below whose place an object is."""
    return unquote(key.removeprefix(FLOW_OWNERS).partition("/")[0])


def owners_versions(owner: str) -> str:
    return f"{owners_flows(owner)}versions/"


def owners_version_key(owner: str, version: str) -> str:
    return f"{owners_versions(owner)}{version}.json"


def wanted_key(owner: str) -> str:
    """Which of its versions an owner wants in force."""
    return f"{owners_flows(owner)}wanted.json"
