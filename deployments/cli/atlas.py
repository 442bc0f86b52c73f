"""`judge-gym analyse atlas`: published claims about judges, recomputed from recorded answers."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deployments.cli.options import AsJson, Everything
from deployments.cli.output import console
from judge_gym.errors import JudgeGymError
from judge_gym.writable import check_writable

if TYPE_CHECKING:
    from judge_gym.analysis.atlas import ClaimsFolder, Rows
    from judge_gym.report.atlas import StudyShown

Folders = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[FOLDER]...",
        help="Folders of studies, with a claims.yaml each.",
        show_default="the shipped studies",
    ),
]
Beside = Annotated[
    Path, typer.Option(help="The folder of data that may not be shipped, where you have it.")
]
Picture = Annotated[Path | None, typer.Option(help="Draw the claims into this SVG file too.")]
BESIDE = Path("../shared/data")
_LITTLE = 20_000
"""Bytes of data that are read in this process."""


class AtlasError(JudgeGymError):
    """A published value is not what its data gives, and no reason is stated."""


def atlas(
    folders: Folders = None,
    beside: Beside = BESIDE,
    picture: Picture = None,
    everything: Everything = False,
    as_json: AsJson = False,
) -> None:
    """Recompute published claims about judges: one page, no key, no database.

    A row for each claim: published, recomputed, difference, and the specifications that it holds
    under. Data that may not be shipped is used where it is present. Exits with 1 where a value
    differs by more than rounding and no reason is stated.
    """
    from deployments.cli.json_output import json_output
    from judge_gym.report.atlas import (
        failures,
        opening,
        save_atlas,
        save_picture,
        terminal_table,
        whole_table,
    )
    from judge_gym.report.table import TerminalTable
    from judge_gym.settings import settings

    check_writable("--picture", picture)
    studies = shown_studies(folders or [], beside, settings().reports_dir)
    page = save_atlas(studies, settings().reports_dir)
    if picture:
        save_picture(studies, picture)
    if as_json:
        json_output.give(_as_json(studies, page))
    else:
        console.print(opening(studies), markup=False)
        console.print()
        table = whole_table(studies, links=False) if everything else terminal_table(studies)
        console.print(TerminalTable(table))
        console.plain(f"Page: {page.resolve()}")
    if wrong := failures(studies):
        raise AtlasError(
            " ".join(wrong),
            "Correct the published value, or say why it differs as `differs` of the claim.",
        )


def shown_studies(
    folders: list[Path], beside: Path, reports: Path | None = None
) -> list["StudyShown"]:
    """Return the studies of these folders, or the shipped ones, with what their data gives.

    Each reading is computed in a process of its own, and with `reports` the page of the audit is
    written there. Raises `ConfigError` for what cannot be used.
    """
    from deployments.cli.power import on_every_core
    from judge_gym.analysis.atlas import AS_MAPPED, found_claims, load_study
    from judge_gym.report.atlas import StudyShown
    from judge_gym.shipped import own_or_shipped

    studies = [load_study(own_or_shipped(folder)) for folder in folders or shipped_studies()]
    tasks = [
        (study, reading, beside, reports if reading == AS_MAPPED else None)
        for study in studies
        if study.data(beside).exists()
        for reading in study.readings
    ]
    # The longest first, so that the last process does not work alone.
    tasks.sort(key=lambda task: -task[0].weight(beside))
    # A process takes a second to start, which is more than little data takes.
    if sum(task[0].weight(beside) for task in tasks) < _LITTLE:
        computed = [_computed(task) for task in tasks]
    else:
        computed = on_every_core(_computed, tasks, "Recomputing claims")
    by_study: dict[Path, dict[str, Any]] = {study.folder: {} for study in studies}
    pages: dict[Path, Path | None] = {}
    for (study, reading, _, _), (rows, page) in zip(tasks, computed, strict=True):
        by_study[study.folder][reading] = rows
        if reading == AS_MAPPED:
            pages[study.folder] = page
    return [
        StudyShown(
            study.claims,
            found_claims(study, by_study[study.folder] or None, beside),
            pages.get(study.folder),
        )
        for study in studies
    ]


def shipped_studies() -> list[Path]:
    """Return the folders of shipped studies that have claims, by name."""
    from judge_gym.recorded.claims import CLAIMS
    from judge_gym.shipped import DEPLOYMENTS

    return sorted(file.parent for file in (DEPLOYMENTS / "studies").glob(f"*/{CLAIMS}"))


def _computed(task: tuple["ClaimsFolder", str, Path, Path | None]) -> tuple["Rows", Path | None]:
    """Return the figures of a reading, and the page of its audit where a folder is given."""
    from judge_gym.analysis.atlas import study_rows
    from judge_gym.report.page import save_report
    from judge_gym.report.recorded import audit_report

    study, reading, beside, reports = task
    rows, audit = study_rows(study, reading, beside)
    if audit is None or reports is None:
        return rows, None
    found, recorded = audit
    return rows, save_report(audit_report(found, recorded), reports, "audit")


def _as_json(studies: list["StudyShown"], page: Path) -> dict[str, Any]:
    from judge_gym.report.atlas import as_json, opening

    return {
        "sentence": opening(studies),
        "claims": as_json(studies),
        "page": str(page.resolve()),
    }
