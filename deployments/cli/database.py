"""The database for commands that only read or register."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy.orm import Session


@contextmanager
def database() -> Iterator["Session"]:
    """Open a transaction on the configured database, starting the embedded one if needed."""
    from sqlalchemy.orm import Session

    from judge_gym.settings import settings
    from judge_gym.store.engine import connect

    engine = connect(settings())
    try:
        with Session(engine) as session, session.begin():
            yield session
    finally:
        engine.dispose()
