"""The page of a panel that is served, and the page and tables of a panel's evaluation."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any

from judge_gym.design.experiment import family_of
from judge_gym.formats import dollars, figure, number
from judge_gym.metrics.estimate import Estimate
from judge_gym.model_names import is_simulated_model
from judge_gym.panel.document import LONGEST_DOCUMENT, MOST_ITEMS, ReviewedDocument
from judge_gym.panel.evaluating.escalating import PanelPolicy
from judge_gym.panel.evaluating.evaluation import Evaluation, Figures
from judge_gym.panel.evaluating.figures import SecondFamily, WayFigures
from judge_gym.panel.panel import Panel
from judge_gym.panel.state import SPARED
from judge_gym.report.files import ENVIRONMENT, csv_of, figures_of
from judge_gym.report.judge_study import StudyPage, StudyReport, stem_of
from judge_gym.report.plots.svg import draw
from judge_gym.report.table import Row, Table, plain_table
from judge_gym.report.trust import MOST_TILES, Tile


def panel_page(
    panel: Panel, samples: Sequence[ReviewedDocument], nonce: str, *, asks_token: bool
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
TITLES = {WHOLE: "Whole documents", ITEMS: "Items"}
"""What figures are of: overall scores, or scores of items."""


_SHOWN = 5
"""Documents in no figure that a command and a note name; the page has all."""


def evaluation_report(
    evaluation: Evaluation, read: str = "", paid: Sequence[str] = ()
) -> StudyReport[Evaluation]:
    """Return the report of a panel's evaluation, with its tables as CSV.

    `-figures.csv` has a row per figure, `-scores.csv` one per score with a known truth. `paid` are
    sentences about the calls behind it.
    """
    name, ways = evaluation.panel.name, kinds(evaluation)
    stem = stem_of("panel", name, "evaluation")
    figures, scores = list(figure_rows(evaluation)), list(score_rows(evaluation))
    others = pair_table(evaluation), family_table(evaluation), policy_table(evaluation)
    page = StudyPage(
        stem=stem,
        title=f"Evaluation of panel {name}",
        found=f"{evaluation.answer} {evaluation.least}".strip(),
        tables=[
            rater_table(evaluation),
            *(way_table(evaluation, kind, some) for kind, some in ways),
            *(table for table in others if table.rows),
        ],
        sentences=[*_counted(evaluation), *paid, *_priced(evaluation)],
        simulated=evaluation.simulated,
        files=(f"{stem}-figures.csv", f"{stem}-scores.csv", f"{stem}.json"),
        read=read,
        template="panel_evaluation.html.j2",
        shown=_shown(evaluation),
    )
    tables = {"-figures.csv": csv_of(figures), "-scores.csv": csv_of(scores)}
    return StudyReport(evaluation, page, _json(evaluation, figures, scores), tables)


def _json(
    evaluation: Evaluation, figures: Sequence[dict[str, Any]], scores: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    return {
        "panel": evaluation.panel.name,
        "documents": len(evaluation.labelled),
        "left_out": dict(evaluation.left_out),
        "unseen_item_scores": evaluation.unseen,
        "simulated": evaluation.simulated,
        "simulated_truth": evaluation.made_up,
        "error_price_usd": evaluation.error_price,
        "cost_usd": {
            way: None if math.isnan(cost) else cost for way, cost in evaluation.costs.items()
        },
        "figures": figures,
        "scores": scores,
    }


def _counted(evaluation: Evaluation) -> Iterator[str]:
    """Yield which documents and items are in the figures, and why the first others are not."""
    left_out, documents = evaluation.left_out, len(evaluation.labelled)
    text = f"{len(evaluation.complete)} of {documents} documents are in these figures"
    yield f"{text}; {len(left_out)} are in none." if left_out else f"{text}."
    if unseen := evaluation.unseen:
        yield f"True scores of items that no rater saw, as a document is too long: {unseen}."
    for document, why in left_out[:_SHOWN]:
        yield f"{document}: {why}"


def _priced(evaluation: Evaluation) -> Iterator[str]:
    """Yield which prices of the tables nobody paid."""
    if evaluation.simulated:
        yield (
            "USD in the tables count a simulated answer, which costs nothing, at the price that "
            "the providers file has for its model."
        )


def _shown(evaluation: Evaluation) -> dict[str, Any]:
    """Return what the page shows besides."""
    tiles = [
        Tile(way.name, number(way.error.estimate), _interval(way.error))
        for way in evaluation.whole.ways[:MOST_TILES]
    ]
    return {
        "tiles": tiles,
        "drawing": _drawing(evaluation),
        "whole": TITLES[WHOLE],
        "made_up": evaluation.made_up,
        "more_left_out": evaluation.left_out[_SHOWN:],
    }


def _interval(error: Estimate) -> str:
    if error.lower is None or error.upper is None:
        return f"mean error; {error.reason or 'no interval'}"
    return f"mean error, 95% interval {number(error.lower)} to {number(error.upper)}"


def figure_or_reason(estimate: Estimate, digits: int = 2) -> str:
    """Return a figure with its interval, or why there is none."""
    return estimate.reason if estimate.estimate is None else figure(estimate, digits)


def bias_note(comparison: SecondFamily) -> str:
    """Return whether a comparison of families removes each rater's bias."""
    return "each rater's own bias taken off" if comparison.unbiased else "scores as given"


def kinds(evaluation: Evaluation) -> list[tuple[str, Figures]]:
    """Return the kinds of scores that have figures."""
    items = [(ITEMS, evaluation.items)] if evaluation.items else []
    return [(WHOLE, evaluation.whole), *items]


def rater_table(evaluation: Evaluation) -> Table:
    """Return who is in the panel."""
    panel, families = evaluation.panel, evaluation.whole.scored.families
    raters = zip(panel.names, panel.raters, families, strict=True)
    rows = [(name, rater.label, rater.model, family) for name, rater, family in raters]
    arbiter = ("arbiter", "", panel.arbiter.model, family_of(panel.arbiter.model))
    return plain_table("Raters", ("who", "looks at", "model", "family"), [*rows, arbiter])


def way_table(evaluation: Evaluation, kind: str, some: Figures) -> Table:
    """Return how far each way to decide is from the true scores."""
    whole = kind == WHOLE
    return _table(
        evaluation,
        TITLES[kind],
        "Error: mean distance from the true score. Bias: mean difference from it. Exactly right, "
        "and κ with quadratic weights: after rounding. Better by: the error of the best single "
        "rater on these documents less that of the row. Weights by reliability and calibration "
        "come from the other documents. 95% intervals over documents.",
        (
            *("who decides", "error", "bias", "exactly right", "κ", "better by"),
            *(("USD a document",) if whole else ()),
        ),
        [
            (
                way.name,
                *_figures_or_reason([way.error, way.bias, way.accuracy, way.kappa, way.gained]),
                *((dollars(evaluation.costs[way.name]),) if whole else ()),
            )
            for way in some.ways
        ],
        words=1,
    )


def pair_table(evaluation: Evaluation) -> Table:
    """Return how the errors of every two raters go together."""
    parts = kinds(evaluation)
    return _table(
        evaluation,
        "Errors that go together",
        "Correlation of two raters' errors at the same true score: what the true score explains of "
        "each rater's scores is taken off first, and so are biases. Near 1 the second repeats the "
        "mistakes of the first, and asking it gains little. All raters together are worth as many "
        "independent ones as their effective votes, k / (1 + (k − 1)·r̄), r̄ the mean correlation.",
        ("raters", "families", *(TITLES[kind].lower() for kind, _ in parts)),
        [
            (
                " and ".join(pair.raters),
                "one" if pair.same_family else "two",
                *(figure_or_reason(some.pairs[place].correlation) for _, some in parts),
            )
            for place, pair in enumerate(evaluation.whole.pairs)
        ]
        + [
            (name, "", *(figure_or_reason(some.votes[place]) for _, some in parts))
            for place, name in enumerate(("all raters: mean", "all raters: effective votes"))
        ],
        words=2,
    )


def family_table(evaluation: Evaluation) -> Table:
    """Return what a rater of another family adds over one of the same family."""
    return _table(
        evaluation,
        "What a second family adds over a second persona",
        "A rater's mean with one of its own family, and with one of another: the error of both, "
        "and how much less it is with the other family. Opposite biases cancel; taken off, what is "
        "left is errors that do not go together.",
        ("scores", "of", "with its own family", "with another family", "less by"),
        [
            (
                bias_note(comparison),
                TITLES[kind].lower(),
                *_figures_or_reason(
                    [comparison.persona, comparison.family, comparison.gained], of=comparison.gained
                ),
            )
            for kind, some in kinds(evaluation)
            for comparison in some.second_family
        ],
        words=2,
    )


def policy_table(evaluation: Evaluation) -> Table:
    """Return what would have come of asking fewer raters."""
    return _table(
        evaluation,
        "Asking one more only where it pays",
        "What would have come of asking fewer raters, their scores weighted by calibration. Two "
        "raters differ if their scores do after each rater's own bias is taken off and the "
        "difference is rounded to whole points; the panel's file compares scores as given. One "
        f"point of error in one document is taken to cost {dollars(evaluation.error_price)} USD "
        "(--error-price). USD in all are those of a document, its error included. The order, the "
        "biases, the weights and what one more is expected to gain come from the other documents.",
        (
            *("who is asked", "reviews a document", "reviews saved", "money saved", "error"),
            *("more than of all", "USD in all"),
        ),
        [
            (
                policy.name,
                *_figures_or_reason(
                    [
                        policy.reviews,
                        policy.saved_reviews,
                        policy.saved_cost,
                        policy.error,
                        policy.loss,
                    ],
                    of=policy.error,
                ),
                figure_or_reason(policy.total, 3) if policy.error.estimate is not None else "",
            )
            for policy in evaluation.policies
        ],
        words=1,
    )


def _figures_or_reason(estimates: Sequence[Estimate], of: Estimate | None = None) -> list[str]:
    """Return figures; of a row whose main figure `of` is missing, the reason once."""
    main = of or estimates[0]
    if main.estimate is None:
        return [main.reason, *("" for _ in estimates[1:])]
    return [figure_or_reason(estimate) for estimate in estimates]


def _table(
    evaluation: Evaluation,
    title: str,
    explanation: str,
    columns: tuple[str, ...],
    rows: Sequence[tuple[str, ...]],
    *,
    words: int,
) -> Table:
    simulated = evaluation.simulated or evaluation.made_up
    return Table(
        title, explanation, columns, tuple(map(Row, rows)), words=words, simulated=simulated
    )


def figure_rows(evaluation: Evaluation) -> Iterator[dict[str, Any]]:
    """Yield a row per figure: `what` it is of (`whole` or `items`), and of `whom`."""
    for kind, some in kinds(evaluation):
        for way in some.ways:
            yield from _rows(evaluation, kind, way.name, way)
        for pair in some.pairs:
            yield _row(evaluation, kind, " and ".join(pair.raters), pair.correlation)
        for estimate in some.votes:
            yield _row(evaluation, kind, "all raters", estimate)
        for comparison in some.second_family:
            yield from _rows(
                evaluation, kind, f"second family, {bias_note(comparison)}", comparison
            )
    for policy in evaluation.policies:
        yield from _rows(evaluation, WHOLE, policy.name, policy)


def score_rows(evaluation: Evaluation) -> Iterator[dict[str, Any]]:
    """Yield a row per score with a known truth, `item` empty for a whole document."""
    for document, state in evaluation.complete:
        reviews = [rater.review for rater in state.raters if rater.review]
        verdict = state.consensus.verdict
        scores = [review.overall_score for review in reviews]
        yield _score_row(evaluation, document.id, "", document.truth, scores) | {
            "arbiter": verdict.final_score if verdict else None
        }
        for place, item in enumerate(document.items[: len(state.items)]):
            if item.truth is not None:
                scores = [review.items[place].score for review in reviews]
                yield _score_row(evaluation, document.id, item.id, item.truth, scores)


def _score_row(
    evaluation: Evaluation, document: str, item: str, truth: int, rater_scores: list[int]
) -> dict[str, Any]:
    scores = dict(zip(evaluation.panel.names, rater_scores, strict=True))
    return {
        "document": document, "item": item, "truth": truth, **scores, "arbiter": None,
        "simulated": evaluation.simulated or evaluation.made_up,
    }  # fmt: skip


def _rows(
    evaluation: Evaluation, kind: str, whom: str, some: WayFigures | SecondFamily | PanelPolicy
) -> Iterator[dict[str, Any]]:
    for field in fields(some):
        value = getattr(some, field.name)
        if isinstance(value, Estimate):
            yield _row(evaluation, kind, whom, value)


def _row(evaluation: Evaluation, kind: str, whom: str, estimate: Estimate) -> dict[str, Any]:
    return {
        "what": kind, "whom": whom, **figures_of(estimate), "reason": estimate.reason,
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
