"""Alembic's entry: runs the migrations over the connection that `judge_gym.store.migrate` opened.

One migration at a time across processes: a session lock is held while they run. The views of
`sql/views` fit the newest schema only, so they are away while migrations run.
"""

import os

import sqlalchemy as sa
from alembic import context

from judge_gym.store import views
from judge_gym.store.tables import Base

LOCK = 0x6A756467  # an arbitrary number that only these migrations use


def run(connection: sa.Connection) -> None:
    connection.execute(sa.text("SELECT pg_advisory_lock(:lock)"), {"lock": LOCK})
    connection.commit()
    try:
        context.configure(connection=connection, target_metadata=Base.metadata)
        with context.begin_transaction():
            views.drop(connection)
            context.run_migrations()
            if context.get_context().get_current_revision() == context.get_head_revision():
                views.create(connection)
    finally:
        connection.execute(sa.text("SELECT pg_advisory_unlock(:lock)"), {"lock": LOCK})
        connection.commit()


given = context.config.attributes.get("connection")
if given is not None:
    run(given)
else:
    with sa.create_engine(os.environ["JUDGE_GYM_DATABASE_URL"]).connect() as opened:
        run(opened)
