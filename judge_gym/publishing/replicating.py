"""Recomputing the figures of a package from its bundle, in a clean place, without a network."""

import csv
import logging
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import isclose
from pathlib import Path
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from judge_gym.analysis.running import analyse
from judge_gym.errors import StoreError
from judge_gym.formats import text_of_cell
from judge_gym.publishing.manifest import PackageManifest, damages, read_package
from judge_gym.report.files import plan_kinds
from judge_gym.seeds import canonical_json
from judge_gym.settings import Settings
from judge_gym.store.bundle_reading import import_bundle
from judge_gym.store.engine import connect
from judge_gym.store.results import (
    EXPLORATORY,
    FindingRow,
    ResultRow,
    load_findings,
    load_results,
)

BUNDLE = Path("bundle")
FIGURES = Path("figures") / "figures.parquet"
FINDINGS = Path("figures") / "findings.parquet"
RELATIVE, ABSOLUTE = 1e-6, 1e-9
"""Two numbers agree within 1e-6 of the larger, or 1e-9."""
NUMBERS = ("estimate", "lower", "upper", "floor", "p", "p_adjusted", "n", "n_items")
DECISIONS = ("estimate", "lower", "upper", "p_adjusted", "conclusion", "confirmatory", "planned")

Key = tuple[str, str]
"""Metric or hypothesis, and the key of its scope."""


@dataclass(frozen=True)
class Difference:
    """A value that is another one when it is recomputed."""

    name: str
    """The metric or hypothesis."""
    scope: str
    field: str
    """The value's name, or `row` for a figure that one side lacks."""
    published: Any
    recomputed: Any


@dataclass(frozen=True)
class PackageCheck:
    """What the check of a package found."""

    manifest: PackageManifest
    damaged: Mapping[str, str]
    """File → `missing`, `changed` or `added`."""
    figures: int
    findings: int
    differences: Sequence[Difference]
    recomputed: bool = True
    """False where a file that the figures need is not as published."""

    @property
    def agrees(self) -> bool:
        """Whether every file is as published and every value was found again."""
        return not self.damaged and not self.differences and self.recomputed


@contextmanager
def clean_place() -> Iterator[Engine]:
    """Yield an engine on an empty database of its own, which is deleted afterwards."""
    from judge_gym.store import embedded

    log = logging.getLogger(embedded.__name__)
    with tempfile.TemporaryDirectory(prefix="judge-gym-") as folder:
        place, level = Path(folder), log.level
        try:
            log.setLevel(logging.ERROR)  # nobody has to know of a database that does not last
            engine = connect(Settings(data_dir=place, database_url=None))
            log.setLevel(level)
            try:
                yield engine
            finally:
                engine.dispose()
        finally:
            log.setLevel(level)
            embedded.remove(place / "postgres")


def replicate(folder: Path) -> PackageCheck:
    """Check a package's digests and recompute its figures and findings.

    They are not recomputed if a file of the bundle or of the figures is not as published. Each
    CSV file is compared with its Parquet file, too, so that both forms are checked. Raises
    `StoreError` for a folder that is no package, or whose bundle cannot be read.
    """
    manifest = read_package(folder)
    damaged = damages(folder, manifest)
    needed = (f"{BUNDLE}/", f"{FIGURES.parent}/")
    if any(name.startswith(needed) for name in damaged):
        return PackageCheck(manifest, damaged, 0, 0, (), recomputed=False)
    published = read_rows(folder / FIGURES), read_rows(folder / FINDINGS)
    with clean_place() as engine:
        import_bundle(engine, folder / BUNDLE)
        differences = recomputed(engine, manifest.sweep, *published)
    for file, rows in zip((FIGURES, FINDINGS), published, strict=True):
        found = {(one.name, one.scope) for one in differences}
        other = _csv_differences(folder / file.with_suffix(".csv"), rows)
        differences += [one for one in other if (one.name, one.scope) not in found]
    return PackageCheck(manifest, damaged, len(published[0]), len(published[1]), differences)


def recomputed(
    engine: Engine,
    sweep: str,
    figures: Mapping[Key, Mapping[str, Any]],
    findings: Mapping[Key, Mapping[str, Any]],
) -> list[Difference]:
    """Analyse an imported sweep again; returns where it differs from these rows."""
    run = analyse(engine, sweep)
    with Session(engine) as session:
        results, decided = load_results(session, run), load_findings(session, run)
    return [
        *_compared(figures, by_key(figure_rows(results, decided)), (*NUMBERS, "plan")),
        *_compared(findings, by_key(finding_rows(decided)), DECISIONS),
    ]


def figure_rows(rows: Sequence[ResultRow], findings: Sequence[FindingRow]) -> list[dict[str, Any]]:
    """Return figures as plain rows, in the order of the analysis."""
    kinds = plan_kinds(findings)
    return [
        {"name": row.metric, "scope": row.scope_key}
        | {"plan": kinds.get((row.metric, row.scope_key), EXPLORATORY)}
        | {name: getattr(row, name) for name in NUMBERS}
        | {"unit": row.unit, "method": row.method, "reason": row.reason}
        | {"simulated": row.simulated, "imported": row.imported}
        for row in rows
    ]


def finding_rows(rows: Sequence[FindingRow]) -> list[dict[str, Any]]:
    """Return findings as plain rows, in the order of the analysis."""
    fields = ("statement", "estimand", "direction", "margin", "reference", "reason", "simulated")
    return [
        {"name": row.hypothesis, "scope": canonical_json(row.scope)}
        | {name: getattr(row, name) for name in (*DECISIONS, *fields)}
        for row in rows
    ]


def by_key(rows: Sequence[Mapping[str, Any]]) -> dict[Key, Mapping[str, Any]]:
    """Return rows by metric or hypothesis and scope."""
    return {(row["name"], row["scope"]): row for row in rows}


def read_rows(file: Path) -> dict[Key, Mapping[str, Any]]:
    """Return the rows of a package's Parquet file; raises `StoreError` if it cannot be read."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        return by_key(parquet.read_table(file).to_pylist())
    except (OSError, pa.ArrowInvalid, KeyError) as error:
        raise StoreError(
            f"{file} cannot be read: {str(error).splitlines()[0]}.", "Get the package again."
        ) from None


def _csv_differences(file: Path, rows: Mapping[Key, Mapping[str, Any]]) -> Iterator[Difference]:
    """Yield where a CSV file has other texts than these rows of its Parquet file."""
    try:
        with file.open(newline="", encoding="utf-8") as text:
            published = by_key(
                [
                    {name: text_of_cell(value) for name, value in row.items() if name}
                    for row in csv.DictReader(text, restval="")
                ]
            )
    except (OSError, UnicodeDecodeError, csv.Error, KeyError) as error:
        raise StoreError(f"{file} cannot be read: {error}.", "Get the package again.") from None
    for key in dict.fromkeys((*published, *rows)):
        if key not in published or key not in rows:
            yield Difference(*key, "row", key in published, key in rows)
            continue
        for field, value in rows[key].items():
            given = published[key].get(field)
            if given != ("" if value is None else str(value)):
                yield Difference(*key, f"{field} in {file.name}", given, value)


def _compared(
    published: Mapping[Key, Mapping[str, Any]],
    again: Mapping[Key, Mapping[str, Any]],
    fields: Sequence[str],
) -> Iterator[Difference]:
    for key in dict.fromkeys((*published, *again)):
        if key not in published or key not in again:
            yield Difference(*key, "row", key in published, key in again)
            continue
        for field in fields:
            before, now = published[key][field], again[key][field]
            if not _same(before, now):
                yield Difference(*key, field, before, now)


def _same(first: Any, second: Any) -> bool:
    if isinstance(first, float) and isinstance(second, float | int):
        return isclose(first, second, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return bool(first == second)
