"""Empties a bucket that goes with its stack: S3 deletes none that holds an object or a version.

CloudFormation calls it as a custom resource, and waits for what it puts to the address in the call.
It is deployed as text, so it imports nothing of ours.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.request import Request, urlopen

import boto3

_RESERVE_MS: Final = 30_000
_GOING: Final = ("DELETE_IN_PROGRESS", "ROLLBACK_IN_PROGRESS")
"""A stack that is deleted, or whose first deploy failed. In one that is updated the bucket stays,
though this resource goes: its stage keeps data from now on."""


def handle(event: Mapping[str, Any], context: Any) -> None:
    """Empty the bucket where it goes; whatever happens, CloudFormation gets an answer."""
    bucket, problem = event["ResourceProperties"]["bucket"], ""
    try:
        if event["RequestType"] == "Delete":
            stacks = boto3.client("cloudformation").describe_stacks(StackName=event["StackId"])
            if stacks["Stacks"][0]["StackStatus"] in _GOING:
                has_time = lambda: context.get_remaining_time_in_millis() > _RESERVE_MS  # noqa: E731
                empty(boto3.client("s3"), bucket, has_time=has_time)
    except Exception as failure:  # noqa: BLE001 - unanswered, CloudFormation would wait for an hour
        problem = f"{bucket} is not empty: {failure}"
    answer = {name: event[name] for name in ("StackId", "RequestId", "LogicalResourceId")}
    answer |= {"PhysicalResourceId": bucket, "Reason": problem or "done"}
    answer["Status"] = "FAILED" if problem else "SUCCESS"
    body, none = json.dumps(answer).encode(), {"Content-Type": ""}  # what S3 signed
    urlopen(Request(event["ResponseURL"], body, none, method="PUT"), timeout=20).close()  # noqa: S310


def empty(s3: Any, bucket: str, *, has_time: Callable[[], bool]) -> None:
    """Refuse what is still written, access logs say, and delete every version of every object.

    Raises:
        RuntimeError: There are too many for one call, or some cannot be deleted. Destroying the
            stack once more goes on.
    """
    denied = {"Effect": "Deny", "Principal": "*", "Action": "s3:PutObject"}
    policy = {
        "Version": "2012-10-17",
        "Statement": denied | {"Resource": f"arn:aws:s3:::{bucket}/*"},
    }
    s3.put_bucket_policy(Bucket=bucket, Policy=json.dumps(policy))
    while has_time():
        page = s3.list_object_versions(Bucket=bucket)
        found = [*page.get("Versions", ()), *page.get("DeleteMarkers", ())]
        if not found:
            return
        keys = [{"Key": one["Key"], "VersionId": one["VersionId"]} for one in found]
        answer = s3.delete_objects(Bucket=bucket, Delete={"Objects": keys, "Quiet": True})
        if answer.get("Errors"):
            raise RuntimeError(answer["Errors"][0])
    raise RuntimeError("it holds more than could be deleted in a quarter of an hour; destroy again")
