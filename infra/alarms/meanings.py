"""What each alarm says: what is wrong, and the first thing to do."""

from types import MappingProxyType
from typing import Final

MEANINGS: Final = MappingProxyType(
    {
        "{lane}-lane-is-late": "Messages of the {lane} lane wait over {threshold} s to be parsed, "
        "or its job reports nothing. Check on the dashboard whether it runs and keeps up.",
        "{lane}-lane-parks": "Over {threshold} % of the {lane} lane's messages are parked. "
        "Find the reason and the stream: `fleetlane parked list`.",
        "{lane}-parser-crashes": "A parser of the {lane} lane crashes its processes; its messages "
        "go to the slow lane. The application's log names the parser.",
        "{lane}-parser-is-older": "Messages of the {lane} lane are parsed by an older parser than "
        "their flow names. The application's log says why the newer one cannot be used.",
        "{lane}-jail-is-open": "Parsers of the {lane} lane run without a part of their jail. The "
        "application's log names it: `the parsers' jail`.",
        "{lane}-stream-is-blocked": "A flow of the {lane} lane halted on a message that it cannot "
        "parse, and waits for an operator. Decide with `fleetlane unblock`.",
        "{lane}-lane-lacks-slots": "The {lane} lane has more partitions than task slots, so it "
        "runs in micro-batches, not in real time. Add workers, or have fewer topics.",
        "{application}-job-restarts": "The {application} job ended over {threshold} times in 30 "
        "minutes. Read the last exception in its log group.",
        "{application}-query-restarts": "A query of the {application} application ends again and "
        "again, or cannot be started; the others go on. The application's log names it: "
        "`is started again`.",
        "{application}-query-stalled": "A query of the {application} application had work and "
        "made no progress; it was ended with its Python workers and started again. "
        "Did it go on? `fleetlane status`.",
        "{application}-messages-expired-unread": "Messages expired before the {application} job "
        "read them. Start its query with a new checkpoint, so that it reads what is left, and "
        "replay from the archive.",
        "{application}-messages-expire-soon": "In under {threshold} hours messages expire that the "
        "{application} job has not read. Let it catch up, or raise its topics' retention; what "
        "expires must be replayed from the archive.",
        "api-fails": "More than {percent} % of requests are answered with a 5xx. "
        "Read ingest's log for `not durable` and `failed`.",
        "{route}-route-is-slow": "The p99 latency of POST {path} is above {threshold} ms. "
        "Compare the routes on the dashboard, and check the brokers.",
        "{function}-is-throttled": "Calls of the function {function} exceed its reserved "
        "concurrency and fail. Check whether one device or site sends far more than usual.",
        "flow-activation-fails": "A published version of the flows could not be activated; the "
        "previous one stays in force. Read the function's log for the reason.",
        "flows-unavailable": "Ingest cannot read the flows; messages land as those of a stream "
        "without a flow. Check that flows/current.json exists and that ingest may read it.",
        "overrides-unavailable": "Ingest cannot read the overrides. Revoked devices may send for "
        "five more minutes. Check rights on the artifacts bucket.",
        "upload-overrides-unavailable": "Uploads cannot read the overrides. Revoked devices may "
        "send for five more minutes. Check rights on the artifacts bucket.",
        "receipts-unavailable": "Ingest cannot read or write receipts; a repeated message lands "
        "twice. Check the receipts table for throttling, and ingest's rights on it.",
        "uploads-are-late": "A notification of an upload waits for over {minutes} minutes. "
        "Read the log of upload_landing for `not landed`.",
        "uploads-are-dead-letters": "Uploads did not land in a day of attempts; their "
        "notifications are dead letters. Read one, and the log of upload_landing for its key.",
        "upload-sweep-fails": "The sweep cannot look for missed uploads, or found some that cannot "
        "land. Read the log of upload_sweep.",
        "spool-is-old": "Messages have waited in the spool for over {threshold} s, or respool does "
        "not run. Check the brokers, then respool's log.",
        "spool-is-unreadable": "The spool holds an object that respool cannot read; it stays where "
        "it is. Respool's log names it under `unreadable`.",
        "canary-fails": "The canary's messages are not accepted, or it has no key. Devices may be "
        "refused likewise. Read the function's log for `not accepted`.",
        "canary-is-missing": "A message of the canary is not in the lake in time, or nobody looks "
        "for it. The watch's log names it: `fleetlane why` shows how far it came.",
        "broker-{broker}-replicas-are-behind": "Partitions of broker {broker} have fewer in-sync "
        "replicas than they should. Check for maintenance and for overload; restart no other "
        "broker meanwhile.",
        "broker-{broker}-is-busy": "Broker {broker} has used over {threshold} % of its CPU for a "
        "quarter of an hour; it could not take over another's partitions. "
        "Choose a larger broker_type.",
        "broker-{broker}-fills": "Over {threshold} % of broker {broker}'s disk is used; a full "
        "disk stops it. Raise broker_storage_gib, and do not shorten retention in a hurry.",
        "broker-{broker}-has-many-partitions": "Broker {broker} holds over {percent} % of the "
        "{advised} partitions that MSK advises. Choose a larger broker_type before more flows "
        "come.",
        "partitions-are-offline": "Partitions have no leader and can be neither written nor read. "
        "Check how many brokers are down, and open a case with AWS.",
        "too-many-runaway-devices": "More devices exceed their rate limits than are held back at "
        "once. Read fleet.alerts for what they have in common.",
        "flow-has-few-devices": "A flow received from fewer devices in its last hour than usual "
        "for that hour of the week. fleet.alerts names the flow and its owner.",
        "flow-parks-much": "More of a flow's messages of its last hour are parked than usual. "
        "fleet.alerts names the flow and its owner, who should look at the parser.",
        "lake-{tables}-is-late": "The lake's {tables} tables are over {threshold} s behind their "
        "topics. Read the lake application's log for `a query failed`.",
        "lake-archive-lacks-bodies": "S3 did not give large bodies to the raw archive: their rows "
        "have none. Read the lake application's log for `cannot be archived`.",
        "message-is-missing": "An accepted message has no outcome in the lake, and waits nowhere. "
        "`fleetlane ledger` and fleet.alerts name it, and say what became of its record.",
        "accepted-did-not-land": "Ingest accepted more messages than there are in the raw archive "
        "and the spool. `fleetlane ledger` says of which hour, stream and lane.",
        "ledger-is-late": "For over {threshold} s nobody can say whether messages are missing. "
        "Is the lake late too? Else read the lake application's log for `the standing ledger`.",
    }
)
"""By the alarm's name; what both leave open, `AlarmRule.of` has."""
