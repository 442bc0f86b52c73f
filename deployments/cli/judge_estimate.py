"""`judge-gym judge estimate`: what people would say of all texts, from labels of a part of them."""

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deployments.cli.options import (
    AsJson,
    Fields,
    JudgeFile,
    LabelFields,
    Labels,
    PlanOnly,
    RetryFailed,
    Yes,
    fields_of,
    label_fields_of,
)
from deployments.cli.output import console
from deployments.cli.study import StudyCommand
from judge_gym.writable import check_writable

if TYPE_CHECKING:
    from judge_gym.judges.correcting import Correction


def estimate(
    file: JudgeFile,
    items: Annotated[
        Path,
        typer.Option(
            help="All texts (CSV, Excel, JSON, JSONL), labelled or not.", show_default=False
        ),
    ],
    labels: Labels = None,
    more: Annotated[int, typer.Option(help="Labels to plan next.", min=1, max=10_000)] = 50,
    next_to: Annotated[
        Path | None,
        typer.Option(
            "--next", help="Write the texts to label next to this CSV file.", show_default="none"
        ),
    ] = None,
    retry_failed: RetryFailed = False,
    as_json: AsJson = False,
    fields: Fields = None,
    label_fields: LabelFields = None,
    plan: PlanOnly = False,
    yes: Yes = False,
) -> None:
    """Estimate people's mean over all texts from labels of a random part.

    The judge scores every text; labels correct its mean, and the difference of two systems
    (column `system` of the items). Stored judgements are reused. At a terminal it asks before it
    makes calls to a real model.
    """
    from judge_gym.studies import estimate as studies

    if next_to and next_to.exists():
        raise typer.BadParameter(f"{next_to} exists.", param_hint="--next")
    check_writable("--next", next_to)
    columns = fields_of(items, fields), label_fields_of(labels, label_fields)
    study = studies.estimate(file, items, labels, more, *columns)
    command = StudyCommand([file], plan, retry_failed, as_json, yes)
    if (ended := command.run(study)) is None:
        return
    found = ended.report.of
    if next_to:
        if found.chosen:
            _write_next(next_to, found)
        console.plain(f"Texts to label next: {next_to if found.chosen else _NONE_LEFT}")
    ended.exit()


_NONE_LEFT = "none is left without a label, so no file is written."


def _write_next(path: Path, found: "Correction") -> None:
    """Write rows of a file of labels in which only who labelled and the label are missing."""
    from judge_gym.formats import cell

    draw = "random" if found.plan is None else "gain"
    with path.open("x", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        texts = ("text", *(("second",) if any(item.second for item, _ in found.chosen) else ()))
        writer.writerow(("item", "annotator", "label", "item_key", "draw", "probability", *texts))
        writer.writerows(
            (
                *(cell(item.id), "", "", item.key, draw, f"{probability:.4g}"),
                *(cell(getattr(item, name) or "") for name in texts),
            )
            for item, probability in found.chosen
        )
