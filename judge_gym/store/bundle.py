"""A bundle: a folder with the rows of chosen experiments, as CSV and as Parquet, and a manifest.

The CSV files are what PostgreSQL writes and reads, cell by cell: they are what an import reads,
so nothing in them is changed for the sake of a spreadsheet, which would take a text that begins
with = + - or @ for a formula. The Parquet files hold the same rows with types and no such danger.
"""

import hashlib
from pathlib import Path
from typing import Literal

import sqlalchemy as sa
from pydantic import BaseModel, ConfigDict, ValidationError

from judge_gym.errors import StoreError
from judge_gym.store import tables as t

MANIFEST = "manifest.json"
_OF_THE_PLACE = {"gate_changes", "llm_batches"}
"""What judge-gym has sent from here is nobody else's to fetch."""
_OF_PRODUCTS = {
    "judges",
    "judge_items",
    "judge_results",
    "perturbed_texts",
    "calibration_checks",
    "judge_reviews",
    "panels",
    "panel_documents",
    "panel_reviews",
    "panel_consensus",
}
"""Judges of products and panels, and what they judge, belong to no experiment."""
NOT_IN_BUNDLES = frozenset(_OF_THE_PLACE | _OF_PRODUCTS)
TABLES: dict[str, sa.Table] = {
    table.name: table for table in t.Base.metadata.sorted_tables if table.name not in NOT_IN_BUNDLES
}
"""Each table after those it refers to."""


class BundledFile(BaseModel):
    """A file of the bundle and what proves that it is whole."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    bytes: int
    sha256: str


class BundledTable(BaseModel):
    """The rows of a table: how many, their columns with PostgreSQL's types, their files."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    rows: int
    columns: dict[str, str]
    csv: BundledFile
    parquet: BundledFile


class Manifest(BaseModel):
    """What a bundle holds. Equal rows make equal bundles, so that no date stands in it."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    format: Literal[1] = 1
    judge_gym: str
    migration: str
    sweep: str | None
    experiments: tuple[str, ...]
    simulated: bool
    csv: str = (
        "As PostgreSQL writes it, for imports: a spreadsheet takes texts that begin with = + - @ "
        "for formulas, so open the Parquet files instead."
    )
    tables: dict[str, BundledTable]


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
    if unknown := sorted(manifest.tables.keys() - TABLES.keys()):
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
