"""Reading a bundle: its rows get the ids of this database, by their natural keys.

A row that is here already stays as it is; one that is here with other contents stops the import,
since half of one run and half of another would be neither. All in one transaction.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import sqlalchemy as sa
from psycopg import sql

from judge_gym.errors import StoreError
from judge_gym.store import migrate
from judge_gym.store.bulk import TEXTS, begin_copying, copy_in, text_as_given
from judge_gym.store.bundled_tables import BUNDLED, BundledTable
from judge_gym.store.bundles import Manifest, csv_file, read_manifest

_ANOTHER = "Import it into a database of its own: set JUDGE_GYM_DATABASE_URL or JUDGE_GYM_DATA_DIR."


def import_bundle(engine: sa.Engine, folder: Path) -> tuple[Manifest, dict[str, int]]:
    """Read a bundle into a current database; returns its manifest and the new rows by table.

    A second time changes nothing. Raises `StoreError` for a bundle that is damaged or newer than
    this judge-gym, and for one that contradicts what is here.
    """
    manifest = read_manifest(folder)
    _check_fits(manifest)
    new = {}
    try:
        with engine.begin() as connection:
            begin_copying(connection)
            cursor = connection.connection.cursor()
            for name in (table_name for table_name in BUNDLED if table_name in manifest.tables):
                columns = manifest.tables[name].columns
                safe = [one for one in columns if manifest.safe and columns[one] in TEXTS]
                table = _Table(cursor, BUNDLED[name], tuple(columns), frozenset(safe))
                copy_in(connection, table.stage(), table.columns, csv_file(folder, name))
                new[name] = table.take_over()
            if "llm_calls" in new:
                _refuse_mixed_recipes(cursor)
    except (psycopg.IntegrityError, psycopg.DataError) as error:
        reason = " ".join(str(error).split())
        raise StoreError(f"The bundle does not fit what is here: {reason}", _ANOTHER) from None
    return manifest, new


def _check_fits(manifest: Manifest) -> None:
    if manifest.migration not in migrate.known_revisions():
        raise migrate.unknown_revision("The bundle", manifest.migration)
    for name, table in manifest.tables.items():
        if removed := sorted(table.columns.keys() - BUNDLED[name].table.columns.keys()):
            raise StoreError(
                f"The bundle's {name} has columns that are no more: {', '.join(removed)}.",
                f"Import it with judge-gym {manifest.judge_gym}.",
            )


@dataclass(frozen=True)
class _Table:
    """A table's rows on their way: as the bundle has them, then with the ids of this database.

    Three temporary tables: `bundle_T` as copied, `rows_T` with the ids of here, `ids_T` for the
    tables that refer to it.
    """

    cursor: Any
    bundled: BundledTable
    columns: tuple[str, ...]
    safe: frozenset[str]
    """The columns whose texts may stand after an apostrophe."""

    def stage(self) -> sql.Identifier:
        """Make the temporary table that takes the file: the same columns, no constraints."""
        self._run(
            "CREATE TEMPORARY TABLE {bundle} ON COMMIT DROP AS SELECT {columns} FROM {table} "
            "WITH NO DATA",
            columns=_listed(self.columns),
        )
        return sql.Identifier(f"bundle_{self.table.name}")

    def take_over(self) -> int:
        """Insert what is not here; returns how many rows that were."""
        self._find_ids()
        self._refuse_contradictions()
        self._refuse_mixtures()
        self._bring_on()
        columns = [name for name in self.columns if name != "id"]
        new = self._run(
            "INSERT INTO {table} ({columns}) SELECT {columns} FROM {rows} AS rows "
            "WHERE NOT EXISTS (SELECT FROM {table} AS here WHERE {natural}) ORDER BY {order}",
            columns=_listed(columns),
            order=_listed(["id"] if "id" in self.columns else self.bundled.key),
        )
        if any(
            _target(column) == self.table.name
            for other in BUNDLED.values()
            for column in other.table.c
        ):
            self._run(
                "CREATE TEMPORARY TABLE {ids} ON COMMIT DROP AS SELECT rows.id AS old, "
                "here.id AS new FROM {rows} AS rows JOIN {table} AS here ON {natural}"
            )
            self._run("ANALYZE {ids}")
            self._refer_within()
        return new

    @property
    def table(self) -> sa.Table:
        return self.bundled.table

    def _find_ids(self) -> None:
        """Make the rows with each reference replaced by the id of the same row here."""
        values: list[sql.Composable] = []
        joins: list[sql.Composable] = []
        for place, name in enumerate(self.columns):
            column, target = sql.Identifier(name), _target(self.table.c[name])
            if target == self.table.name:
                # Set once the rows are stored; until then the reference is empty.
                values.append(sql.SQL("NULL::bigint AS {}").format(column))
                values.append(sql.SQL("bundle.{} AS {}").format(column, _kept(name)))
            elif target and target not in BUNDLED:
                values.append(sql.SQL("NULL::bigint AS {}").format(column))
            elif target:
                alias = sql.Identifier(f"ids{place}")
                values.append(sql.SQL("{}.new AS {}").format(alias, column))
                joins.append(
                    sql.SQL("LEFT JOIN {} AS {alias} ON {alias}.old = bundle.{}").format(
                        sql.Identifier(f"ids_{target}"), column, alias=alias
                    )
                )
            elif name == "held_out_items":
                values.append(sql.SQL(_HELD_OUT))
            elif name in self.safe:
                given = text_as_given(sql.SQL("bundle.{}").format(column))
                values.append(sql.SQL("{} AS {}").format(given, column))
            else:
                values.append(sql.SQL("bundle.{}").format(column))
        self._run(
            "CREATE TEMPORARY TABLE {rows} ON COMMIT DROP AS SELECT {values} FROM {bundle} "
            "AS bundle {joins}",
            values=sql.SQL(", ").join(values),
            joins=sql.SQL(" ").join(joins),
        )
        self._run("DROP TABLE {bundle}")
        self._run("ANALYZE {rows}")

    def _refer_within(self) -> None:
        """Let new rows refer to others of the same table, where those came along."""
        for name in self.columns:
            if _target(self.table.c[name]) == self.table.name:
                self._run(
                    "UPDATE {table} AS here SET {column} = other.new FROM {rows} AS rows "
                    "JOIN {ids} AS other ON other.old = rows.{kept} "
                    "WHERE {natural} AND here.{column} IS NULL",
                    column=sql.Identifier(name),
                    kept=_kept(name),
                )

    def _refuse_contradictions(self) -> None:
        compared = [name for name in self.bundled.same if name in self.columns]
        if not compared:
            return
        differ = sql.SQL(" OR ").join(
            sql.SQL("rows.{0} <> here.{0}").format(sql.Identifier(name)) for name in compared
        )
        count = self._count(
            "SELECT count(*) FROM {rows} AS rows JOIN {table} AS here ON {natural} WHERE {differ}",
            differ=differ,
        )
        if count:
            raise StoreError(
                f"{count} {self.table.name} of the bundle are here with another "
                f"{' or '.join(compared)}: both databases did the same work, with other results.",
                _ANOTHER,
            )

    def _refuse_mixtures(self) -> None:
        if self.bundled.whole is None:
            return
        name, may_grow = self.bundled.whole
        owner = sql.Identifier(name)
        others = self._count(
            "SELECT count(*) FROM {table} AS here WHERE {owner} IN (SELECT {owner} FROM {rows}) "
            "AND NOT EXISTS (SELECT FROM {rows} AS rows WHERE {natural})",
            owner=owner,
        )
        added = self._count(
            "SELECT count(*) FROM {rows} AS rows WHERE {owner} IN (SELECT {owner} FROM {table}) "
            "AND NOT EXISTS (SELECT FROM {table} AS here WHERE {natural})",
            owner=owner,
        )
        if others or (added and not may_grow):
            raise StoreError(
                f"The {self.table.name} of the bundle's {name.removesuffix('_id')} are not those "
                f"here: {others} more are here, {added} more in the bundle.",
                _ANOTHER,
            )

    def _bring_on(self) -> None:
        if self.bundled.brought_on is None:
            return
        names, when = self.bundled.brought_on
        replaced = [column for column in self.columns if column not in ("id", *self.bundled.key)]
        changes = sql.SQL(", ").join(
            sql.SQL("{0} = rows.{0}").format(sql.Identifier(column))
            for column in (replaced if names == "*" else [names])
        )
        self._run(
            "UPDATE {table} AS here SET {changes} FROM {rows} AS rows WHERE {natural} AND {when}",
            changes=changes,
            when=sql.SQL(when),
        )

    def _run(self, statement: str, **parts: sql.Composable) -> int:
        """Run a statement about this table; returns how many rows it touched."""
        name = self.table.name
        equal = [
            sql.SQL("rows.{0} = here.{0}").format(sql.Identifier(column))
            for column in self.bundled.key
        ]
        self.cursor.execute(
            sql.SQL(statement).format(
                table=sql.Identifier(name),
                bundle=sql.Identifier(f"bundle_{name}"),
                rows=sql.Identifier(f"rows_{name}"),
                ids=sql.Identifier(f"ids_{name}"),
                natural=sql.SQL(" AND ").join(equal),
                **parts,
            )
        )
        return int(self.cursor.rowcount)

    def _count(self, statement: str, **parts: sql.Composable) -> int:
        self._run(statement, **parts)
        (count,) = self.cursor.fetchone()
        return int(count)


def _refuse_mixed_recipes(cursor: Any) -> None:
    """Raise `StoreError` if answers of the bundle have joined an experiment of another recipe."""
    cursor.execute(
        "SELECT x.tag, c.template FROM rows_llm_calls AS c JOIN experiments AS x "
        "ON x.id = c.experiment_id "
        "WHERE strpos(x.recipe ->> c.template, c.template_hash) = 0 LIMIT 1"
    )
    if row := cursor.fetchone():
        tag, template = row
        raise StoreError(
            f"Experiment {tag} is here with another {template}.j2 than the bundle's answers were "
            "asked with.",
            _ANOTHER,
        )


_HELD_OUT = """
    ARRAY(
        SELECT i.new FROM unnest(bundle.held_out_items) WITH ORDINALITY AS held (old, place)
        JOIN ids_items AS i ON i.old = held.old ORDER BY held.place
    ) AS held_out_items
"""


def _kept(column: str) -> sql.Identifier:
    """Return the column with a reference's id in the bundle, within one table."""
    return sql.Identifier(f"bundle_{column}")


def _listed(names: Iterable[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, names))


def _target(column: sa.Column[Any]) -> str | None:
    """Return the table that a column refers to."""
    targets = {key.column for key in column.foreign_keys}
    return next((target.table.name for target in targets if target.name == "id"), None)
