"""A migrated database that tests share and leave to the next one empty: quicker than one each."""

from collections.abc import Iterator

import pytest

from judge_gym.llm import gateway
from support.postgres import temporary_database
from support.rig import KEY, KEY_NAME, empty, emptying


@pytest.fixture(scope="session")
def shared_database(postgres_server: str, migrated_template: str) -> Iterator[str]:
    with temporary_database(postgres_server, migrated_template) as url:
        yield url
        emptying(url).dispose()


@pytest.fixture
def database(shared_database: str) -> str:
    """The shared database without a row; nothing else of the worker uses it meanwhile."""
    return empty(shared_database)


@pytest.fixture
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses between attempts that a test can bear."""
    monkeypatch.setattr(gateway, "FIRST_WAIT_S", 0.01)
    monkeypatch.setattr(gateway, "LONGEST_WAIT_S", 0.05)


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The provider's key in the environment."""
    monkeypatch.setenv(KEY_NAME, KEY)
