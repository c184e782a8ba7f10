"""What the example readers write to."""

from collections.abc import Iterator

import psycopg
import pytest

from tests.readers.postgres_server import binaries, running_postgres


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    programs = binaries()
    if programs is None:
        pytest.skip("needs a Postgres: apt-get install postgresql")
    with running_postgres(programs) as url:
        yield url


@pytest.fixture
def postgres(postgres_server: str) -> Iterator[str]:
    """The URL of an empty one."""
    yield postgres_server
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
