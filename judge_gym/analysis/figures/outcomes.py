"""How judgements end, and how steady a judge is."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from judge_gym.analysis.data import JudgeArm, select
from judge_gym.analysis.groups import Group
from judge_gym.analysis.registry import DESIGN_EFFECT, Column, Figure, FigureTable
from judge_gym.analysis.truths import parts_of
from judge_gym.metrics.cells import Samples, Verdicts, item_means
from judge_gym.metrics.consistency import (
    OutcomeCounts,
    mean_score,
    outcome_rates,
    replicate_icc,
    replicate_variance,
)
from judge_gym.metrics.estimate import UNIT_INTERVAL, Estimate, mean_over_items, not_estimable
from judge_gym.metrics.presentation import Displays, label_bias, position_bias
from judge_gym.metrics.subsets import subset_information, subset_width
from judge_gym.model_names import RECORDED
from judge_gym.records.judgements import ARMS, SAMPLE_STATUSES
from judge_gym.store.results import ResultRow

TABLES = (
    FigureTable(
        "Abstention",
        "Share of the judgements made in which a judge abstained: neither a score nor a failure.",
        question="went-wrong",
        rank=0,
        figures=(Figure("abstention_rate", "share"),),
        columns=(
            Column("abstained", "abstention_rate"),
            Column("judgements", "abstention_rate", "n"),
            Column("items", "abstention_rate", "items"),
        ),
        formulas=("abstained / (scored + abstained); Wilson interval clustered by item",),
        needs=("Needs one sample.",),
        sources=(DESIGN_EFFECT,),
    ),
    FigureTable(
        "Unparseable, refused, failed",
        (
            "Shares of all samples that gave no judgement: the answer could not be read, the model "
            "would not judge, or no answer came. They are never counted as scores."
        ),
        question="went-wrong",
        rank=10,
        figures=(
            Figure("unparseable_rate", "share"),
            Figure("refused_rate", "share"),
            Figure("failed_rate", "share"),
        ),
        columns=(
            Column("unparseable", "unparseable_rate"),
            Column("refused", "refused_rate"),
            Column("failed", "failed_rate"),
            Column("samples", "failed_rate", "n"),
        ),
        only_if_nonzero=True,
        formulas=("samples that ended so / all samples; Wilson interval clustered by item",),
        needs=("Needs one sample.",),
        sources=(DESIGN_EFFECT,),
    ),
    FigureTable(
        "Consistency",
        (
            "A judge's mean score, and whether it repeats itself on the same item: the variance "
            "of its replicates on the 0-1 scale (lower is steadier), the share of variance that "
            "tells items apart (ICC, up to 1), and how much a probe asked twice differs (a "
            "probability)."
        ),
        question="went-wrong",
        rank=20,
        figures=(
            Figure("mean_score", "0-1 scale"),
            Figure(
                "mean_score_common",
                "0-1 scale",
                "verdicts of two judges, of which one scored items that the other did not",
            ),
            Figure("replicate_variance", "squared 0-1 scale"),
            Figure("replicate_icc", "share of variance"),
            Figure("probe_difference", "probability"),
        ),
        columns=(
            Column("mean score", "mean_score"),
            Column("on common items", "mean_score_common"),
            Column("variance", "replicate_variance", digits=3),
            Column("ICC", "replicate_icc"),
            Column("probe twice", "probe_difference"),
            Column("items", "replicate_variance", "items"),
        ),
        formulas=(
            "mean score = x̄ of each item, averaged over the judge's items; on common items = over "
            "those that every judge scored, where these are fewer",
            "variance = mean over cells of s² of x over replicates (ddof 1), in squared 0-1 scale; "
            "of items with 3 scored replicates or more, here and in the ICC",
            "ICC = (MSB − MSW)/(MSB + (n₀ − 1)·MSW); probe twice = mean |c₁ − c₂| of the samples "
            "that were probed twice, whose mean is their c in every other figure",
        ),
        needs=(
            "Needs one item; the variance one with 3 scored replicates of each judge compared, the "
            "ICC two.",
        ),
    ),
    FigureTable(
        "Position and label bias",
        (
            "Excess share of verdicts for the stage shown first, and for the one lettered A, "
            "beyond what displays permuted within a cell give; 0 is none. Known only where the "
            "display varies between replicates; recorded judgements have an order and no letters."
        ),
        question="design",
        rank=30,
        figures=(
            Figure("position_bias", "share"),
            Figure("label_bias", "share"),
        ),
        columns=(
            Column("shown first", "position_bias"),
            Column("p", "position_bias", "p"),
            Column("lettered A", "label_bias"),
            Column("p", "label_bias", "p"),
            Column("items", "position_bias", "items"),
        ),
        formulas=(
            (
                "share of verdicts at the stage shown first (lettered A) − its mean with displays "
                "permuted within a cell, scaled by how much more displays vary over all cells"
            ),
            "p by the same permutations",
        ),
        needs=("Needs a cell whose displays differ.",),
    ),
)


def single_judges(group: Group) -> Iterator[ResultRow]:
    """Yield the figures of each judge of a group.

    Its mean score is over its own items. `mean_score_common` is over the items that every judge
    scored, where these are fewer. The other figures use the common items too; those of recorded
    judges, whose answers cannot be collected again, use all of their own.
    """
    question = group.data.questions(group.items)
    for number, judge in enumerate(group.judges):
        own = [group.own_arms[number]]
        for estimate in _own_arm_figures(group, number):
            yield group.row(estimate, own, judge=judge.model)
        if judge.experiment.window.source.kind == RECORDED:
            yield from _mean_scores_of_parts(group, number)
        yield group.row(_probe_difference(group, judge.arms), [judge.arms], judge=judge.model)
        for kind in ARMS:
            arms = judge.of_kind(kind)
            if arms or kind == "own":
                for estimate in outcome_rates(_outcomes(group, arms), question):
                    yield group.row(estimate, [arms], judge=judge.model, arm=kind)


def _own_arm_figures(group: Group, number: int) -> Iterator[Estimate]:
    own, compared = (of.of_judges([number]) for of in (group.own, group.compared))
    recorded = group.judges[number].experiment.window.source.kind == RECORDED
    verdicts = own if recorded else compared
    model = group.judges[number].model
    yield mean_score(own)
    if len(group.present) > 1 and len(compared) < len(own):
        yield _mean_score_common(group, compared)
    yield replicate_variance(verdicts)
    yield replicate_icc(verdicts, group.rng("replicate_icc", judge=model))
    if group.is_subset:
        yield subset_width(verdicts)
        yield subset_information(verdicts)
    for metric, bias in (("position_bias", position_bias), ("label_bias", label_bias)):
        if group.is_subset:
            because = "verdicts are sets of stages, and the display favours one stage at a time"
            yield not_estimable(metric, because, n=len(verdicts), unit="share")
        elif metric == "label_bias" and recorded:
            because = "the judgements are recorded with the order shown, and without letters"
            yield not_estimable(metric, because, n=len(verdicts), unit="share")
        else:
            displays = _displays(group, number, common=not recorded)
            yield bias(displays, group.rng(metric, judge=model))


def _displays(group: Group, number: int, *, common: bool) -> Displays:
    """Return what was shown and chosen: on all that this judge scored, or the common items."""
    _, rows = select(group.data.samples, [group.own_arms[number]])
    item = np.searchsorted(group.items, rows.item)
    kept = (rows.status == "scored") & (group.common[item] | (not common))
    stage = np.bitwise_count(rows.stages[kept] - 1).astype(np.int64) + 1
    return Displays(
        judge=np.zeros(len(stage), dtype=np.int64),
        item=item[kept],
        stage=stage,
        shown_first=rows.shown_first[kept],
        lettered_a=rows.lettered_a[kept],
        n_judges=1,
        n_items=len(group.items),
        n_stages=group.n_stages,
    )


def _outcomes(group: Group, arms: tuple[JudgeArm, ...]) -> OutcomeCounts:
    _, rows = select(group.data.samples, [arms])
    item = np.searchsorted(group.items, rows.item)
    counts = {
        status: np.bincount(item[rows.status == status], minlength=len(group.items))
        for status in SAMPLE_STATUSES
    }
    return OutcomeCounts(**counts)


def _probe_difference(group: Group, arms: tuple[JudgeArm, ...]) -> Estimate:
    """Return the mean |first - second| probability of samples probed twice, in [0, 1].

    Over the samples of all the judge's arms, averaged by item, then over items; t interval. The
    conversation is the same, so it is the probe's own noise, in the unit of the probe.
    """
    _, rows = select(group.data.probes, [arms])
    second = np.flatnonzero(rows.sample[1:] == rows.sample[:-1]) + 1
    metric, unit = "probe_difference", "probability"
    if not len(second):
        return not_estimable(metric, "no sample was probed twice", unit=unit)
    twice = Samples(
        judge=np.zeros(len(second), dtype=np.int64),
        item=np.searchsorted(group.items, rows.item[second]),
        n_judges=1,
        n_items=len(group.items),
    )
    cells = twice.means(np.abs(rows.probability[second] - rows.probability[second - 1]))
    per_item, _ = item_means(cells.value, cells.present)
    return mean_over_items(metric, per_item, n=len(second), unit=unit, bounds=UNIT_INTERVAL)


def _mean_scores_of_parts(group: Group, number: int) -> Iterator[ResultRow]:
    """Yield a judge's mean score on each system and category that it scored."""
    own, judge = group.own.of_judges([number]), group.judges[number]
    for about, chosen in parts_of(group):
        part = own.rows(chosen[own.item])
        if about and len(part):
            scope = {"judge": judge.model, **about}
            yield group.row(mean_score(part), [group.own_arms[number]], p_adjusted=None, **scope)


def _mean_score_common(group: Group, compared: Verdicts) -> Estimate:
    """Return the mean score on the items that every judge with a verdict scored, in [0, 1]."""
    metric = "mean_score_common"
    if not group.common.any():
        return not_estimable(metric, "no item was scored by every judge", unit="0-1 scale")
    return replace(mean_score(compared), metric=metric)


OF_GROUP = (single_judges,)
