"""A wrong password is named as such: of a real PostgreSQL, and of a real guarded Prefect server."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sa

from deployments.cli.metrics import installation_text
from deployments.local.prefect_server import api_url, new_password, prefect_server, wait_healthy
from deployments.operation import as_json, read_installation
from judge_gym.errors import REFUSED_LOGIN
from judge_gym.lab.operating import read_records
from judge_gym.report.operating import operating_page
from judge_gym.store.operating import operating_engine
from judge_gym.store.read_only import READER, create_roles
from support.command_line import CommandLine
from support.logins import login
from support.prefect_server import free_port
from support.waiting import until

WRONG = "not-the-password"


@dataclass(frozen=True)
class Guarded:
    """A Prefect server that asks for a password."""

    api: str
    password: str


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    home, port, password = tmp_path_factory.mktemp("guarded"), free_port(), new_password()
    environment = {"PREFECT_HOME": str(home), "PREFECT_UI_ENABLED": "0"}
    with prefect_server(port, password, environment, home / "log") as process:
        wait_healthy(process, api_url(port), 120, str(home / "log"))
        yield Guarded(api_url(port), password)


@pytest.fixture(params=["user", "password"])
def refused(request: pytest.FixtureRequest, database: str) -> Iterator[str]:
    """The database's URL for a user that does not exist, or for one with another password."""
    url = sa.make_url(database).set(password=WRONG)
    if request.param == "user":
        yield url.set(username="no_such_user").render_as_string(hide_password=False)
        return
    create_roles(sa.create_engine(database, poolclass=sa.NullPool))
    with login(database, READER) as reader:
        name = sa.make_url(reader).username
        assert name
        with asked_for_a_password(database, name):
            yield url.set(username=name).render_as_string(hide_password=False)


def _connects(database: str, user: str) -> bool:
    url = sa.make_url(database).set(username=user, password=WRONG)
    try:
        sa.create_engine(url, poolclass=sa.NullPool).connect().close()
    except sa.exc.OperationalError:
        return False
    return True


@contextmanager
def asked_for_a_password(database: str, user: str) -> Iterator[None]:
    """Have the server, which trusts all others, ask this user for the password."""
    engine = sa.create_engine(database, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)

    def written(rules: str) -> None:
        file.write_text(rules)
        with engine.connect() as connection:
            connection.exec_driver_sql("SELECT pg_reload_conf()")

    with engine.connect() as connection:
        file = Path(str(connection.scalar(sa.text("SHOW hba_file"))))
    if not file.exists():
        pytest.skip("the server is on another machine")
    before = file.read_text()
    rules = f"local all {user} scram-sha-256\nhost all {user} all scram-sha-256\n"
    written(rules + before)
    try:
        # The server reads the rules when it handles the signal.
        until(lambda: not _connects(database, user), "the rules to be read")
        yield
    finally:
        written(before)


def parts(ended_output: str) -> dict[str, dict[str, Any]]:
    return {part["name"]: part for part in json.loads(ended_output)["parts"]}


def test_a_database_that_refuses_the_login_has_its_own_state(refused: str) -> None:
    part, found = read_records(operating_engine(refused), datetime.now(UTC))
    assert (part.state, part.healthy, found) == ("refused", False, None)
    assert part.detail.startswith(REFUSED_LOGIN)
    assert "JUDGE_GYM_DATABASE_URL" in part.remedy
    told = read_installation(None, lost=part, prefect=False)
    page, values = operating_page(told), as_json(told)
    assert values["parts"][0]["state"] == "refused"
    assert re.search(r"<td[^>]*>refused</td>", page)
    assert WRONG not in page + json.dumps(values) + installation_text(told)


def test_the_commands_say_so_of_the_database(command: CommandLine, refused: str) -> None:
    given = {"JUDGE_GYM_DATABASE_URL": refused.replace("+psycopg", "")}
    ended = command("database", "status", "--json", **given)
    assert ended.code == 1
    assert parts(ended.output)["PostgreSQL"]["state"] == "refused"
    assert "Not up: PostgreSQL refused" in ended.errors
    checked = command("doctor", **given)
    assert "✗ database:" in checked.output
    assert REFUSED_LOGIN in " ".join(checked.output.split())
    assert WRONG not in ended.output + ended.errors + checked.output + checked.errors


@pytest.mark.parametrize("password", [f"judge-gym:{WRONG}", ""])
def test_the_commands_say_so_of_prefects_server(
    command: CommandLine, guarded: Guarded, password: str
) -> None:
    given = {"PREFECT_API_URL": guarded.api, "PREFECT_API_AUTH_STRING": password}
    ended = command.here("database", "status", "--json", **given)
    part = parts(ended.output)["Prefect's server"]
    assert (part["state"], part["healthy"], part["detail"]) == ("refused", False, REFUSED_LOGIN)
    assert "PREFECT_API_AUTH_STRING" in part["remedy"]
    checked = command.here("doctor", **given)
    assert "✗ prefect:" in checked.output
    assert REFUSED_LOGIN in " ".join(checked.output.split())
    assert WRONG not in ended.output + ended.errors + checked.output + checked.errors


def test_with_the_password_it_is_up(command: CommandLine, guarded: Guarded) -> None:
    assert httpx.get(f"{guarded.api}/admin/version").status_code == httpx.codes.UNAUTHORIZED
    given = {"PREFECT_API_URL": guarded.api, "PREFECT_API_AUTH_STRING": guarded.password}
    found = parts(command.here("database", "status", "--json", **given).output)
    assert found["Prefect's server"]["state"] == "up"
