"""`judge-gym judge estimate`: what people would say of all texts, from labels of a part of them."""

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deployments.cli.json_output import json_output
from deployments.cli.options import (
    AsJson,
    Fields,
    LabelFields,
    Labels,
    PlanOnly,
    RetryFailed,
    Yes,
)
from deployments.cli.output import console, marked, say_simulated, show_table

if TYPE_CHECKING:
    from judge_gym.judges import AnyJudge
    from judge_gym.judges.correcting import Corrected, Correction
    from judge_gym.metrics.estimate import Estimate

_WAYS = ("judge", "labels", "corrected")


def estimate(
    file: Annotated[Path, typer.Argument(help="The judge file (YAML).", show_default=False)],
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

    if next_to and next_to.exists():
        raise typer.BadParameter(f"{next_to} exists.", param_hint="--next")
    judge, read = judge_and_items(file, items, fields, labels, label_fields)
    asked = [Asked(judge, read.texts)]
    if not agreed(f"Estimate for {judge.name}", asked, plan_only=plan, yes=yes):
        return
    results = judged(judge, read.texts, retry_failed=retry_failed)
    if error := too_few_readable([readable_of(judge, results)]):
        raise error
    found = correct(judge, read, {one.item_key: [one] for one in results}, more=more)
    if next_to:
        _write_next(next_to, found)
    simulated = any(one.simulated for one in results)
    if as_json:
        json_output.give(_told(judge, found, simulated=simulated))
        return
    _show(judge, found, simulated=simulated)
    if next_to:
        console.print(f"Texts to label next: {next_to}", markup=False, soft_wrap=True)
    if simulated:
        say_simulated()


def _show(judge: "AnyJudge", found: "Correction", *, simulated: bool) -> None:
    first = judge.verdict_of(1.0)
    of = f"Share of {first}" if first and judge.score_range == (0.0, 1.0) else "Mean score"
    show_table(
        marked(f"{of} over all texts, by people ({judge.name})", simulated=simulated),
        ("of", "rows", "labelled", "judge alone", "labels alone", "corrected"),
        [
            (row.about, row.rows, row.labelled,
             *(_figure(getattr(row, way)) for way in _WAYS))
            for row in found.rows
        ],
    )  # fmt: skip
    console.print(
        "95% intervals. Every row counts, also where texts repeat. Judge alone: the judge's own "
        "mean, not people's. Corrected: the judge's scores of all rows, moved by its errors on the "
        "labelled ones.",
        soft_wrap=True,
    )
    if found.without_score:
        console.print(
            f"Without a score of the judge: {found.without_score} of the rows. Its own mean leaves "
            "them out; people's mean does not.",
            soft_wrap=True,
        )
    if found.plan is None:
        return
    show_table(
        "Label next",
        ("judge's score near", "texts without a label", "to label"),
        [
            (f"{middle:.4g}", found.groups[middle], min(count, found.groups[middle]))
            for middle, count in found.plan.rows
            if found.groups[middle]
        ],
    )
    total = int(found.plan.counts.sum())
    console.print(
        f"Expected half-width of the 95% interval, by groups of scores: {found.plan.now:.2g} now, "
        f"{found.plan.at_random:.2g} with {total} more labels at random, "
        f"{found.plan.allocated:.2g} with {total} more as planned.",
        markup=False,
        soft_wrap=True,
    )
    if not found.by_gain:
        console.print(
            "The labels have to be of a random part of the texts. Labels as planned are random "
            "only within a group of scores: the estimate is then by groups.",
            markup=False,
            soft_wrap=True,
        )


def _figure(estimate: "Estimate") -> str:
    from judge_gym.formats import figure

    return figure(estimate) if estimate.lower is not None else estimate.reason


def _told(judge: "AnyJudge", found: "Correction", *, simulated: bool) -> dict[str, Any]:
    plan = found.plan
    return {
        "judge": judge.name,
        "simulated": simulated,
        "by_gain": found.by_gain,
        "without_score": found.without_score,
        "figures": [_row(row) for row in found.rows],
        "next": [
            {"item": item.id, "probability": probability} for item, probability in found.chosen
        ],
        "half_width": None
        if plan is None
        else {"now": plan.now, "at_random": plan.at_random, "as_planned": plan.allocated},
    }


def _row(row: "Corrected") -> dict[str, Any]:
    values: dict[str, Any] = {"about": row.about, "rows": row.rows, "labelled": row.labelled}
    for way in _WAYS:
        one: Estimate = getattr(row, way)
        values[way] = {
            "estimate": one.estimate, "lower": one.lower, "upper": one.upper,
            "because": one.because, "method": one.method,
        }  # fmt: skip
    return values


def _write_next(path: Path, found: "Correction") -> None:
    """Write rows of a file of labels in which only who labelled and the label are missing."""
    from judge_gym.formats import cell

    with path.open("x", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("item", "annotator", "label", "item_key", "draw", "probability", "text"))
        writer.writerows(
            (cell(item.id), "", "", item.key, "gain", f"{probability:.4g}", cell(item.text))
            for item, probability in found.chosen
        )
