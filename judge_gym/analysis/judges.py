"""Figures of one judge at a time: outcomes, consistency, width, display bias and accuracy."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from judge_gym.analysis.data import Arm, SweepData, select
from judge_gym.analysis.groups import PARTS, Group, result_row
from judge_gym.design.experiment import GroundTruth
from judge_gym.design.window import RecordedSource
from judge_gym.metrics.accuracy import (
    both_orders_correct,
    cohens_kappa,
    control_error,
    control_rank_correlation,
    order_inconsistency,
    pair_balance,
    share_correct,
    stage_error,
    subset_accuracy,
    truth_stages,
    votes,
)
from judge_gym.metrics.cells import BoolArray, FloatArray, IntArray, Samples, Verdicts, item_means
from judge_gym.metrics.consistency import (
    OutcomeCounts,
    mean_score,
    outcome_rates,
    replicate_icc,
    replicate_variance,
)
from judge_gym.metrics.entrenchment import letter_calibration
from judge_gym.metrics.estimate import UNIT_INTERVAL, Estimate, mean_over_items, not_estimable
from judge_gym.metrics.orders import PairJudgements, accuracy_over_wordings, order_figures
from judge_gym.metrics.presentation import Displays, label_bias, position_bias
from judge_gym.metrics.subsets import subset_information, subset_width
from judge_gym.model_names import RECORDED
from judge_gym.records.judgements import ARMS, SAMPLE_STATUSES
from judge_gym.seeds import canonical_json
from judge_gym.store.results import ResultRow


def single_judges(group: Group) -> Iterator[ResultRow]:
    """Yield the figures of each judge of a group.

    Its mean score is over its own items. `mean_score_common` is over the items that every judge
    scored, where these are fewer. The other figures use the common items too; those of recorded
    judges, whose answers cannot be collected again, use all of their own.
    """
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
                for estimate in outcome_rates(_outcomes(group, arms)):
                    yield group.row(estimate, [arms], judge=judge.model, arm=kind)


def _mean_scores_of_parts(group: Group, number: int) -> Iterator[ResultRow]:
    """Yield a judge's mean score on each system and category that it scored."""
    own, judge = group.own.of_judges([number]), group.judges[number]
    for about, chosen in parts_of(group):
        part = own.rows(chosen[own.item])
        if about and len(part):
            scope = {"judge": judge.model, **about}
            yield group.row(mean_score(part), [group.own_arms[number]], p_adjusted=None, **scope)


def is_subset(group: Group) -> bool:
    """Return whether the group's verdicts name sets of stages."""
    return group.judges[0].experiment.scoring_method == "subset"


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
    if is_subset(group):
        yield subset_width(verdicts)
        yield subset_information(verdicts)
    for metric, bias in (("position_bias", position_bias), ("label_bias", label_bias)):
        if is_subset(group):
            because = "verdicts are sets of stages, and the display favours one stage at a time"
            yield not_estimable(metric, because, n=len(verdicts), unit="share")
        elif metric == "label_bias" and recorded:
            because = "the judgements are recorded with the order shown, and without letters"
            yield not_estimable(metric, because, n=len(verdicts), unit="share")
        else:
            displays = _displays(group, number, common=not recorded)
            yield bias(displays, group.rng(metric, judge=model))


def _mean_score_common(group: Group, compared: Verdicts) -> Estimate:
    """Return the mean score on the items that every judge with a verdict scored, in [0, 1]."""
    metric = "mean_score_common"
    if not group.common.any():
        return not_estimable(metric, "no item was scored by every judge", unit="0-1 scale")
    return replace(mean_score(compared), metric=metric)


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


def _outcomes(group: Group, arms: tuple[Arm, ...]) -> OutcomeCounts:
    _, rows = select(group.data.samples, [arms])
    item = np.searchsorted(group.items, rows.item)
    counts = {
        status: np.bincount(item[rows.status == status], minlength=len(group.items))
        for status in SAMPLE_STATUSES
    }
    return OutcomeCounts(**counts)


def _probe_difference(group: Group, arms: tuple[Arm, ...]) -> Estimate:
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


@dataclass(frozen=True, eq=False)
class Truth:
    """The true stage of each item, 0 where it is not known, and the index it stands for."""

    stage: IntArray
    index: FloatArray
    between: bool
    """Whether a stage between the ends is right of any item: of pairs, a tie."""


def accuracies(group: Group) -> Iterator[ResultRow]:
    """Yield the accuracy of each judge; nothing for contested concepts, which have no truth."""
    ground_truth = group.judges[0].experiment.ground_truth
    if ground_truth is None:
        return
    for number, judge in enumerate(group.judges):
        arms = group.own_arms[number]
        truth = truth_of(group, ground_truth, arms[0].labels if arms else ())
        if isinstance(truth, str):
            missing = not_estimable("accuracy", truth, n=len(group.compared), unit="share")
            yield group.row(missing, [arms], judge=judge.model)
            continue
        for about, chosen in parts_of(group):
            scope = {"judge": judge.model, **about}
            part = replace(truth, stage=np.where(chosen, truth.stage, 0))
            for estimate in _accuracy(group, number, part, scope):
                yield group.row(estimate, [arms], p_adjusted=None, **scope)


def known_truth(group: Group, number: int) -> IntArray | None:
    """Return the true stage of each item for a judge, 0 where it is not known; None without any."""
    ground_truth = group.judges[number].experiment.ground_truth
    arms = group.own_arms[number]
    if ground_truth is None or not ground_truth.per_item:
        return None
    truth = truth_of(group, ground_truth, arms[0].labels if arms else ())
    return None if isinstance(truth, str) else truth.stage


def parts_of(group: Group) -> Iterator[tuple[dict[str, str], BoolArray]]:
    """Yield a scope and which of the group's items are in it: all, then each system and category.

    One system, or one category, is no part.
    """
    yield {}, np.ones(len(group.items), dtype=np.bool_)
    for kind in PARTS:
        if of_items := getattr(group.data.truth, kind):
            names = np.array([of_items[item] for item in group.items], dtype=np.str_)
            named = sorted(set(names.tolist()) - {""})
            yield from (({kind: name}, names == name) for name in named if len(named) > 1)


def _accuracy(
    group: Group, number: int, truth: Truth, scope: Mapping[str, str]
) -> Iterator[Estimate]:
    experiment = group.judges[number].experiment
    # Answers of a recorded judge cannot be collected again: it is right or wrong on all of them.
    recorded = experiment.window.source.kind == RECORDED
    verdicts = (group.own if recorded else group.compared).of_judges([number])
    has_truth = verdicts.rows(truth.stage[verdicts.item] > 0)
    # Metrics look only at the items of the verdicts, and ask for a stage of each.
    stage = np.maximum(truth.stage, 1)
    if is_subset(group):
        yield from subset_accuracy(has_truth, stage)
    else:
        yield share_correct(has_truth, stage)
        yield cohens_kappa(has_truth, stage, group.rng("cohens_kappa", **scope))
        of_items = experiment.task_type == "benchmark" and not experiment.judges_pairs
        if of_items and group.n_stages > 2:
            yield stage_error(has_truth, stage)
            rng = group.rng("cohens_kappa_quadratic", **scope)
            yield cohens_kappa(has_truth, stage, rng, quadratic=True)
    if experiment.logprobs and not is_subset(group):
        yield from _letter_calibration(group, number, truth)
    if experiment.judges_pairs and not is_subset(group):
        yield from _pair_figures(group, number, truth, scope)
    if experiment.task_type == "control":
        yield from _against_index(has_truth, truth.index)


def _letter_calibration(group: Group, number: int, truth: Truth) -> Iterator[Estimate]:
    _, rows = select(group.data.samples, [group.own_arms[number]])
    item = np.searchsorted(group.items, rows.item)
    known = (truth.stage[item] > 0) & np.isfinite(rows.letter_probability)
    item = item[known]
    samples = Samples(
        judge=np.zeros(len(item), dtype=np.int64), item=item, n_judges=1, n_items=len(group.items)
    )
    correct = rows.stages[known] == 1 << (truth.stage[item] - 1)
    yield from letter_calibration(samples, rows.letter_probability[known], correct)


def _pair_figures(
    group: Group, number: int, truth: Truth, scope: Mapping[str, str]
) -> Iterator[Estimate]:
    """Yield the figures of pairs judged in both orders, on all that this judge was given.

    A judgement without a verdict is no vote, so its pair counts as not got right by it.
    """
    _, rows = select(group.data.samples, [group.own_arms[number]])
    item = np.searchsorted(group.items, rows.item)
    has_truth = truth.stage[item] > 0
    item, stages, first = item[has_truth], rows.stages[has_truth], rows.shown_first[has_truth]
    vote = votes(stages, truth.stage[item], group.n_stages)
    scored = stages > 0
    yield both_orders_correct(item, vote, len(group.items), scored)
    if not truth.between:
        yield pair_balance(item, vote, first == truth.stage[item], scored)
    verdicts = Verdicts(
        judge=np.zeros(int(scored.sum()), dtype=np.int64),
        item=item[scored],
        stages=stages[scored],
        n_judges=1,
        n_items=len(group.items),
        n_stages=group.n_stages,
    )
    yield order_inconsistency(verdicts, first[scored] == group.n_stages)
    pairs = PairJudgements(
        item=item,
        stages=stages,
        truth=truth.stage[item],
        listed=first == 1,
        n_items=len(group.items),
        n_stages=group.n_stages,
    )
    figures = list(order_figures(pairs, group.rng("kappa_between_orders", **scope)))
    yield from figures
    yield from _as_published(group, number, scope, figures)


def over_wordings(data: SweepData, groups: Sequence[Group]) -> Iterator[ResultRow]:
    """Yield the accuracy of each judge of pairs over the wordings that all its peers had too."""
    alike: dict[str, list[Group]] = defaultdict(list)
    for group in groups:
        if group.judges[0].experiment.judges_pairs and not is_subset(group):
            rest = {name: value for name, value in group.scope.items() if name != "wording"}
            alike[canonical_json(rest)].append(group)
    for same in alike.values():
        models = {judge.model for group in same for judge in group.judges}
        shared = [group for group in same if len(group.judges) == len(models)]
        if len(shared) < 2:
            continue
        scope = {name: value for name, value in same[0].scope.items() if name != "wording"}
        for number, judge in enumerate(shared[0].judges):
            truth = np.zeros(len(data.truth.value), dtype=np.int64)
            for group in shared:
                known = known_truth(group, number)
                if known is not None:
                    truth[group.items] = known
            arms = [arm for group in shared for arm in group.own_arms[number]]
            _, rows = select(data.samples, [arms])
            has_truth = truth[rows.item] > 0
            if has_truth.any():
                pairs = PairJudgements(
                    item=rows.item[has_truth],
                    stages=rows.stages[has_truth],
                    truth=truth[rows.item[has_truth]],
                    listed=rows.shown_first[has_truth] == 1,
                    n_items=len(truth),
                    n_stages=shared[0].n_stages,
                )
                about = {**scope, "judge": judge.model}
                yield result_row(accuracy_over_wordings(pairs), about, data.origin_of([arms]))


def _as_published(
    group: Group, number: int, scope: Mapping[str, str], figures: Iterable[Estimate]
) -> Iterator[Estimate]:
    """Yield each figure that the mapping has a published value of, with that value as its floor."""
    experiment = group.judges[number].experiment
    source = experiment.window.source
    if not isinstance(source, RecordedSource):
        return
    judge = experiment.model.removeprefix(f"{RECORDED}/")
    of_judge = source.published.get(judge, {}).get(experiment.wording, {})
    own = of_judge.get(scope.get("category", ""), {})
    for figure in figures:
        if figure.metric in own:
            yield replace(figure, metric=f"{figure.metric}_as_published", floor=own[figure.metric])


def _against_index(verdicts: Verdicts, index: FloatArray) -> Iterator[Estimate]:
    yield control_error(verdicts, index)
    yield control_rank_correlation(verdicts, index)


def truth_of(group: Group, ground_truth: GroundTruth, labels: tuple[str, ...]) -> Truth | str:
    """Return the truth of the group's items, or why it cannot be told.

    A label stands for the stage of that label (in any case) and its place on the 0-1 scale, an
    index v for the stage 1 + round(v(S - 1)). One label that no stage has is a mistake in the
    data or the rubric, so that nothing is told rather than a part.
    """
    items = group.items
    if ground_truth.per_item:
        value = group.data.truth.value[items]
        names = [group.data.truth.label[item] for item in items]
    else:
        value = np.full(len(items), np.nan if ground_truth.value is None else ground_truth.value)
        names = [ground_truth.label or ""] * len(items)
    number = {label.strip().casefold(): stage for stage, label in enumerate(labels, start=1)}
    unknown = sorted({name for name in names if name and name.strip().casefold() not in number})
    if unknown:
        return f"no stage of the rubric is labelled {', '.join(map(repr, unknown[:3]))}"
    stage = np.array([number.get(name.strip().casefold(), 0) for name in names], dtype=np.int64)
    indexed = np.isfinite(value)
    stage[indexed] = truth_stages(value[indexed], group.n_stages)
    if not stage.any():
        return "no item has a truth"
    index = np.where(indexed, value, (stage - 1) / (group.n_stages - 1))
    return Truth(stage, index, between=not np.isin(stage, (0, 1, group.n_stages)).all())
