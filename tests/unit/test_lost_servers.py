"""What a person reads when a server that a run needs has gone away."""

import httpx
import psycopg
import psycopg.errors as pg
import pytest
import sqlalchemy as sa

from flows.outages import outage_of
from judge_gym.errors import JudgeGymError

NOBODY = "127.0.0.1:9"


def raised(error: BaseException, cause: BaseException | None = None) -> BaseException:
    """The error as it is caught, with its cause."""
    try:
        raise error from cause
    except type(error) as caught:
        return caught


def by_sqlalchemy(error: Exception) -> BaseException:
    """The error as SQLAlchemy wraps it."""
    return raised(sa.exc.DBAPIError.instance("SELECT 1", {}, error, psycopg.Error), error)


LOST = (
    pg.AdminShutdown("terminating connection due to unexpected postmaster exit"),
    pg.CrashShutdown("terminating connection because of crash of another server process"),
    pg.CannotConnectNow("the database system is starting up"),
    pg.ConnectionFailure("connection failure"),
    psycopg.OperationalError("consuming input failed: server closed the connection"),
    psycopg.InterfaceError("the connection is closed"),
)


@pytest.mark.parametrize("error", LOST, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("form", [raised, by_sqlalchemy], ids=["psycopg", "sqlalchemy"])
def test_a_lost_database_is_named_with_the_way_on(error: Exception, form: object) -> None:
    assert callable(form)
    failure = outage_of(raised(RuntimeError("the flow crashed"), form(error)))
    assert failure is not None
    assert failure.message == f"The database stopped during the run: {error}."
    assert "rerun the command" in failure.remedy


def test_a_database_that_nobody_serves_is_lost() -> None:
    engine = sa.create_engine(f"postgresql+psycopg://user@{NOBODY}/name")
    with pytest.raises(sa.exc.OperationalError) as caught:
        engine.connect()
    failure = outage_of(caught.value)
    assert failure is not None
    assert "The database stopped" in failure.message


def test_a_session_that_lost_its_connection_before_is_lost() -> None:
    invalid = sa.exc.PendingRollbackError("Can't reconnect", code="8s2b")
    assert outage_of(invalid) is not None
    assert outage_of(sa.exc.PendingRollbackError("of a flush", code="7s2a")) is None


def test_a_full_disk_is_named_as_one() -> None:
    failure = outage_of(by_sqlalchemy(pg.DiskFull("could not extend file")))
    assert failure is not None
    assert "disk of the database is full" in failure.message
    assert "Free space" in failure.remedy


def test_a_refused_statement_is_no_lost_server() -> None:
    failure = outage_of(by_sqlalchemy(pg.QueryCanceled("statement timeout")))
    assert failure is not None
    assert "stopped" not in failure.message
    assert outage_of(by_sqlalchemy(pg.UndefinedColumn("no such column"))) is None


def test_a_lost_prefect_server_is_named_however_its_client_wraps_that() -> None:
    with pytest.raises(httpx.ConnectError) as caught:
        httpx.get(f"http://{NOBODY}/api")
    failure = outage_of(raised(RuntimeError("Failed to reach API"), caught.value))
    assert failure is not None
    assert "Prefect's server stopped" in failure.message
    assert "rerun the command" in failure.remedy


@pytest.mark.parametrize(("status", "named"), [(503, True), (404, False)])
def test_an_error_of_prefects_server_is_its_own(status: int, named: bool) -> None:
    response = httpx.Response(status, request=httpx.Request("GET", f"http://{NOBODY}/api"))
    with pytest.raises(httpx.HTTPStatusError) as caught:
        response.raise_for_status()
    assert (outage_of(caught.value) is not None) == named


def test_any_other_error_stays_what_it_is() -> None:
    assert outage_of(raised(ZeroDivisionError())) is None
    stopped = JudgeGymError("The budget is used up.")
    stopped.__cause__ = stopped  # its own cause
    assert outage_of(stopped) is None
