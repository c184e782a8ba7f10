"""Tokens for Kafka, and a process that is frozen until its token is over, as Lambda does."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from clients.kafka.topics import KafkaTopics
from local.checkout import BROKER_JARS, ROOT
from local.servers.kafka import KafkaBroker
from local.servers.ports import remembered_port

pytestmark = [pytest.mark.kafka, pytest.mark.alone]

TOPIC = "raw.standard.stream.oauth"
TOKEN_LIFETIME_S = 4


class OauthBroker(KafkaBroker):
    """Listens at a second port for clients with OAuth tokens, which it believes unsigned."""

    oauth_servers: str

    def _settings(self, controller_port: int) -> dict[str, str]:
        """With Kafka's own validator of unsigned tokens; a connection ends with its token."""
        settings = super()._settings(controller_port)
        self.oauth_servers = f"127.0.0.1:{remembered_port(self._folder / 'oauth_port.json')}"
        module = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
        of_listener = "listener.name.oauth.oauthbearer"
        protocols = settings["listener.security.protocol.map"]
        return settings | {
            "listeners": f"{settings['listeners']},OAUTH://{self.oauth_servers}",
            "listener.security.protocol.map": f"{protocols},OAUTH:SASL_PLAINTEXT",
            "sasl.enabled.mechanisms": "OAUTHBEARER",
            f"{of_listener}.sasl.jaas.config": (
                f'{module} required unsecuredLoginStringClaim_sub="b";'
            ),
            f"{of_listener}.connections.max.reauth.ms": "3600000",
        }


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OauthBroker]:
    broker = OauthBroker(tmp_path_factory.mktemp("oauth"), jars=BROKER_JARS)
    broker.start()
    KafkaTopics(
        bootstrap_servers=broker.bootstrap_servers, partitions=1, replication=1
    ).create_missing([TOPIC])
    yield broker
    broker.stop()


@pytest.fixture
def sender(broker: OauthBroker) -> Iterator[subprocess.Popen[str]]:
    module = ["-m", "tests.contract.frozen_sender"]
    arguments = [broker.oauth_servers, TOPIC, str(TOKEN_LIFETIME_S)]
    with subprocess.Popen(
        [sys.executable, *module, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(ROOT),
    ) as process:
        yield process
        process.kill()


def landed(sender: subprocess.Popen[str]) -> tuple[float, str]:
    """Have one record landed; gives how long that took, and how it went."""
    assert sender.stdin is not None
    assert sender.stdout is not None
    sender.stdin.write("x\n")
    sender.stdin.flush()
    seconds, outcome = sender.stdout.readline().strip().split(" ", 1)
    return float(seconds), outcome


def test_who_has_a_token_lands(sender: subprocess.Popen[str]) -> None:
    assert landed(sender)[1] == "landed"


def test_who_wakes_up_with_a_token_that_is_over_lands_within_the_time_of_a_request(
    sender: subprocess.Popen[str],
) -> None:
    landed(sender)

    sender.send_signal(signal.SIGSTOP)
    time.sleep(TOKEN_LIFETIME_S + 1)  # until the token is over, and the broker closed for it
    sender.send_signal(signal.SIGCONT)
    seconds, outcome = landed(sender)

    assert (outcome, seconds < 4) == ("landed", True)
