"""The IAM policy of a team: it publishes what it owns, and can touch nothing of another's."""

from collections.abc import Mapping
from typing import Any, Final

from fleetlane.events.names import checked_name
from fleetlane.events.s3_keys import FLOWS, owners_prefix, owners_versions, wanted_key
from fleetlane.events.stage_resources import StageResources, parameter_name

_PUT_ONCE: Final = {"Null": {"s3:if-none-match": "false"}}
"""S3 refuses to put what would replace an object."""


def team_policy(owner: str, stage: StageResources) -> Mapping[str, Any]:
    """What an owner's publications need, as a policy document. Nothing in it deletes.

    It may call the activation of flows, which takes no version from its caller: each owner's wish
    lies in its own place. Raises ``BadNameError`` for an owner that is no name.
    """
    name = checked_name(owner, kind="owner")
    bucket = f"arn:aws:s3:::{stage.flows_bucket}"
    here = f"{stage.region}:*"
    key_of_bucket = {
        "StringEquals": {"kms:ViaService": f"s3.{stage.region}.amazonaws.com"},
        "ArnLike": {"kms:EncryptionContext:aws:s3:arn": [bucket, f"{bucket}/*"]},
    }
    versions, parsers = f"{bucket}/{owners_versions(name)}*", f"{bucket}/{owners_prefix(name)}*"
    function = f"arn:aws:lambda:{here}:function:{stage.flow_activation_function}"
    parameter = f"arn:aws:ssm:{here}:parameter{parameter_name(stage.stage)}"
    statements = [
        _allow("s3:PutObject", versions, parsers, Condition=_PUT_ONCE),
        _allow("s3:PutObject", f"{bucket}/{wanted_key(name)}"),
        _allow("s3:GetObject", f"{bucket}/{FLOWS}*", parsers),
        _allow("s3:ListBucket", bucket),  # without it S3 does not say that an object is missing
        _allow("kms:Decrypt", f"arn:aws:kms:{here}:key/*", Condition=key_of_bucket),
        _allow("kms:GenerateDataKey", f"arn:aws:kms:{here}:key/*", Condition=key_of_bucket),
        _allow("lambda:InvokeFunction", function),
        _allow("ssm:GetParameter", parameter),
    ]
    return {"Version": "2012-10-17", "Statement": statements}


def _allow(action: str, *resources: str, **condition: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"Effect": "Allow", "Action": action, "Resource": list(resources), **condition}
