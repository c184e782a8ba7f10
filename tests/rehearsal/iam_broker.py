"""A broker as Amazon MSK is reached: by TLS, with logins signed by the job's role."""

import datetime as dt
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509.oid import NameOID

from local.servers.kafka import KafkaBroker
from local.servers.ports import remembered_port
from tests.rehearsal.templates import REGION

HOST = f"b-1.rehearsal.c2.kafka.{REGION}.amazonaws.com"
"""Its own login module reads the region from a broker's name."""

VALIDATOR = Path(__file__).with_name("IamServer.java")
TRUST_PASSWORD = "rehearsal"  # noqa: S105 - of a file with one certificate
_LIFETIME = dt.timedelta(days=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleCredentials:
    """What an engine gives a job of its role: temporary, so with a token."""

    access_key: str = "REHEARSALROLE"
    secret_key: str = "rehearsal-secret-key"  # noqa: S105 - of this machine alone
    token: str = "rehearsal-session-token"  # noqa: S105


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """The broker's, signed by itself; ``trust_store`` is what a JVM reads to trust it alone."""

    keys: Path
    trust_store: Path

    @classmethod
    def made(cls, folder: Path) -> "Certificate":
        folder.mkdir(parents=True, exist_ok=True)
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "rehearsal")])
        now = dt.datetime.now(dt.UTC)  # noqa: TID251 - certificates have dates
        certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _LIFETIME)
            .not_valid_after(now + _LIFETIME)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
            .sign(key, hashes.SHA256())
        )
        plain, pem = serialization.NoEncryption(), serialization.Encoding.PEM
        private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
        keys, trust_store = folder / "broker.pem", folder / "trust.p12"
        keys.write_bytes(private + certificate.public_bytes(pem))
        trusted = pkcs12.PKCS12Certificate(certificate, b"rehearsal")
        encryption = serialization.BestAvailableEncryption(TRUST_PASSWORD.encode())
        trust_store.write_bytes(pkcs12.serialize_java_truststore([trusted], encryption))
        return cls(keys=keys, trust_store=trust_store)


class IamBroker(KafkaBroker):
    """A broker with two doors: ``bootstrap_servers`` is ours, ``with_iam`` the jobs'."""

    def __init__(
        self, folder: Path, *, jars: Path, role: RoleCredentials, certificate: Certificate
    ) -> None:
        self._classes, self._role, self._certificate = folder / "classes", role, certificate
        self._jars_of_kafka, self._own = jars, folder
        super().__init__(folder, jars=jars)

    @cached_property
    def _iam_port(self) -> int:
        return remembered_port(self._own / "iam_port.json")

    @property
    def with_iam(self) -> str:
        return f"{HOST}:{self._iam_port}"

    def _prepare(self) -> None:
        self._classes.mkdir(parents=True, exist_ok=True)
        compiler = shutil.which("javac")
        assert compiler is not None, "the broker's side of IAM is compiled: install a JDK 17"
        subprocess.run(
            [compiler, "-cp", f"{self._jars_of_kafka}/*", "-d", str(self._classes), str(VALIDATOR)],
            check=True,
            timeout=120,
        )
        super()._prepare()

    def _settings(self, controller_port: int) -> dict[str, str]:
        settings = super()._settings(controller_port)
        role, protocols = self._role, settings["listener.security.protocol.map"]
        expected = {
            "host": HOST,
            "region": REGION,
            "access_key": role.access_key,
            "secret_key": role.secret_key,
            "token": role.token,
        }
        options = " ".join(f'{name}="{value}"' for name, value in expected.items())
        login = "listener.name.iam.aws_msk_iam.sasl"
        return {
            **settings,
            "listeners": f"{settings['listeners']},IAM://127.0.0.1:{self._iam_port}",
            "advertised.listeners": f"PLAINTEXT://{self.bootstrap_servers},IAM://{self.with_iam}",
            "listener.security.protocol.map": f"{protocols},IAM:SASL_SSL",
            "listener.name.iam.sasl.enabled.mechanisms": "AWS_MSK_IAM",
            f"{login}.jaas.config": f"IamServer$Login required {options};",
            f"{login}.server.callback.handler.class": "IamServer$Expected",
            "listener.name.iam.ssl.keystore.type": "PEM",
            "listener.name.iam.ssl.keystore.location": str(self._certificate.keys),
        }

    def _java(self, *arguments: str) -> list[str]:
        command: Sequence[str] = super()._java(*arguments)
        place = command.index("-cp") + 1
        class_path = f"{self._classes.resolve()}:{command[place]}"
        return [*command[:place], class_path, *command[place + 1 :]]
