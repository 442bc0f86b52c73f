"""`judge-gym judge estimate`: what people would say of all texts, from labels of a part of them."""

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deployments.cli.json_output import json_output
from deployments.cli.options import (
    AsJson,
    Fields,
    JudgeFile,
    LabelFields,
    Labels,
    PlanOnly,
    RetryFailed,
    Yes,
)
from deployments.cli.output import console, marked, say_simulated, show_table
from judge_gym.writable import check_writable

if TYPE_CHECKING:
    from judge_gym.judges import AnyJudge
    from judge_gym.judges.correcting import Correction


def estimate(
    file: JudgeFile,
    items: Annotated[
        Path, typer.Option(help="All texts (JSONL or CSV), labelled or not.", show_default=False)
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
    from deployments.cli.estimates import agreed
    from deployments.cli.judge import judge_and_items, judged
    from judge_gym.answers.readability import too_few_readable
    from judge_gym.judges.calibrating.judging import Asked, readable_of
    from judge_gym.judges.correcting import correct
    from judge_gym.report.correction import correction_json, save_correction
    from judge_gym.settings import settings

    if next_to and next_to.exists():
        raise typer.BadParameter(f"{next_to} exists.", param_hint="--next")
    check_writable("--next", next_to)
    judge, read = judge_and_items(file, items, fields, labels, label_fields)
    asked = [Asked(judge, read.texts)]
    if not agreed(f"Estimate for {judge.name}", asked, plan_only=plan, yes=yes):
        return
    results = judged(judge, read.texts, retry_failed=retry_failed)
    if error := too_few_readable([readable_of(judge, results)]):
        raise error
    found = correct(judge, read, {one.item_key: [one] for one in results}, more=more)
    if next_to and found.chosen:
        _write_next(next_to, found)
    simulated = any(one.simulated for one in results)
    page = save_correction(judge, read, found, settings().reports_dir, simulated=simulated).path
    if as_json:
        json_output.give(correction_json(judge, read, found, simulated=simulated))
        return
    _show(judge, found, simulated=simulated)
    console.plain(f"Page: {page}")
    if next_to:
        console.plain(f"Texts to label next: {next_to if found.chosen else _NONE_LEFT}")
    if simulated:
        say_simulated()


_NONE_LEFT = "none is left without a label, so no file is written."


def _show(judge: "AnyJudge", found: "Correction", *, simulated: bool) -> None:
    from judge_gym.report.correction import (
        conclusions,
        correction_table,
        expectations,
        next_table,
        sentences,
    )

    table = correction_table(judge, found)
    cells = [row.cells for row in table.rows]
    show_table(marked(table.title, simulated=simulated), table.columns, cells)
    for sentence in (*conclusions(found), *sentences(found)):
        console.plain(sentence)
    if (labels := next_table(found)) is not None:
        show_table(labels.title, labels.columns, [row.cells for row in labels.rows])
    for sentence in expectations(found):
        console.plain(sentence)


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
