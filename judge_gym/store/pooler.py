"""Poolers between judge-gym and PostgreSQL, such as PgBouncer, that lend a session by transaction.

judge-gym keeps nothing in a session from one transaction to the next: no locks, no settings, no
temporary tables. Only psycopg keeps prepared statements there.
"""

from typing import Any

import sqlalchemy as sa


def mind_poolers(engine: sa.Engine) -> sa.Engine:
    """Prepare no statements on connections that lead to a pooler; returns the engine.

    The session that has prepared a statement may be another connection's by the next transaction.
    PgBouncer can follow prepared statements since 1.21, and is not made to by default.
    """

    @sa.event.listens_for(engine, "connect")
    def connected(connection: Any, _record: Any) -> None:
        if is_pooled(connection):
            connection.prepare_threshold = None

    return engine


def is_pooled(connection: Any) -> bool:
    """Whether a psycopg connection leads to a pooler.

    A pooler answers a login with a process number of its own: it is not the one that the server's
    process has.
    """
    found = connection.execute("SELECT pg_backend_pid()").fetchone()[0]
    connection.rollback()
    return bool(found != connection.info.backend_pid)
