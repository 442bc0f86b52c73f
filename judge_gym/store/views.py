"""The `analysis` schema: views for analysts, one commented SQL file each under `sql/views`.

Views are created again after each migration to the newest schema (docs/decisions/0010-views.md).
To change one: edit its file and add a migration that holds nothing but `VIEWS`, the digest of the
files, by which existing databases learn of it.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa
from psycopg import sql

from judge_gym.errors import StoreError, did_you_mean, first_line
from judge_gym.seeds import digest as digest_of
from judge_gym.settings import Settings, settings
from judge_gym.shipped import SQL
from judge_gym.store.bulk import Columns, begin_copying, columns_of, copy_out
from judge_gym.store.engine import database_url, named, shown

FOLDER = SQL / "views"
SCHEMA = "analysis"


def files() -> list[Path]:
    """Return the view files in the order of their names, each view after those it reads."""
    return sorted(FOLDER.glob("*.sql"))


def digest() -> str:
    """Return 16 digits that change with any view file."""
    return digest_of("views", [(file.name, file.read_text()) for file in files()])


def names(connection: sa.Connection) -> list[str]:
    """Return the views that this user may read, sorted; none where there is no such schema."""
    listed = sa.text(
        "SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace(:schema) "
        "AND relkind = 'v' AND has_table_privilege(oid, 'SELECT') ORDER BY relname COLLATE \"C\""
    )
    return list(connection.scalars(listed, {"schema": SCHEMA}))


def drop(connection: sa.Connection) -> None:
    """Drop every view of the schema, so that tables below them can change.

    Raises `StoreError` when other objects depend on them: only judge-gym's own are dropped.
    """
    view_names = names(connection)
    if not view_names:
        return
    try:
        connection.exec_driver_sql(
            f"DROP VIEW {', '.join(f'{SCHEMA}.{name}' for name in view_names)}"
        )
    except sa.exc.InternalError as error:
        detail = " ".join(str(error.orig).split())
        raise StoreError(
            f"The views of schema {SCHEMA} cannot be made anew: {detail}",
            "Drop what depends on them, and create it again afterwards.",
        ) from None


def create(connection: sa.Connection) -> None:
    """Create every view from its file."""
    for file in files():
        # Several statements in one go, which the driver takes only without parameters.
        connection.exec_driver_sql(file.read_text(), execution_options={"no_parameters": True})


_MOST_NAMED = 20

_OF_EXPERIMENTS = ("experiment_id", "experiment_id_a", "experiment_id_b")
_OF_SHARED = {
    "rubric_id": "SELECT rubric_id FROM analysis.arms WHERE experiment_id = ANY (:ids)",
    "window_id": "SELECT window_id FROM analysis.experiments WHERE experiment_id = ANY (:ids)",
}
"""What experiments share: a row of a view that names no experiment is of a sweep when each is."""
_REPLICATES = {
    "samples": "replicate",
    "probes": "sample_replicate",
    "score_marks": "sample_replicate",
}
"""View of judgements → its column that says which replicate a row is of."""


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
        all_columns = columns_of(self._connection, _named(self._connection, view))
        chosen = _chosen(view, all_columns, columns)
        where = _condition(self._connection, view, all_columns, sweep, experiment)
        query = sql.SQL("SELECT {} FROM {} {} ORDER BY {}").format(
            sql.SQL(", ").join(
                _of_sweep(view, name, all_columns, sweep) or _written(name, kind)
                for name, kind in chosen.items()
            ),
            sql.Identifier(SCHEMA, view),
            where,
            sql.SQL(", ").join(map(sql.Identifier, chosen)),
        )
        copy_out(self._connection, query, file)
        return chosen

    def comments(self) -> dict[str, str]:
        """Return view → its comment."""
        comment = sa.text("SELECT obj_description(to_regclass(:name))")
        return {
            name: self._connection.scalar(comment, {"name": f"{SCHEMA}.{name}"})
            for name in names(self._connection)
        }

    def column_comments(self, view: str) -> dict[str, str]:
        """Return column → its comment; raises `StoreError` when there is no such view."""
        columns = columns_of(self._connection, _named(self._connection, view))
        comment = sa.text("SELECT col_description(to_regclass(:name), :number)")
        return {
            name: self._connection.scalar(comment, {"name": f"{SCHEMA}.{view}", "number": number})
            for number, name in enumerate(columns, 1)
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
    view_names = names(connection)
    if view in view_names:
        return sql.Identifier(SCHEMA, view)
    if view_names:
        raise StoreError(
            f"There is no view {view!r}.",
            f"{did_you_mean(view, view_names)}Use {', '.join(view_names)}.",
        )
    raise StoreError(
        "This database has no views that you may read.",
        "Have the owner run any command, such as `judge-gym sweep status`, and grant you the role "
        "that `judge-gym database roles` creates.",
    )


def _chosen(view: str, available: Columns, columns: Sequence[str] | None) -> Columns:
    if unknown := [name for name in columns or () if name not in available]:
        raise StoreError(
            f"View {view} has no column {', '.join(map(repr, unknown))}.",
            f"Use {', '.join(available)}.",
        )
    return {name: available[name] for name in available if columns is None or name in columns}


def _condition(
    connection: sa.Connection,
    view: str,
    available: Columns,
    sweep: str | None,
    experiment: str | None,
) -> sql.Composable:
    """Return the WHERE clause; ids are written out, so that PostgreSQL can use its indexes."""
    if sweep is not None and experiment is not None:
        raise StoreError("Give a sweep or an experiment, not both.")
    if sweep is not None:
        ids = _experiments(connection, "sweep", sweep)
        if "sweep" in available:
            return sql.SQL("WHERE sweep = {}").format(sql.Literal(sweep))
    elif experiment is not None:
        ids = _experiments(connection, "experiment", experiment)
    else:
        return sql.SQL("")
    among = {name: ids for name in _OF_EXPERIMENTS if name in available}
    if not among:
        among = {
            name: list(connection.scalars(sa.text(query), {"ids": ids}))
            for name, query in _OF_SHARED.items()
            if name in available
        }
    if not among:
        raise StoreError(
            f"View {view} cannot be limited to {'a sweep' if sweep else 'an experiment'}."
        )
    parts: list[sql.Composable] = [
        sql.SQL("{} = ANY ({}::bigint[])").format(sql.Identifier(name), sql.Literal(values))
        for name, values in among.items()
    ]
    if sweep is not None and (replicate := _REPLICATES.get(view)):
        parts.append(_declared(connection, sweep, replicate))
    return sql.SQL("WHERE {}").format(sql.SQL(" AND ").join(parts))


def _declared(connection: sa.Connection, sweep: str, replicate: str) -> sql.Composable:
    """Return the condition that a row is of a replicate that the sweep declares."""
    ids: dict[int, list[int]] = defaultdict(list)
    query = sa.text(
        "SELECT replicates, experiment_id FROM analysis.declared_replicates WHERE sweep = :sweep"
    )
    for declared, experiment_id in connection.execute(query, {"sweep": sweep}).tuples():
        ids[declared].append(experiment_id)
    parts = [
        sql.SQL("experiment_id = ANY ({}::bigint[]) AND {} < {}").format(
            sql.Literal(of), sql.Identifier(replicate), sql.Literal(declared)
        )
        for declared, of in ids.items()
    ]
    return sql.SQL("({})").format(sql.SQL(" OR ").join(parts))


def _experiments(connection: sa.Connection, kind: str, name: str) -> list[int]:
    column: sa.ColumnClause[str] = sa.column(kind)
    bridge = sa.table("sweeps" if kind == "sweep" else "experiments", schema=SCHEMA)
    ids: sa.ColumnClause[int | None] = sa.column("experiment_id")
    experiment_ids = connection.scalars(
        sa.select(ids).select_from(bridge).where(column == name)
    ).all()
    if not experiment_ids:
        existing = connection.scalars(
            sa.select(column).select_from(bridge).distinct().order_by(column).limit(_MOST_NAMED)
        )
        raise StoreError(
            f"There is no {kind} {name!r}.",
            f"Known: {', '.join(existing) or 'none yet'}. {named(connection.engine.url)}",
        )
    return [experiment_id for experiment_id in experiment_ids if experiment_id is not None]


def _written(name: str, kind: str) -> sql.Composable:
    """Return a column as text that Arrow and `json` can read."""
    column = sql.Identifier(name)
    if is_nested(kind):
        return sql.SQL("to_json({0})::text AS {0}").format(column)
    if kind == "numeric":
        return sql.SQL("{0}::double precision AS {0}").format(column)
    return column


def _of_sweep(view: str, name: str, available: Columns, sweep: str | None) -> sql.Composable | None:
    """Return the replicates that a sweep declares, where a view has the most that any does."""
    owner = next((one for one in _OF_EXPERIMENTS if one in available), None)
    if name != "replicates" or sweep is None or owner is None:
        return None
    return sql.SQL(
        "(SELECT d.replicates FROM analysis.declared_replicates AS d "
        "WHERE d.sweep = {} AND d.experiment_id = {}) AS replicates"
    ).format(sql.Literal(sweep), sql.Identifier(view, owner))


def is_nested(kind: str) -> bool:
    """Whether values of a PostgreSQL type are arrays or JSON, which are copied as JSON text."""
    return kind in ("json", "jsonb") or kind.endswith("[]")
