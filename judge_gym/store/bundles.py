"""A bundle: a folder with the rows of chosen experiments, as CSV and as Parquet, and a manifest.

A codebook (`store.codebook`) says what each column means.

The CSV files are what PostgreSQL writes and an import reads, with an apostrophe before texts that a
spreadsheet would compute (`formats.cell`). The Parquet files hold the same rows, with types and
texts as they are.
"""

import hashlib
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import sqlalchemy as sa
from psycopg import sql
from pydantic import BaseModel, ConfigDict, ValidationError
from sqlalchemy.orm import Session

from judge_gym.errors import StoreError
from judge_gym.store import migrate
from judge_gym.store.bulk import (
    Columns,
    begin_copying,
    columns_of,
    copy_out,
    open_csv,
    safe_texts,
    texts_as_given,
)
from judge_gym.store.bundled_tables import BUNDLED
from judge_gym.store.codebook import CODEBOOK, codebook, write_codebook
from judge_gym.store.experiments import experiments_by_tag, sweep_tags
from judge_gym.store.redaction import public_columns

if TYPE_CHECKING:
    import pyarrow as pa


MANIFEST = "manifest.json"


class BundledFile(BaseModel):
    """A file of the bundle and what proves that it is whole."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    bytes: int
    sha256: str


class WrittenTable(BaseModel):
    """The rows of a table: how many, their columns with PostgreSQL's types, their files."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    rows: int
    columns: dict[str, str]
    csv: BundledFile
    parquet: BundledFile


class Manifest(BaseModel):
    """The content of a bundle. It has no date, so equal rows make equal bundles."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    format: Literal[1] = 1
    judge_gym: str
    migration: str
    sweep: str | None
    experiments: tuple[str, ...]
    simulated: bool
    csv: str = (
        "As PostgreSQL writes it, for imports. Texts that a spreadsheet would compute stand after "
        "an apostrophe; the Parquet files have them as they are."
    )
    safe: bool = False
    """Whether such texts stand after an apostrophe; they do not in older bundles."""
    tables: dict[str, WrittenTable]


def csv_file(folder: Path, table: str) -> Path:
    """Return where the rows of a table are as CSV."""
    return folder / f"{table}.csv"


def parquet_file(folder: Path, table: str) -> Path:
    """Return where the rows of a table are as Parquet."""
    return folder / f"{table}.parquet"


def measured(file: Path) -> BundledFile:
    """Return the size and digest of a file, read in pieces."""
    with file.open("rb") as content:
        return BundledFile(
            bytes=file.stat().st_size, sha256=hashlib.file_digest(content, "sha256").hexdigest()
        )


def read_manifest(folder: Path) -> Manifest:
    """Return a bundle's manifest once every file agrees with it.

    Raises `StoreError` for a folder that is no bundle, is damaged or is newer than this program.
    """
    file = folder / MANIFEST
    if not file.is_file():
        raise StoreError(
            f"{folder} is no bundle: it has no {MANIFEST}.",
            "Name a folder that judge-gym data export has finished.",
        )
    try:
        manifest = Manifest.model_validate_json(file.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        raise StoreError(
            f"{file} cannot be read: {'.'.join(map(str, first['loc']))}: {first['msg']}.",
            "It is damaged, no bundle of judge-gym, or made by a newer one.",
        ) from None
    if unknown := sorted(manifest.tables.keys() - BUNDLED.keys()):
        raise StoreError(
            f"{folder} has tables that this judge-gym does not know: {', '.join(unknown)}.",
            "Upgrade judge-gym.",
        )
    for name, table in manifest.tables.items():
        _check(csv_file(folder, name), table.csv)
        _check(parquet_file(folder, name), table.parquet)
    return manifest


def _check(file: Path, expected: BundledFile) -> None:
    if not file.is_file():
        raise StoreError(f"The bundle is damaged: {file} is missing.", "Export it again.")
    if measured(file) != expected:
        raise StoreError(
            f"The bundle is damaged: {file} is not what the manifest says.", "Export it again."
        )


def export(
    engine: sa.Engine,
    folder: Path,
    *,
    sweep: str | None = None,
    tags: Sequence[str] = (),
    public: bool = False,
) -> Manifest:
    """Write a bundle of a sweep with its analyses, or of experiments alone; returns its manifest.

    One that is `public` has no paths, and digests in the place of texts that may not be shared
    (`store.redaction`). The manifest is written last, so that a folder with one is whole. Raises
    `StoreError` for a sweep or tag that is not there, and for a folder that holds something.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise StoreError(f"{folder} is not empty.", "Name a new folder for the bundle.")
    snapshot = engine.execution_options(isolation_level="REPEATABLE READ")
    with Session(snapshot) as session, session.begin():
        chosen = sweep_tags(session, sweep) if sweep else list(tags)
        experiments = experiments_by_tag(session, chosen)
        connection = session.connection()
        begin_copying(connection)
        # Texts and answers are for whoever exports them, unless it is for the public.
        folder.mkdir(mode=0o777 if public else 0o700, parents=True, exist_ok=True)
        written = {}
        for name in BUNDLED:
            columns = {
                column: kind
                for column, kind in columns_of(connection, sql.Identifier(name)).items()
                if BUNDLED[name].table.c[column].computed is None
            }
            of_all = sql.SQL(", ").join(map(sql.Identifier, columns))
            shown = public_columns(name, columns, experiments.values()) if public else of_all
            query = _query(name, shown, list(experiments), sweep)
            written[name] = _write(connection, folder, name, columns, query)
        types = {name: table.columns for name, (table, _) in written.items()}
        tables = {name: bundled.table for name, bundled in BUNDLED.items()}
        write_codebook(folder / CODEBOOK, codebook(connection, tables, types))
    current, _ = migrate.revisions(engine)
    manifest = Manifest(
        judge_gym=version("judge-gym"),
        migration=str(current),
        sweep=sweep,
        experiments=tuple(sorted(chosen)),
        simulated=any(simulated for _, simulated in written.values()),
        safe=True,
        tables={name: table for name, (table, _) in written.items()},
    )
    (folder / MANIFEST).write_text(manifest.model_dump_json(indent=2) + "\n")
    return manifest


def _query(
    table: str, columns: sql.Composable, ids: Sequence[int], sweep: str | None
) -> sql.Composable:
    bundled = BUNDLED[table]
    chosen = sql.SQL(bundled.chosen).format(
        ids=sql.SQL("{}::bigint[]").format(sql.Literal(list(ids))), sweep=sql.Literal(sweep)
    )
    keys = [column.name for column in bundled.table.primary_key]
    return sql.SQL("SELECT {} FROM {} WHERE {} ORDER BY {}").format(
        columns, sql.Identifier(table), chosen, sql.SQL(", ").join(map(sql.Identifier, keys))
    )


def _write(
    connection: sa.Connection, folder: Path, table: str, columns: Columns, query: sql.Composable
) -> tuple[WrittenTable, bool]:
    """Write a table's files; returns them, and whether a row is marked simulated."""
    rows_file, typed_file = csv_file(folder, table), parquet_file(folder, table)
    rows = copy_out(connection, safe_texts(query, columns), rows_file)
    simulated = _convert(rows_file, columns, typed_file)
    written = WrittenTable(
        rows=rows, columns=dict(columns), csv=measured(rows_file), parquet=measured(typed_file)
    )
    return written, simulated


def _convert(rows: Path, columns: Columns, typed: Path) -> bool:
    """Write the Parquet of a CSV file, block by block."""
    import pyarrow.compute as compute
    import pyarrow.parquet as parquet

    simulated = False
    with open_csv(rows, columns) as reader:
        schema = _schema(reader.schema, columns)
        with parquet.ParquetWriter(typed, schema) as writer:
            for batch in reader:
                writer.write_batch(_with_arrays(texts_as_given(batch, columns), schema))
                if "simulated" in columns:
                    simulated |= bool(compute.any(batch["simulated"]).as_py())
    return simulated


def _schema(schema: "pa.Schema", columns: Columns) -> "pa.Schema":
    import pyarrow as pa

    arrays = [place for place, kind in enumerate(columns.values()) if kind.endswith("[]")]
    for place in arrays:
        schema = schema.set(place, schema.field(place).with_type(pa.list_(pa.int64())))
    return schema


def _with_arrays(batch: "pa.RecordBatch", schema: "pa.Schema") -> "pa.RecordBatch":
    """Return the batch with PostgreSQL's text of integer arrays read."""
    import pyarrow as pa

    read = [
        column
        if column.type == field.type
        else pa.array(map(_integers, column.to_pylist()), type=field.type)
        for column, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.record_batch(read, schema=schema)


def _integers(text: str | None) -> list[int] | None:
    return None if text is None else [int(number) for number in text[1:-1].split(",") if number]
