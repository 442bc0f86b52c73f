"""A migrated database that tests share and leave to the next one empty: quicker than one each."""

from collections.abc import Iterator

import pytest

from support.postgres import temporary_database
from support.rig import empty


@pytest.fixture(scope="session")
def shared_database(postgres_server: str, migrated_template: str) -> Iterator[str]:
    with temporary_database(postgres_server, migrated_template) as url:
        yield url


@pytest.fixture
def emptied_database(shared_database: str) -> str:
    """The shared database without a row; nothing else of the session uses it meanwhile."""
    return empty(shared_database)
