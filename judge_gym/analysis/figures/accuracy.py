"""Verdicts against known answers."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from judge_gym.analysis.data import select
from judge_gym.analysis.figures.pairs import pair_figures
from judge_gym.analysis.groups import Group
from judge_gym.analysis.registry import Column, Figure, FigureTable
from judge_gym.analysis.truths import KnownTruth, parts_of, truth_of
from judge_gym.metrics.accuracy import (
    cohens_kappa,
    control_error,
    control_rank_correlation,
    share_correct,
    stage_error,
    subset_accuracy,
)
from judge_gym.metrics.cells import FloatArray, Samples, Verdicts
from judge_gym.metrics.entrenchment import letter_calibration
from judge_gym.metrics.estimate import Estimate, not_estimable
from judge_gym.model_names import RECORDED
from judge_gym.store.results import ResultRow

_CONTROL = "a control with an index for its items"
_WRITTEN = "recorded scores with half points, or of more values than stages"
_KNOWN = "single verdicts on items whose known answer is a stage of the rubric"
_KNOWN_OF_THREE = (
    "single verdicts on items whose known answer is one of three stages or more (benchmark)"
)

TABLES = (
    FigureTable(
        "Accuracy",
        (
            "Verdicts against what is known: the share at the true stage, and Cohen's kappa, "
            "which is 0 for guessing. Of known answers with an order also how many stages a "
            "verdict is off on average, and kappa with quadratic weights. Error and rank "
            "correlation are against the index of a control: mean distance on the 0-1 scale, and "
            "Spearman's rho over items."
        ),
        question="right",
        rank=0,
        figures=(
            Figure("accuracy", "share", _KNOWN),
            Figure("cohens_kappa", "kappa", _KNOWN),
            Figure("stage_error", "stages", _KNOWN_OF_THREE),
            Figure("cohens_kappa_quadratic", "kappa", _KNOWN_OF_THREE),
            Figure("control_error", "0-1 scale", _CONTROL),
            Figure("control_rank_correlation", "rho", _CONTROL),
        ),
        columns=(
            Column("correct", "accuracy"),
            Column("by chance", "accuracy", "floor"),
            Column("kappa", "cohens_kappa"),
            Column("stages off", "stage_error"),
            Column("weighted kappa", "cohens_kappa_quadratic"),
            Column("error", "control_error"),
            Column("rank corr.", "control_rank_correlation"),
            Column("items", "accuracy", "items"),
        ),
        formulas=(
            "correct = share of verdicts at the true stage",
            "by chance = max(1/number of stages that occur as truth, Σ share true·share given)",
            "true stage of an index v = 1 + round(v·(S − 1))",
            "κ = 1 − observed / expected share of wrong verdicts; weighted κ: of squared distances",
            "stages off = mean |stage − true stage| of all verdicts",
            "error = mean |x − v|; rank corr. = Spearman's ρ of mean x and v over items",
        ),
        needs=(
            "Needs one verdict, and point verdicts only; 100 items advised.",
            "Needs point verdicts and two true stages; 100 items advised.",
            "Needs one verdict.",
            "Needs 4 items, and scores and indices that vary; 100 items advised.",
        ),
        sources=(
            (
                "1 - Σ w·observed / Σ w·expected, w = 1 off the diagonal, or (i - j)² "
                "when quadratic (Cohen 1960, 1968)."
            ),
            "Interval: Fisher's z with variance (1 + ρ²/2)/(n - 3) (Bonett and Wright 2000).",
        ),
    ),
    FigureTable(
        "Scores as written",
        (
            "Recorded scores with half points, or of more values than there are stages, in the "
            "points of their file: the mean, the mean distance from the known answer or the mean "
            "of people's labels, and Spearman's rho with it over items."
        ),
        question="right",
        rank=50,
        figures=(
            Figure("written_mean", "points as written", _WRITTEN),
            Figure("written_error", "points as written", _WRITTEN),
            Figure("written_correlation", "rho", _WRITTEN),
        ),
        columns=(
            Column("mean", "written_mean"),
            Column("distance", "written_error"),
            Column("correlation", "written_correlation"),
            Column("items", "written_mean", "items"),
        ),
        formulas=(
            "mean = mean score of each item, averaged over items; distance = mean |score − known|, "
            "averaged alike; correlation = Spearman's ρ of mean score and known over items",
        ),
        needs=("Needs 4 items, and scores and known answers that vary, for the correlation.",),
    ),
)


def accuracies(group: Group) -> Iterator[ResultRow]:
    """Yield the accuracy of each judge; nothing for contested concepts, which have no truth."""
    for number, judge in enumerate(group.judges):
        arms, truth = group.own_arms[number], truth_of(group, number)
        if truth is None:
            continue
        if isinstance(truth, str):
            missing = not_estimable("accuracy", truth, n=len(group.compared), unit="share")
            yield group.row(missing, [arms], judge=judge.model)
            continue
        for about, chosen in parts_of(group):
            scope = {"judge": judge.model, **about}
            part = replace(truth, stage=np.where(chosen, truth.stage, 0))
            for estimate in _accuracy(group, number, part, scope):
                yield group.row(estimate, [arms], p_adjusted=None, **scope)


def _accuracy(
    group: Group, number: int, truth: KnownTruth, scope: Mapping[str, str]
) -> Iterator[Estimate]:
    experiment = group.judges[number].experiment
    # Answers of a recorded judge cannot be collected again: it is right or wrong on all of them.
    recorded = experiment.window.source.kind == RECORDED
    verdicts = (group.own if recorded else group.compared).of_judges([number])
    has_truth = verdicts.rows(truth.stage[verdicts.item] > 0)
    # Metrics look only at the items of the verdicts, and ask for a stage of each.
    stage = np.maximum(truth.stage, 1)
    if group.is_subset:
        yield from subset_accuracy(has_truth, stage)
    else:
        yield share_correct(has_truth, stage)
        yield cohens_kappa(has_truth, stage, group.rng("cohens_kappa", **scope))
        of_items = experiment.task_type == "benchmark" and not experiment.judges_pairs
        if of_items and group.n_stages > 2:
            yield stage_error(has_truth, stage)
            rng = group.rng("cohens_kappa_quadratic", **scope)
            yield cohens_kappa(has_truth, stage, rng, quadratic=True)
    if experiment.logprobs and not group.is_subset:
        yield from _letter_calibration(group, number, truth)
    if experiment.judges_pairs and not group.is_subset:
        yield from pair_figures(group, number, truth, scope)
    if experiment.task_type == "control":
        yield from _against_index(has_truth, truth.index)


def _letter_calibration(group: Group, number: int, truth: KnownTruth) -> Iterator[Estimate]:
    _, rows = select(group.data.samples, [group.own_arms[number]])
    item = np.searchsorted(group.items, rows.item)
    known = (truth.stage[item] > 0) & np.isfinite(rows.letter_probability)
    item = item[known]
    samples = Samples(
        judge=np.zeros(len(item), dtype=np.int64), item=item, n_judges=1, n_items=len(group.items)
    )
    correct = rows.stages[known] == 1 << (truth.stage[item] - 1)
    yield from letter_calibration(samples, rows.letter_probability[known], correct)


def _against_index(verdicts: Verdicts, index: FloatArray) -> Iterator[Estimate]:
    yield control_error(verdicts, index)
    yield control_rank_correlation(verdicts, index)


OF_GROUP = (accuracies,)
