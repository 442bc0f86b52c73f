"""A database that cannot be used: the remedy fits the cause."""

from typing import Any

import pytest
import sqlalchemy as sa

from judge_gym.errors import StoreError
from judge_gym.settings import Settings
from judge_gym.store.engine import connect
from support.prefect_server import free_port


@pytest.mark.parametrize(
    ("change", "remedy"),
    [
        ({"database": "no_such_database"}, "Create the database, or correct its name"),
        ({"username": "no_such_user"}, "Correct the user"),
        (
            {"host": "127.0.0.1", "port": free_port(), "query": {}},
            "Start the server, or correct host and port",
        ),
        ({"host": "no-such-host.invalid", "query": {}}, "Correct the host"),
    ],
    ids=["database", "user", "port", "host"],
)
def test_the_remedy_fits_the_cause(database: str, change: dict[str, Any], remedy: str) -> None:
    url = sa.make_url(database).set(drivername="postgresql", **change)
    given = url.render_as_string(hide_password=False)
    with pytest.raises(StoreError) as refused:
        connect(Settings.model_validate({"database_url": given}))
    assert refused.value.remedy.startswith(remedy)
    assert "unset JUDGE_GYM_DATABASE_URL" in refused.value.remedy
