"""Logins of their own for tests of what a role may do: real connections, not SET ROLE."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa


@contextmanager
def login(url: str, role: str) -> Iterator[str]:
    """The URL of `url`'s database for a new user with the rights of `role`; dropped on leaving."""
    name = secret = f"test_{uuid.uuid4().hex}"
    owner = sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool)
    with owner.connect() as connection:
        connection.exec_driver_sql(f"CREATE ROLE {name} LOGIN PASSWORD '{secret}' IN ROLE {role}")
    try:
        made = sa.make_url(url).set(username=name, password=secret)
        yield made.render_as_string(hide_password=False)
    finally:
        with owner.connect() as connection:
            connection.exec_driver_sql(f"DROP OWNED BY {name}")
            connection.exec_driver_sql(f"DROP ROLE {name}")
