"""`judge-gym export` and `judge-gym import`: experiments from one database into another."""

from pathlib import Path
from typing import Annotated

import typer

from deployments.cli.output import command, console, show_table


def export_bundle(
    to: Annotated[Path, typer.Option(help="A new folder.", show_default=False)],
    sweep: Annotated[
        str | None, typer.Argument(help="The sweep's name.", show_default=False)
    ] = None,
    experiment: Annotated[
        list[str] | None, typer.Option(help="A tag; may be repeated.", show_default=False)
    ] = None,
) -> None:
    """Write a sweep, or single experiments, with all that belongs to them: CSV and Parquet."""
    from judge_gym.errors import ConfigError
    from judge_gym.settings import settings
    from judge_gym.store.engine import connect
    from judge_gym.store.exporting import export

    if (sweep is None) == (not experiment):
        raise ConfigError("Name either a sweep or experiments, as --experiment TAG.")
    engine = connect(settings())
    manifest = export(engine, to, sweep=sweep, tags=experiment or [])
    engine.dispose()
    _show({name: table.rows for name, table in manifest.tables.items()}, "rows")
    marked = " SIMULATED: no finding about real models." if manifest.simulated else ""
    console.print(f"Experiments in {to}: {len(manifest.experiments)}.{marked}", markup=False)
    console.print(f"Elsewhere: {command()} import {to}", markup=False)


def import_bundle(
    folder: Annotated[Path, typer.Argument(help="A bundle's folder.", show_default=False)],
) -> None:
    """Read a bundle into this database. What is here already stays; again changes nothing."""
    from judge_gym.settings import settings
    from judge_gym.store.engine import connect
    from judge_gym.store.importing import import_bundle as read_bundle

    engine = connect(settings())
    manifest, new = read_bundle(engine, folder)
    engine.dispose()
    _show(new, "new rows")
    marked = " SIMULATED: no finding about real models." if manifest.simulated else ""
    console.print(f"Experiments here now: {len(manifest.experiments)}.{marked}", markup=False)


def _show(rows: dict[str, int], heading: str) -> None:
    show_table("Bundle", ("table", heading), rows.items())
