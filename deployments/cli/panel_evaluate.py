"""`judge-gym panel evaluate`: a panel on documents with known scores."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deployments.cli.json_output import json_output
from deployments.cli.options import AsJson, PlanOnly
from deployments.cli.output import (
    console,
    errors,
    marked,
    rerun_later,
    say_simulated,
    show_table,
)
from deployments.cli.panel import show_cost
from judge_gym.counting import counted

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from judge_gym.panel import Panel
    from judge_gym.panel.evaluating.evaluation import Evaluation
    from judge_gym.panel.evaluating.labelled import LabelledDocument

_ERROR_PRICE = 0.1
"""As `evaluation.ERROR_PRICE`, which takes numpy to import."""
_SHOWN = 5


def evaluate(
    panel: Annotated[Path, typer.Argument(help="The panel file (YAML).", show_default=False)],
    corpus: Annotated[
        Path,
        typer.Option(
            "--corpus",
            "--items",
            help="Documents with their true scores (JSONL), as in deployments/panels.",
            show_default=False,
        ),
    ],
    error_price: Annotated[
        float,
        typer.Option(
            help="US dollars that one point of error in one document's score costs you: what "
            "asking one more rater is weighed against.",
            min=0,
        ),
    ] = _ERROR_PRICE,
    plan: PlanOnly = False,
    as_json: AsJson = False,
) -> None:
    """Compare a panel's scores with the known scores of documents.

    Evaluates raters, pools and the arbiter. Stored reviews are reused; failed ones are retried.
    Writes a page and tables.
    """
    import asyncio

    from deployments.cli.environment import prepare_environment
    from judge_gym.answers.readability import too_few_readable
    from judge_gym.panel import load_panel
    from judge_gym.panel.evaluating.labelled import read_labelled
    from judge_gym.panel.state import answers_of

    # Errors in files are raised before a server is started.
    loaded = load_panel(panel)
    labelled = read_labelled(corpus, loaded.rubric.scale)
    prepare_environment()
    if plan:
        asyncio.run(_show_plan(loaded, labelled))
        return
    with _simulator(loaded, labelled):
        evaluation, page = asyncio.run(_evaluated(loaded, labelled, error_price))
    if as_json:
        _print_json(evaluation)
    else:
        show(evaluation)
        show_cost(evaluation.call_ids)
        console.plain(f"Page: {page.resolve()}")
    if evaluation.reviewed.stopped:
        raise evaluation.reviewed.stopped
    if error := too_few_readable(answers_of(filter(None, evaluation.reviewed.states))):
        raise error


async def _show_plan(panel: "Panel", labelled: "Sequence[LabelledDocument]") -> None:
    from deployments.cli.estimates import RETRIED_ONCE, show_uses
    from judge_gym.panel.evaluating.planning import plan_reviews, review_warnings
    from judge_gym.runtime import runtime

    async with runtime() as current:
        uses = plan_reviews(current, panel, labelled)
        warnings = review_warnings(current, panel, uses)
    title = f"Estimate for panel {panel.name}, {counted(len(labelled), 'document')}"
    show_uses(title, uses, warnings)
    console.print(RETRIED_ONCE)


async def _evaluated(
    panel: "Panel", labelled: "Sequence[LabelledDocument]", error_price: float
) -> "tuple[Evaluation, Path]":
    from judge_gym.panel.evaluating.evaluation import evaluate as evaluated
    from judge_gym.panel.evaluating.reviewing import prices_of, review_all
    from judge_gym.report.panel import save_panel_evaluation
    from judge_gym.runtime import runtime
    from judge_gym.writable import check_reports

    async with runtime() as current:
        check_reports(current.settings.reports_dir)
        documents = counted(len(labelled), "document")
        with errors.status(f"Reviewing {documents}.") as status:
            reviewed = await review_all(
                current,
                panel,
                labelled,
                lambda ended: status.update(f"Reviewed {ended} of {documents}."),
            )
        if reviewed.waiting:
            wait = f"{counted(reviewed.waiting, 'document')} of panel {panel.name} wait in batches"
            rerun_later(f"{wait}. Rerun the command when the batches have ended.")
        calls = [call for state in reviewed.states if state for call in state.call_ids]
        evaluation = evaluated(panel, labelled, reviewed, prices_of(current, calls), error_price)
        folder = current.settings.reports_dir
        return evaluation, save_panel_evaluation(evaluation, folder)


def _simulator(
    panel: "Panel", labelled: "Sequence[LabelledDocument]"
) -> "AbstractContextManager[None]":
    """Start a simulator for simulated raters, which know the true scores and err as planted.

    An item without a true score has that of its document.
    """
    from contextlib import nullcontext

    from deployments.cli.environment import knowing_simulator
    from judge_gym.model_names import is_simulated_model

    if not any(map(is_simulated_model, panel.models)):
        return nullcontext()
    scale = panel.rubric.scale
    worths = {
        item.text: ((document.truth if item.truth is None else item.truth) - scale.lowest)
        / (scale.highest - scale.lowest)
        for document in labelled
        for item in document.items
    }
    return knowing_simulator(f"panel-{panel.name}", worths)


def show(evaluation: "Evaluation") -> None:
    """Print the figures and the documents that are in none of them."""
    _show_raters(evaluation)
    _show_ways(evaluation)
    _show_together(evaluation)
    _show_policies(evaluation)
    _show_ended(evaluation)
    if evaluation.simulated:
        say_simulated()
    if evaluation.made_up:
        console.print("The true scores follow a rule: no person judged these documents.")


def _show_raters(evaluation: "Evaluation") -> None:
    raters = zip(
        evaluation.panel.names,
        evaluation.panel.raters,
        evaluation.whole.scored.families,
        strict=True,
    )
    show_table(
        "Raters",
        ("who", "looks at", "model", "family"),
        [(name, rater.label, rater.model, family) for name, rater, family in raters],
    )


def _show_ways(evaluation: "Evaluation") -> None:
    from judge_gym.formats import dollars, number
    from judge_gym.report.panel import WHOLE, kinds

    for kind, some in kinds(evaluation):
        title = (
            f"Panel {evaluation.panel.name}, {kind}: {counted(some.scored.n_documents, 'document')}"
        )
        priced = kind == WHOLE
        _show_figures(
            marked(title, simulated=evaluation.simulated),
            ("who decides", "error", "bias", "exactly right", "κ", "better by", *["USD"] * priced),
            [
                (
                    way.name,
                    way.error,
                    number(way.bias.estimate),
                    *(way.accuracy, way.kappa, way.gained),
                    *([dollars(evaluation.costs[way.name])] if priced else []),
                )
                for way in some.ways
            ],
        )
    console.print(
        "Points of error and bias; better than the rater that errs least here. USD a document, "
        f"where simulated as the providers file prices it.\n{evaluation.answer}\n",
        markup=False,
    )


def _show_together(evaluation: "Evaluation") -> None:
    from judge_gym.report.panel import bias_note, kinds

    parts = kinds(evaluation)
    _show_figures(
        "Errors that go together (correlation)",
        ("raters", "families", *(kind for kind, _ in parts)),
        [
            (
                " and ".join(pair.raters),
                "one" if pair.same_family else "two",
                *(some.pairs[index].correlation for _, some in parts),
            )
            for index, pair in enumerate(evaluation.whole.pairs)
        ]
        + [
            (name, "", *(some.votes[index] for _, some in parts))
            for index, name in enumerate(("all raters: mean", "all raters: effective votes"))
        ],
    )
    _show_figures(
        "What a second family adds over a second persona, in points of error",
        ("scores", "of", "with its own family", "with another", "less by"),
        [
            (bias_note(comparison), kind, comparison.persona, comparison.family, comparison.gained)
            for kind, some in parts
            for comparison in some.second_family
        ],
    )


def _show_policies(evaluation: "Evaluation") -> None:
    from judge_gym.formats import dollars, figure

    _show_figures(
        f"Asking one more only where it pays (a point of error costs "
        f"{dollars(evaluation.error_price)} USD)",
        ("who is asked", "reviews saved", "money saved", "error", "more than of all", "USD in all"),
        [
            (
                policy.name,
                *(policy.saved_reviews, policy.saved_cost, policy.error, policy.loss),
                figure(policy.total, 3),
            )
            for policy in evaluation.policies
        ],
    )
    if evaluation.least:
        console.plain(f"{evaluation.least}\n")


def _show_figures(title: str, columns: "Sequence[str]", rows: Sequence[Sequence[object]]) -> None:
    """Print a table of figures, and below it why some are missing, each reason once."""
    from judge_gym.formats import figure
    from judge_gym.metrics.estimate import Estimate

    show_table(
        title,
        columns,
        [[figure(cell) if isinstance(cell, Estimate) else cell for cell in row] for row in rows],
    )
    reasons: dict[str, list[str]] = {}
    for row in rows:
        missing = (
            cell.reason for cell in row if isinstance(cell, Estimate) and cell.estimate is None
        )
        for reason in dict.fromkeys(missing):
            reasons.setdefault(reason, []).append(str(row[0]))
    for reason, names in reasons.items():
        text = f"{'; '.join(dict.fromkeys(names))}: {reason}."
        console.plain(text)
    if reasons:
        console.print()


def _show_ended(evaluation: "Evaluation") -> None:
    from judge_gym.report.panel import unseen_note

    left_out = evaluation.left_out
    text = (
        f"{len(evaluation.complete)} of {len(evaluation.labelled)} documents are in these figures"
    )
    console.print(f"{text}; {len(left_out)} are in none." if left_out else f"{text}.")
    if evaluation.unseen:
        console.print(f"{unseen_note(evaluation)}.")
    for name, why in left_out[:_SHOWN]:
        console.plain(f"{name}: {why}")


def _print_json(evaluation: "Evaluation") -> None:
    from judge_gym.report.panel import figure_rows, score_rows

    values = {
        "panel": evaluation.panel.name,
        "documents": len(evaluation.labelled),
        "left_out": dict(evaluation.left_out),
        "unseen_item_scores": evaluation.unseen,
        "simulated": evaluation.simulated,
        "simulated_truth": evaluation.made_up,
        "error_price_usd": evaluation.error_price,
        "cost_usd": {
            name: None if math.isnan(cost) else cost for name, cost in evaluation.costs.items()
        },
        "figures": list(figure_rows(evaluation)),
        "scores": list(score_rows(evaluation)),
    }
    json_output.give(values)
