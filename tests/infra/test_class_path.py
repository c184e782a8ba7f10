"""The jars of a job beside those of its engine: pyspark's, and a jar with AWS's SDK for its SDK."""

import hashlib
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from infra.artifacts.archive import CannotBuildError
from infra.artifacts.folder import ICEBERG
from infra.artifacts.jobs import write_jars
from local.checkout import ROOT
from local.spark.home import spark_home

FETCHED = ROOT / "build" / "jars"
SPARKS = sorted((spark_home() / "jars").glob("*.jar"))
AWS_SDK, *_ = sorted((FETCHED / "rehearsal").glob("iceberg-aws-bundle-*.jar"))
LOGIN_WITH_ALL, *_ = sorted((FETCHED / "rehearsal").glob("aws-msk-iam-auth-*-all.jar"))
STUB = "org/apache/spark/unused/UnusedStubClass.class"
"""Empty, and in each jar of Spark's."""

GEOMETRY = "org/locationtech/jts/"
"""In Iceberg's jar and among Spark's, in one version; on EMR Spark's is found first."""


@pytest.fixture(scope="module")
def jars(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """What EMR is given; Glue is given the same but for Iceberg."""
    folder = tmp_path_factory.mktemp("artifacts") / "jars"
    return list(write_jars(ROOT, folder))


def classes_of(jar: Path) -> set[str]:
    with zipfile.ZipFile(jar) as archive:
        return {
            name
            for name in archive.namelist()
            if name.endswith(".class") and not name.startswith("META-INF/") and name != STUB
        } - {"module-info.class"}


def held_twice(jars: Iterable[Path]) -> dict[str, int]:
    counts = Counter(name for jar in jars for name in classes_of(jar))
    return {name: count for name, count in counts.items() if count > 1}


def overriding(jars: Iterable[Path]) -> Iterator[tuple[str, str]]:
    """Classes that an engine would find in a jar of ours instead of its own."""
    engines = frozenset().union(*map(classes_of, (*SPARKS, AWS_SDK)))
    for jar in jars:
        yield from ((jar.name, name) for name in sorted(classes_of(jar) & engines))


def test_two_jars_of_a_job_hold_no_class_twice(jars: list[Path]) -> None:
    found = held_twice(jars)

    assert not found


def test_no_jar_of_ours_overrides_a_class_of_spark_or_of_the_sdk(jars: list[Path]) -> None:
    found = [(jar, name) for jar, name in overriding(jars) if not name.startswith(GEOMETRY)]

    assert not found


def test_what_is_put_before_glues_own_jars_overrides_nothing_at_all(jars: list[Path]) -> None:
    on_glue = [jar for jar in jars if not jar.name.startswith(ICEBERG)]

    assert len(on_glue) == len(jars) - 1
    assert not list(overriding(on_glue))


def test_a_jar_that_holds_an_sdk_and_netty_would_be_noticed() -> None:
    folders = {name.split("/")[0] for _, name in overriding([LOGIN_WITH_ALL])}

    assert {"io", "software"} <= folders


def test_what_is_put_before_glues_own_jars_registers_no_service_of_the_sdk_or_of_jackson(
    jars: list[Path],
) -> None:
    services = set()

    for jar in jars:
        with zipfile.ZipFile(jar) as archive:
            files = [Path(name) for name in archive.namelist() if not name.endswith("/")]
        if not jar.name.startswith(ICEBERG):
            services |= {file.name for file in files if file.parent.name == "services"}

    assert services
    assert not [name for name in services if name.startswith(("software.", "com.fasterxml."))]


def test_jars_are_built_byte_for_byte_the_same(jars: list[Path], tmp_path: Path) -> None:
    again = list(write_jars(ROOT, tmp_path))

    assert [(jar.name, digest(jar)) for jar in again] == [(jar.name, digest(jar)) for jar in jars]


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_no_jar_is_of_a_release_that_is_no_release(jars: list[Path]) -> None:
    previews = [jar.name for jar in jars if "preview" in jar.name or "SNAPSHOT" in jar.name]

    assert not previews


def test_the_login_signs_with_an_engines_own_sdk_and_jackson(jars: list[Path]) -> None:
    class_path = ":".join(map(str, [*jars, *SPARKS, AWS_SDK]))
    [py4j] = (spark_home() / "jars").glob("py4j-*.jar")
    port = launch_gateway(classpath=class_path, jarpath=str(py4j), die_on_exit=True)
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auto_convert=True))
    jvm = gateway.jvm
    credentials = jvm.software.amazon.awssdk.auth.credentials.AwsBasicCredentials.create("k", "s")
    login = jvm.software.amazon.msk.auth.iam.internals
    host = "b-1.fleet.abc.c2.kafka.eu-central-1.amazonaws.com"

    try:
        asked = login.AuthenticationRequestParams.create(host, credentials, "fleetlane")
        signed = bytes(login.AWS4SignedPayloadGenerator().signedPayload(asked))
    finally:
        gateway.shutdown()

    assert b'"host":"b-1.fleet.abc.c2.kafka.eu-central-1.amazonaws.com"' in signed
    assert b'"x-amz-signature"' in signed


def test_jars_of_an_earlier_build_are_gone(tmp_path: Path) -> None:
    (tmp_path / "connector-1.0.jar").touch()

    jars = list(write_jars(ROOT, tmp_path))

    assert sorted(tmp_path.iterdir()) == sorted(jars)


def test_without_fetched_jars_the_remedy_is_named(tmp_path: Path) -> None:
    with pytest.raises(CannotBuildError) as refused:
        list(write_jars(tmp_path, tmp_path / "jars"))

    assert str(refused.value) == (
        "msk/aws-msk-iam-auth-2.3.5.jar: is missing; run `make platform`, which fetches it"
    )


def test_a_jar_that_is_not_the_tested_one_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "build" / "jars" / "msk" / "aws-msk-iam-auth-2.3.5.jar"
    other.parent.mkdir(parents=True)
    other.write_bytes(LOGIN_WITH_ALL.read_bytes())

    with pytest.raises(CannotBuildError, match="is not of SHA-256 3f8f597b"):
        list(write_jars(tmp_path, tmp_path / "jars"))
