import pytest

from fleetlane.events.lanes import LANE_LIMITS, Lane
from tests.infra.synthesis import Resource, Synthesized

pytestmark = pytest.mark.cdk


def _alarms(stage: Synthesized) -> dict[str, Resource]:
    alarms = [one["Properties"] for one in stage.resources("AWS::CloudWatch::Alarm").values()]
    return {one["AlarmName"].split("-", 2)[2]: one for one in alarms}


def test_every_lane_has_its_alarms(cloud_stage: Synthesized) -> None:
    names = set(_alarms(cloud_stage))

    kinds = (
        "lane-is-late",
        "lane-parks",
        "parser-crashes",
        "parser-is-older",
        "jail-is-open",
        "stream-is-blocked",
        "job-restarts",
        "query-restarts",
        "query-stalled",
        "messages-expired-unread",
        "messages-expire-soon",
    )
    assert {f"{lane}-{kind}" for lane in Lane for kind in kinds} <= names


def test_only_where_queries_are_watched_for_stalls_is_there_an_alarm_of_them(
    cloud_stage: Synthesized,
) -> None:
    names = set(_alarms(cloud_stage))

    watched = {name for name in names if name.endswith("-query-stalled")}
    assert watched == {f"{lane}-query-stalled" for lane in Lane}


def test_a_lane_is_late_when_its_limits_say_so(cloud_stage: Synthesized) -> None:
    alarms = _alarms(cloud_stage)

    thresholds = {lane: alarms[f"{lane}-lane-is-late"]["Threshold"] for lane in Lane}

    assert thresholds == {lane: LANE_LIMITS[lane].lag_alarm_s for lane in Lane}


def test_the_fast_lane_alarms_first(cloud_stage: Synthesized) -> None:
    alarms = _alarms(cloud_stage)
    patience = [
        (one["Threshold"], one["EvaluationPeriods"] * one["Metrics"][0]["MetricStat"]["Period"])
        if "Metrics" in one
        else (one["Threshold"], one["EvaluationPeriods"] * one["Period"])
        for one in (alarms[f"{lane}-lane-is-late"] for lane in Lane)
    ]
    parked = [alarms[f"{lane}-lane-parks"]["Threshold"] for lane in Lane]
    slow = [alarms[f"{route}-route-is-slow"]["Threshold"] for route in ("fast", "standard")]

    assert list(Lane) == [Lane.FAST, Lane.STANDARD, Lane.BULK, Lane.SLOW]
    assert patience == sorted(patience)
    assert parked == sorted(parked)
    assert slow == sorted(slow)


def test_a_lane_that_says_nothing_alarms(cloud_stage: Synthesized) -> None:
    alarms = _alarms(cloud_stage)

    assert {alarms[f"{lane}-lane-is-late"]["TreatMissingData"] for lane in Lane} == {"breaching"}


def test_every_alarm_says_what_it_means_and_tells_somebody(cloud_stage: Synthesized) -> None:
    for alarm in _alarms(cloud_stage).values():
        assert alarm["AlarmDescription"].endswith(".")
        assert len(alarm["AlarmActions"]) == 1


def test_what_expires_unread_alarms_two_days_before(cloud_stage: Synthesized) -> None:
    soon = _alarms(cloud_stage)["standard-messages-expire-soon"]

    assert (soon["MetricName"], soon["Statistic"]) == ("ExpiringUnread", "Minimum")
    assert (soon["ComparisonOperator"], soon["Threshold"]) == ("LessThanThreshold", 48)


def test_the_raw_archive_is_late_at_a_quarter_of_the_retention(cloud_stage: Synthesized) -> None:
    late = _alarms(cloud_stage)["lake-archive-is-late"]

    assert (late["Threshold"], late["TreatMissingData"]) == (18 * 60 * 60, "breaching")


def test_one_message_that_expired_unread_alarms(cloud_stage: Synthesized) -> None:
    alarms = _alarms(cloud_stage)

    expired = [alarms[f"{lane}-messages-expired-unread"] for lane in Lane]

    dimensions = [[(one["Name"], one["Value"]) for one in alarm["Dimensions"]] for alarm in expired]
    assert dimensions == [[("application", f"fleetlane-{lane}")] for lane in Lane]
    assert {alarm["MetricName"] for alarm in expired} == {"ExpiredUnread"}
    assert {alarm["Threshold"] for alarm in expired} == {0}


def test_what_devices_see_and_what_keeps_their_messages_has_alarms(
    cloud_stage: Synthesized,
) -> None:
    names = set(_alarms(cloud_stage))

    assert {
        "api-fails",
        "ingest-is-throttled",
        "broker-1-fills",
        "partitions-are-offline",
        "flow-activation-fails",
    } <= names


def test_a_canary_that_fails_or_is_missing_alarms_and_so_does_silence_about_it(
    cloud_stage: Synthesized,
) -> None:
    alarms = _alarms(cloud_stage)
    missing, fails = alarms["canary-is-missing"], alarms["canary-fails"]

    assert (missing["MetricName"], missing["Threshold"]) == ("CanaryMissing", 0)
    assert missing["TreatMissingData"] == "breaching"
    assert (fails["Namespace"], fails["MetricName"]) == ("AWS/Lambda", "Errors")


def test_each_function_that_asks_the_overrides_alarms_when_it_cannot(
    cloud_stage: Synthesized,
) -> None:
    alarms = _alarms(cloud_stage)

    asking = [alarms[f"{name}overrides-unavailable"] for name in ("", "upload-")]

    assert {alarm["MetricName"] for alarm in asking} == {"OverridesUnavailable"}
    services = [[one["Value"] for one in alarm["Dimensions"]] for alarm in asking]
    assert services == [["ingest"], ["uploads"]]


def test_there_is_one_page_that_shows_the_platform(cloud_stage: Synthesized) -> None:
    assert len(cloud_stage.resources("AWS::CloudWatch::Dashboard")) == 1


def test_a_broker_alarms_before_its_cpu_partitions_or_disk_are_used_up(
    cloud_stage: Synthesized,
) -> None:
    alarms = _alarms(cloud_stage)

    for broker in (1, 2, 3):
        assert alarms[f"broker-{broker}-is-busy"]["Threshold"] == 60
        assert alarms[f"broker-{broker}-has-many-partitions"]["Threshold"] == 900
        assert alarms[f"broker-{broker}-fills"]["Threshold"] == 70


def test_what_keeps_data_notifies_an_address(prod: Synthesized) -> None:
    [subscription] = prod.resources("AWS::SNS::Subscription").values()

    assert subscription["Properties"]["Protocol"] == "email"


def test_the_topic_of_alarms_lets_this_accounts_alarms_publish(cloud_stage: Synthesized) -> None:
    [policy] = cloud_stage.resources("AWS::SNS::TopicPolicy").values()

    statements = policy["Properties"]["PolicyDocument"]["Statement"]
    [allowed] = [one for one in statements if one["Effect"] == "Allow"]
    assert allowed["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
    assert allowed["Action"] == "sns:Publish"
    assert allowed["Condition"] == {
        "StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}
    }


def test_a_stage_that_is_destroyed_leaves_no_key_of_its_alarms(cloud_stage: Synthesized) -> None:
    [key] = cloud_stage.resources("AWS::KMS::Key", of="watching").values()

    assert key["DeletionPolicy"] == "Delete"
