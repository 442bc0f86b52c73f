"""What a person reads when a server that a run needs has gone away."""

import httpx
import pytest
import sqlalchemy as sa

from deployments.cli.environment import lost_servers_named
from judge_gym.errors import JudgeGymError

NOBODY = "127.0.0.1:9"


def ask_prefect() -> None:
    """Fail as Prefect's client does."""
    try:
        httpx.get(f"http://{NOBODY}/api")
    except httpx.ConnectError as error:
        raise RuntimeError("Failed to reach API") from error


def test_a_lost_database_is_named_with_the_way_on() -> None:
    engine = sa.create_engine(f"postgresql+psycopg://user@{NOBODY}/name")
    lost = pytest.raises(JudgeGymError, match="The database stopped")
    with lost as caught, lost_servers_named():
        engine.connect()
    assert "rerun the command" in caught.value.remedy


def test_a_lost_prefect_server_is_named_however_its_client_wraps_that() -> None:
    lost = pytest.raises(JudgeGymError, match="Prefect's server stopped")
    with lost as caught, lost_servers_named():
        ask_prefect()
    assert "rerun the command" in caught.value.remedy


def test_any_other_error_stays_what_it_is() -> None:
    with pytest.raises(ZeroDivisionError), lost_servers_named():
        print(1 / 0)


def test_an_error_that_is_its_own_cause_stays_what_it_is() -> None:
    stopped = JudgeGymError("The budget is used up.")
    with pytest.raises(JudgeGymError) as caught, lost_servers_named():
        raise stopped from stopped
    assert caught.value is stopped
