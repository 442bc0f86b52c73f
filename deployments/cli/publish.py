"""`judge-gym data publish` and `data replicate`: replication packages of sweeps."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deployments.cli.environment import database_engine
from deployments.cli.json_output import json_output
from deployments.cli.options import AsJson, SweepName, is_sweep_file
from deployments.cli.output import command, console, say_progress, simulated_caveat
from judge_gym.counting import counted

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from judge_gym.publishing.replicating import Difference, PackageCheck

MOST_LINES = 40
_OTHER_LINES = 6
"""Lines that `data replicate` prints beside files and differences, at most."""


def publish(
    sweep: SweepName,
    to: Annotated[Path, typer.Option(help="A new folder.", show_default=False)],
    author: Annotated[
        list[str] | None,
        typer.Option(help="An author for CITATION.cff; may be repeated.", show_default=False),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an older package in the folder.")
    ] = False,
) -> None:
    """Publish a sweep as a replication package.

    Texts of windows with `shareable: false` are replaced by digests. The figures are recomputed
    from the package before it is put in place.
    """
    from judge_gym.publishing.package import publish as write_package

    with database_engine() as engine:
        done = write_package(
            engine,
            _held_back(engine, Path(sweep)) if is_sweep_file(sweep) else sweep,
            to,
            authors=author or (),
            overwrite=overwrite,
            secrets=_secrets(),
            say=say_progress,
        )
    manifest = done.manifest
    caveat = simulated_caveat(manifest.simulated)
    console.plain(
        f"Published {counted(manifest.figures, 'figure')} in "
        f"{counted(len(manifest.files), 'file')} and their manifest in {to}.{caveat}"
    )
    console.plain(
        f"Texts included of: {', '.join(done.included) or 'no window'}. "
        f"Left out: {', '.join(manifest.withheld) or 'none'}."
    )
    for missing in done.missing:
        console.warn(f"not in the package: {missing}.", soft_wrap=True)
    console.plain(f"To check it: {command()} data replicate {to}")


def _held_back(engine: "Engine", file: Path) -> str:
    """Return the name of a file's sweep, whose windows are as shareable as the file says now."""
    from sqlalchemy.orm import Session

    from judge_gym.design.sweep import load_sweep
    from judge_gym.store.windows import hold_back

    sweep = load_sweep(file)
    with Session(engine) as session, session.begin():
        hold_back(session, sweep.windows.values())
    return sweep.name


def _secrets() -> dict[str, str]:
    """Return the secrets that this process knows, by what an error calls them."""
    from sqlalchemy import make_url

    from judge_gym.llm.providers import load_providers
    from judge_gym.settings import settings

    names = {
        provider.key_env
        for provider in load_providers(settings().providers_file).by_name.values()
        if provider.key_env
    }
    secrets = {f"the value of {name}": os.environ.get(name, "") for name in names}
    if given := settings().database_url:
        secrets["the database's password"] = make_url(given.get_secret_value()).password or ""
    if token := settings().panel_token:
        secrets["the setting panel_token"] = token.get_secret_value()
    return secrets


def replicate(
    folder: Annotated[Path, typer.Argument(help="A replication package.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Check a replication package and recompute its figures, offline.

    Uses a temporary database. Exits with 1 if a file or a figure differs.
    """
    from judge_gym.publishing.replicating import replicate as recompute

    found = recompute(folder)
    if as_json:
        json_output.give(_as_json(found))
    else:
        for line in _lines(found):
            console.plain(line)
    if not found.agrees:
        raise typer.Exit(1)


def _as_json(found: "PackageCheck") -> dict[str, object]:
    from judge_gym.publishing.replicating import ABSOLUTE, RELATIVE

    return {
        "sweep": found.manifest.sweep,
        "published_with": found.manifest.judge_gym,
        "simulated": found.manifest.simulated,
        "tolerance": {"relative": RELATIVE, "absolute": ABSOLUTE},
        "files": len(found.manifest.files),
        "damaged_files": dict(found.damaged),
        "figures": found.figures,
        "findings": found.findings,
        "recomputed": found.recomputed,
        "differences": [asdict(difference) for difference in found.differences],
        "agrees": found.agrees,
    }


def _lines(found: "PackageCheck") -> list[str]:
    """Return at most `MOST_LINES` lines that say what differs."""
    from importlib.metadata import version

    from judge_gym.publishing.replicating import ABSOLUTE, RELATIVE

    manifest = found.manifest
    caveat = simulated_caveat(manifest.simulated)
    lines = [f"Package of the sweep {manifest.sweep}, judge-gym {manifest.judge_gym}.{caveat}"]
    if (here := version("judge-gym")) != manifest.judge_gym:
        lines.append(f"Warning: recomputed with judge-gym {here}, another version.")
    room = MOST_LINES - _OTHER_LINES
    damaged = [f"  {state}: {name}" for name, state in found.damaged.items()]
    files = counted(len(manifest.files), "file")
    lines.append(
        f"{files}: {counted(len(damaged), 'file')} not as published"
        if damaged
        else f"{files}: every digest agrees"
    )
    if not found.recomputed:
        why = "Figures were not recomputed: what they are computed from is not as published."
        return [*lines, *_shortened(damaged, room), why]
    lines += _shortened(damaged, room // 2)
    rows = [_row(difference) for difference in found.differences]
    recomputed = (
        f"{counted(found.figures, 'figure')} and {counted(found.findings, 'finding')} recomputed"
    )
    within = f"within {RELATIVE:g} of the value, or {ABSOLUTE:g}"
    lines.append(
        f"{recomputed}: {counted(len(rows), 'value')} beyond the tolerance ({within})"
        if rows
        else f"{recomputed}: all agree {within}"
    )
    lines += _shortened(rows, MOST_LINES - len(lines))
    return lines


def _row(difference: "Difference") -> str:
    what = f"  {difference.name} {difference.scope}"
    if difference.field == "row":
        where = "only published" if difference.published else "only recomputed"
        return f"{what}: {where}"
    return f"{what}, {difference.field}: {difference.published} became {difference.recomputed}"


def _shortened(lines: list[str], most: int) -> list[str]:
    if len(lines) <= most:
        return lines
    return [*lines[: most - 1], f"  and {len(lines) - most + 1} more: add --json"]
