"""Names of the headers of raw and parked records: CloudEvents 1.0 in Kafka's binary mode.

To be imported as ``ce``: ``ce.ID`` is the header ``ce_id``.
"""

from typing import Final

CONTENT_TYPE: Final = "content-type"
SPECVERSION: Final = "ce_specversion"
ID: Final = "ce_id"
SOURCE: Final = "ce_source"
TYPE: Final = "ce_type"
TIME: Final = "ce_time"
ARRIVAL_MILLIS: Final = "ce_arrivalmillis"
LANE: Final = "ce_lane"
BULK_CAUSE: Final = "ce_bulkcause"
ATTEMPT: Final = "ce_attempt"
SLOW_TRIES: Final = "ce_slowtries"
REVISION: Final = "ce_revision"
DEVICE_TYPE: Final = "ce_devicetype"
FIRMWARE: Final = "ce_firmware"
ATTRIBUTES: Final = "ce_attributes"
START_MILLIS: Final = "ce_startmillis"
END_MILLIS: Final = "ce_endmillis"
BODY_ENCODING: Final = "ce_bodyencoding"
BODY_BYTES: Final = "ce_bodybytes"
DATA_REF: Final = "ce_dataref"
DATA_SHA256: Final = "ce_datasha256"
TRUNCATED_FROM: Final = "ce_truncatedfrom"
VIA: Final = "ce_via"

ENVELOPE: Final = frozenset(header for name, header in list(vars().items()) if name.isupper())
"""The headers above, which an envelope may have. Others travel on unchanged."""

PARKED_PREFIX: Final = "ce_parked"
"""Headers whose names begin so are added by parking, and by nothing else."""

PARKED_REASON: Final = "ce_parkedreason"
PARKED_DETAIL: Final = "ce_parkeddetail"
PARKED_FROM: Final = "ce_parkedfrom"
PARKED_AT: Final = "ce_parkedat"
PARKED_PARSER: Final = "ce_parkedparser"
