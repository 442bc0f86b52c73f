"""For notebooks: the views of the schema `analysis` as tidy DataFrames.

    from judge_gym.analysis import load
    samples = load("samples", sweep="demo")

What each view and column holds is in its comment: `\\d+ analysis.samples` in psql, or `describe`.
"""

import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from psycopg import sql

from judge_gym.errors import StoreError, did_you_mean, first_line
from judge_gym.settings import Settings, settings
from judge_gym.store import views
from judge_gym.store.copying import Columns, begin_copying, columns_of, copy_out, open_csv
from judge_gym.store.engine import database_url, shown

if TYPE_CHECKING:
    import pandas as pd

_NAMES = """
    agent arm axis category concept country domain evidence_view experiment experiment_a
    experiment_b family family_a family_b finish_reason judge metric model model_a model_b
    owner_family owner_model pair probe_window prompt_order provider rival route rubric
    rubric_family rubric_owner scoring_method source status sweep task_type template tier unit
    version window_name workflow
"""
CATEGORIES = frozenset(_NAMES.split())
"""Columns of text that names one of few things."""
KNOWN_SHOWN = 20

_OF_EXPERIMENTS = ("experiment_id", "experiment_id_a", "experiment_id_b")
_OF_SHARED = {
    "rubric_id": "SELECT rubric_id FROM analysis.arms WHERE experiment_id = ANY (:ids)",
    "window_id": "SELECT window_id FROM analysis.experiments WHERE experiment_id = ANY (:ids)",
}
"""What experiments share, for views that name no experiment."""


def load(
    view: str,
    *,
    sweep: str | None = None,
    experiment: str | None = None,
    columns: Sequence[str] | None = None,
    url: str | None = None,
) -> "pd.DataFrame":
    """Return the rows of a view, all or those of a sweep or of an experiment (its tag).

    Names are categories, whole numbers and truth values may be missing (`Int64`, `boolean`),
    times are UTC, arrays and JSON are lists and dicts (equal ones shared: copy before changing).
    `columns` takes some of them. `url` is a database, else it is the one in the settings.

    Raises `StoreError` naming what exists, for a view, column, sweep or experiment that does not.
    """
    with _connected(url) as connection:
        known = columns_of(connection, _named(connection, view))
        chosen = _chosen(view, known, columns)
        where = _condition(connection, view, known, sweep, experiment)
        query = sql.SQL("SELECT {} FROM {} {} ORDER BY {}").format(
            sql.SQL(", ").join(_written(name, kind) for name, kind in chosen.items()),
            sql.Identifier(views.SCHEMA, view),
            where,
            sql.SQL(", ").join(map(sql.Identifier, chosen)),
        )
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "rows.csv"
            copy_out(connection, query, file)
            return _frame(file, chosen)


def describe(view: str | None = None, *, url: str | None = None) -> "pd.DataFrame":
    """Return what every view holds, or what every column of a view does."""
    import pandas as pd

    with _connected(url) as connection:
        if view is None:
            comments = sa.text("SELECT obj_description(to_regclass(:name))")
            names = views.names(connection)
            texts = [
                connection.scalar(comments, {"name": f"{views.SCHEMA}.{one}"}) for one in names
            ]
            return pd.DataFrame({"view": names, "holds": texts})
        names = list(columns_of(connection, _named(connection, view)))
        comments = sa.text("SELECT col_description(to_regclass(:name), :place)")
        name = f"{views.SCHEMA}.{view}"
        texts = [
            connection.scalar(comments, {"name": name, "place": place})
            for place in range(1, len(names) + 1)
        ]
        return pd.DataFrame({"column": names, "holds": texts})


@contextmanager
def _connected(url: str | None) -> Iterator[sa.Connection]:
    """A transaction on the database; never migrates it, since a reader may not."""
    configured = settings() if url is None else Settings.model_validate({"database_url": url})
    engine = sa.create_engine(database_url(configured), poolclass=sa.NullPool)
    try:
        with engine.begin() as connection:
            begin_copying(connection)
            yield connection
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
            sa.select(column).select_from(bridge).distinct().order_by(column).limit(KNOWN_SHOWN)
        )
        raise StoreError(
            f"There is no {kind} {name!r}.", f"Known: {', '.join(known) or 'none yet'}."
        )
    return [one for one in found if one is not None]


def _written(name: str, kind: str) -> sql.Composable:
    """Return a column as text that Arrow and `json` can read."""
    column = sql.Identifier(name)
    if _is_nested(kind):
        return sql.SQL("to_json({0})::text AS {0}").format(column)
    if kind == "numeric":
        return sql.SQL("{0}::double precision AS {0}").format(column)
    return column


def _is_nested(kind: str) -> bool:
    return kind in ("json", "jsonb") or kind.endswith("[]")


def _frame(file: Path, columns: Columns) -> "pd.DataFrame":
    import pandas as pd
    import pyarrow as pa

    read = {
        name: "float8" if kind == "numeric" else "text" if _is_nested(kind) else kind
        for name, kind in columns.items()
    }
    table = open_csv(file, read, categories=CATEGORIES & read.keys()).read_all()
    kinds = {
        pa.int16(): pd.Int64Dtype(),
        pa.int32(): pd.Int64Dtype(),
        pa.int64(): pd.Int64Dtype(),
        pa.bool_(): pd.BooleanDtype(),
    }
    frame = table.unify_dictionaries().to_pandas(
        types_mapper=kinds.get, date_as_object=False, self_destruct=True
    )
    for name, kind in columns.items():
        if _is_nested(kind):
            frame[name] = _parsed(frame[name])
    return frame


def _parsed(texts: "pd.Series[str]") -> list[Any]:
    # Few distinct values stand in many rows; reading each once is much quicker.
    known = {text: json.loads(text) for text in texts.dropna().unique()}
    return [known.get(text) for text in texts]
