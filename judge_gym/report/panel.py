"""The page of a panel that is served, and the page and tables of a panel's evaluation."""

from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from judge_gym.formats import dollars, figure
from judge_gym.metrics.estimate import Estimate
from judge_gym.model_names import is_simulated_model
from judge_gym.panel.document import LONGEST_DOCUMENT, MOST_ITEMS, PanelDocument
from judge_gym.panel.evaluating.escalating import PolicyFigures
from judge_gym.panel.evaluating.evaluation import Evaluation, Figures
from judge_gym.panel.evaluating.figures import SecondFamily, WayFigures
from judge_gym.panel.panel import Panel
from judge_gym.panel.state import SPARED
from judge_gym.report.files import ENVIRONMENT, csv_of, figures_of, put_in_place
from judge_gym.report.plots.svg import draw


def panel_page(
    panel: Panel, samples: Sequence[PanelDocument], nonce: str, *, asks_token: bool
) -> str:
    """Return the page; its style and script have the nonce, and it loads nothing from anywhere.

    What the page shows of runs is put there as text by its script, and never read as markup.
    """
    return ENVIRONMENT.get_template("panel.html.j2").render(
        panel=panel,
        samples=[sample.model_dump(mode="json") for sample in samples],
        nonce=nonce,
        asks_token=asks_token,
        simulated=any(map(is_simulated_model, panel.models)),
        most_items=MOST_ITEMS,
        longest=LONGEST_DOCUMENT,
        spared=SPARED,
    )


WHOLE, ITEMS = "whole", "items"
"""What figures are of: overall scores, or scores of items."""


def save_panel_evaluation(evaluation: Evaluation, folder: Path) -> Path:
    """Write `panel-<name>-evaluation.html` and the tables beside it; returns the page's path.

    `-figures.csv` has a row per figure, `-scores.csv` one per score with a known truth. Raises
    `ReportError` when the folder cannot be written to.
    """
    stem = f"panel-{evaluation.panel.name}-evaluation"
    page = folder / f"{stem}.html"
    put_in_place(
        {
            folder / f"{stem}-figures.csv": csv_of(figure_rows(evaluation)),
            folder / f"{stem}-scores.csv": csv_of(score_rows(evaluation)),
            page: panel_evaluation_page(evaluation),
        }
    )
    return page


def panel_evaluation_page(evaluation: Evaluation) -> str:
    """Return the whole page; equal evaluations give equal text."""
    template = ENVIRONMENT.get_template("panel_evaluation.html.j2")
    return template.render(
        evaluation=evaluation, kinds=kinds(evaluation), told=told, dollars=dollars, taken=taken,
        said_unseen=said_unseen, drawing=_drawing,
    )  # fmt: skip


def told(found: Estimate, digits: int = 2) -> str:
    """Return a figure with its interval, or why there is none."""
    return found.reason if found.estimate is None else figure(found, digits)


def taken(one: SecondFamily) -> str:
    """Return how scores were taken in a comparison of families."""
    return "each rater's own bias taken off" if one.unbiased else "scores as given"


def said_unseen(evaluation: Evaluation) -> str:
    """Return how many true scores are in no figure, as no rater saw their items."""
    return f"True scores of items that no rater saw, as a document is too long: {evaluation.unseen}"


def kinds(evaluation: Evaluation) -> list[tuple[str, Figures]]:
    """Return the kinds of scores that have figures."""
    items = [(ITEMS, evaluation.items)] if evaluation.items else []
    return [(WHOLE, evaluation.whole), *items]


def figure_rows(evaluation: Evaluation) -> Iterator[dict[str, Any]]:
    """Yield a row per figure: `what` it is of (`whole` or `items`), and of `whom`."""
    for what, some in kinds(evaluation):
        for way in some.ways:
            yield from _rows(evaluation, what, way.name, way)
        for pair in some.pairs:
            yield _row(evaluation, what, " and ".join(pair.raters), pair.correlation)
        for one in some.second_family:
            yield from _rows(evaluation, what, f"second family, {taken(one)}", one)
    for policy in evaluation.policies:
        yield from _rows(evaluation, WHOLE, policy.name, policy)


def score_rows(evaluation: Evaluation) -> Iterator[dict[str, Any]]:
    """Yield a row per score with a known truth, `item` empty for a whole document."""
    for document, state in evaluation.complete:
        reviews = [rater.review for rater in state.raters if rater.review]
        verdict = state.consensus.verdict
        said = [review.overall_score for review in reviews]
        yield _score_row(evaluation, document.id, "", document.truth, said) | {
            "arbiter": verdict.final_score if verdict else None
        }
        for place, item in enumerate(document.items[: len(state.items)]):
            if item.truth is not None:
                said = [review.items[place].score for review in reviews]
                yield _score_row(evaluation, document.id, item.id, item.truth, said)


def _score_row(
    evaluation: Evaluation, document: str, item: str, truth: int, said: list[int]
) -> dict[str, Any]:
    scores = dict(zip(evaluation.panel.names, said, strict=True))
    return {
        "document": document, "item": item, "truth": truth, **scores, "arbiter": None,
        "simulated": evaluation.simulated or evaluation.made_up,
    }  # fmt: skip


def _rows(
    evaluation: Evaluation, what: str, whom: str, some: WayFigures | SecondFamily | PolicyFigures
) -> Iterator[dict[str, Any]]:
    for field in fields(some):
        found = getattr(some, field.name)
        if isinstance(found, Estimate):
            yield _row(evaluation, what, whom, found)


def _row(evaluation: Evaluation, what: str, whom: str, found: Estimate) -> dict[str, Any]:
    return {
        "what": what, "whom": whom, **figures_of(found), "reason": found.reason,
        "simulated": evaluation.simulated or evaluation.made_up,
    }  # fmt: skip


def _drawing(evaluation: Evaluation) -> str:
    """Return how much less each way errs than the best of these raters, below one another."""
    rows = [
        {"change": way.name, "effect": way.gained.estimate, "lower": way.gained.lower,
         "upper": way.gained.upper, "unit": "points"}
        for way in evaluation.whole.ways if way.gained.estimate is not None
    ]  # fmt: skip
    mark = "SIMULATED. " if evaluation.simulated or evaluation.made_up else ""
    label = f"{mark}Error of the best of these raters less that of each way, in points"
    return draw("forest", rows, "forest-panel-evaluation", label)
