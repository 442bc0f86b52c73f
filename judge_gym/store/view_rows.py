"""The rows of the schema `analysis`, limited to a sweep or an experiment, and its comments."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa
from psycopg import sql

from judge_gym.errors import StoreError, did_you_mean, first_line
from judge_gym.settings import Settings, settings
from judge_gym.store import views
from judge_gym.store.copying import Columns, begin_copying, columns_of, copy_out
from judge_gym.store.engine import database_url, shown

_MOST_NAMED = 20

_OF_EXPERIMENTS = ("experiment_id", "experiment_id_a", "experiment_id_b")
_OF_SHARED = {
    "rubric_id": "SELECT rubric_id FROM analysis.arms WHERE experiment_id = ANY (:ids)",
    "window_id": "SELECT window_id FROM analysis.experiments WHERE experiment_id = ANY (:ids)",
}
"""What experiments share, for views that name no experiment."""


class ViewReader:
    """Reads views in one transaction."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection

    def copy(
        self,
        view: str,
        file: Path,
        *,
        sweep: str | None = None,
        experiment: str | None = None,
        columns: Sequence[str] | None = None,
    ) -> Columns:
        """Write a view's rows as CSV, as `open_csv` reads it; returns the types of its columns.

        Raises `StoreError` naming what exists, for a view, column, sweep or experiment that does
        not.
        """
        known = columns_of(self._connection, _named(self._connection, view))
        chosen = _chosen(view, known, columns)
        where = _condition(self._connection, view, known, sweep, experiment)
        query = sql.SQL("SELECT {} FROM {} {} ORDER BY {}").format(
            sql.SQL(", ").join(_written(name, kind) for name, kind in chosen.items()),
            sql.Identifier(views.SCHEMA, view),
            where,
            sql.SQL(", ").join(map(sql.Identifier, chosen)),
        )
        copy_out(self._connection, query, file)
        return chosen

    def comments(self) -> dict[str, str]:
        """Return view → its comment."""
        comment = sa.text("SELECT obj_description(to_regclass(:name))")
        return {
            name: self._connection.scalar(comment, {"name": f"{views.SCHEMA}.{name}"})
            for name in views.names(self._connection)
        }

    def column_comments(self, view: str) -> dict[str, str]:
        """Return column → its comment; raises `StoreError` when there is no such view."""
        names = columns_of(self._connection, _named(self._connection, view))
        comment = sa.text("SELECT col_description(to_regclass(:name), :number)")
        return {
            name: self._connection.scalar(
                comment, {"name": f"{views.SCHEMA}.{view}", "number": number}
            )
            for number, name in enumerate(names, 1)
        }


@contextmanager
def view_reader(url: str | None) -> Iterator[ViewReader]:
    """Open a reader on a database, else on that of the settings; it never migrates."""
    configured = settings() if url is None else Settings.model_validate({"database_url": url})
    engine = sa.create_engine(database_url(configured), poolclass=sa.NullPool)
    try:
        with engine.begin() as connection:
            begin_copying(connection)
            yield ViewReader(connection)
    except sa.exc.OperationalError as error:
        reason = first_line(error.orig)
        raise StoreError(f"The database {shown(engine.url)} cannot be used: {reason}.") from None


def _named(connection: sa.Connection, view: str) -> sql.Identifier:
    known = views.names(connection)
    if view in known:
        return sql.Identifier(views.SCHEMA, view)
    if known:
        raise StoreError(
            f"There is no view {view!r}.", f"{did_you_mean(view, known)}Use {', '.join(known)}."
        )
    raise StoreError(
        "This database has no views that you may read.",
        "Have the owner run any command, such as `judge-gym sweep status`, and grant you the role "
        "that `judge-gym database roles` creates.",
    )


def _chosen(view: str, known: Columns, columns: Sequence[str] | None) -> Columns:
    if unknown := [name for name in columns or () if name not in known]:
        raise StoreError(
            f"View {view} has no column {', '.join(map(repr, unknown))}.",
            f"Use {', '.join(known)}.",
        )
    return {name: known[name] for name in known if columns is None or name in columns}


def _condition(
    connection: sa.Connection, view: str, known: Columns, sweep: str | None, experiment: str | None
) -> sql.Composable:
    """Return the WHERE clause; ids are written out, so that PostgreSQL can use its indexes."""
    if sweep is not None and experiment is not None:
        raise StoreError("Give a sweep or an experiment, not both.")
    if sweep is not None:
        ids = _experiments(connection, "sweep", sweep)
        if "sweep" in known:
            return sql.SQL("WHERE sweep = {}").format(sql.Literal(sweep))
    elif experiment is not None:
        ids = _experiments(connection, "experiment", experiment)
    else:
        return sql.SQL("")
    among = {name: ids for name in _OF_EXPERIMENTS if name in known}
    for name, query in _OF_SHARED.items():
        if name in known and not among:
            among[name] = list(connection.scalars(sa.text(query), {"ids": ids}))
    if not among:
        raise StoreError(
            f"View {view} cannot be limited to {'a sweep' if sweep else 'an experiment'}."
        )
    parts = [
        sql.SQL("{} = ANY ({}::bigint[])").format(sql.Identifier(name), sql.Literal(values))
        for name, values in among.items()
    ]
    return sql.SQL("WHERE {}").format(sql.SQL(" AND ").join(parts))


def _experiments(connection: sa.Connection, kind: str, name: str) -> list[int]:
    column: sa.ColumnClause[str] = sa.column(kind)
    bridge = sa.table("sweeps" if kind == "sweep" else "experiments", schema=views.SCHEMA)
    ids: sa.ColumnClause[int | None] = sa.column("experiment_id")
    found = connection.scalars(sa.select(ids).select_from(bridge).where(column == name)).all()
    if not found:
        known = connection.scalars(
            sa.select(column).select_from(bridge).distinct().order_by(column).limit(_MOST_NAMED)
        )
        raise StoreError(
            f"There is no {kind} {name!r}.", f"Known: {', '.join(known) or 'none yet'}."
        )
    return [one for one in found if one is not None]


def _written(name: str, kind: str) -> sql.Composable:
    """Return a column as text that Arrow and `json` can read."""
    column = sql.Identifier(name)
    if is_nested(kind):
        return sql.SQL("to_json({0})::text AS {0}").format(column)
    if kind == "numeric":
        return sql.SQL("{0}::double precision AS {0}").format(column)
    return column


def is_nested(kind: str) -> bool:
    """Whether values of a PostgreSQL type are arrays or JSON, which are copied as JSON text."""
    return kind in ("json", "jsonb") or kind.endswith("[]")
