"""Alarms, the topic that they notify, and the dashboard."""

from typing import Final

from aws_cdk import Aws, CrossStackReferences, ReferenceStrength, RemovalPolicy
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from fleetlane.events.lanes import Lane
from infra.alarms.alarm import AlarmRule, OurMetrics
from infra.alarms.brokers import broker_alarms
from infra.alarms.dashboard import add_dashboard
from infra.alarms.edge import Edge, edge_alarms
from infra.alarms.lanes import application_alarms, fleet_alarms, lane_alarms, ledger_alarms
from infra.constructs.platform_stack import PlatformStack
from infra.stacks.processing import Processing
from infra.stacks.streaming import Streaming

RUNBOOK: Final = "docs/alarms.md"  # has a section for each alarm, by its name


class Watching(PlatformStack):
    """Every alarm notifies the same topic, when it starts and when it ends."""

    def __init__(
        self, scope: Construct, *, edge: Edge, streaming: Streaming, processing: Processing
    ) -> None:
        stage = streaming.stage
        super().__init__(scope, "watching", stage=stage, description="alarms, dashboard")
        # Weakly: an import would forbid ingest to drop, or to roll back, what an alarm looks at.
        CrossStackReferences.of(self).consume(ReferenceStrength.WEAK)
        self.topic = self._topic()
        ours = OurMetrics(stage)
        rules = [
            *(rule for lane in Lane for rule in lane_alarms(ours, lane)),
            *(rule for kept in processing.kept_running for rule in application_alarms(ours, kept)),
            *edge_alarms(ours, edge),
            *broker_alarms(streaming.cluster_name, stage),
            *fleet_alarms(stage),
            *ledger_alarms(ours),
        ]
        add_dashboard(self, stage, api=edge.api, alarms=[self._alarm(rule) for rule in rules])

    def _alarm(self, rule: AlarmRule) -> cloudwatch.Alarm:
        compared, missing = cloudwatch.ComparisonOperator, cloudwatch.TreatMissingData
        above, below = compared.GREATER_THAN_THRESHOLD, compared.LESS_THAN_THRESHOLD
        alarm = cloudwatch.Alarm(
            self,
            rule.name,
            alarm_name=f"fleetlane-{self.stage.name}-{rule.name}",
            alarm_description=f"{rule.meaning} Steps: {RUNBOOK}, `{rule.name}`.",
            metric=rule.metric,
            threshold=rule.threshold,
            evaluation_periods=rule.periods,
            datapoints_to_alarm=rule.periods,
            comparison_operator=below if rule.is_low else above,
            treat_missing_data=missing.BREACHING if rule.silence_alarms else missing.NOT_BREACHING,
        )
        notify = actions.SnsAction(self.topic)
        alarm.add_alarm_action(notify)
        alarm.add_ok_action(notify)
        return alarm

    def _topic(self) -> sns.Topic:
        """CloudWatch can write to an encrypted topic only if the key allows it.

        And only if the topic does: its policy, by which TLS is enforced, replaces SNS's own one.
        """
        key = kms.Key(
            self,
            "Key",
            description="Fleetlane's alarms",
            enable_key_rotation=True,
            removal_policy=RemovalPolicy.DESTROY,
        )
        service = "cloudwatch.amazonaws.com"
        key.grant_encrypt_decrypt(iam.ServicePrincipal(service))
        topic = sns.Topic(self, "Alarms", master_key=key, enforce_ssl=True)
        ours = {"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}}
        topic.grant_publish(iam.ServicePrincipal(service, conditions=ours))
        if self.stage.alarm_email is not None:
            topic.add_subscription(subscriptions.EmailSubscription(self.stage.alarm_email))
        return topic
