"""Does a judge treat a group of items otherwise than the other judges do?

By country, outlet and category, given the consensus of the other judges; and by what was done to
the text (its view, its actors), as the same items under both texts.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from judge_gym.analysis.data import SweepData, SweepJudge
from judge_gym.analysis.figures.axes import axis_pairs
from judge_gym.analysis.groups import Group, Scope, generator_of, result_row, without
from judge_gym.analysis.registry import Column, Figure, FigureTable
from judge_gym.metrics.cells import CellMeans, mean_scores
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.inference import benjamini_hochberg
from judge_gym.metrics.item_functioning import item_functioning, paired_functioning
from judge_gym.seeds import canonical_json
from judge_gym.store.results import ResultRow

TABLES = (
    FigureTable(
        "Items that function differently",
        (
            "How much higher a judge places the items of a country, outlet or category than other "
            "items where the other judges agree on them; on the 0-1 scale. It explores: p is "
            "corrected over judges and groups (Benjamini-Hochberg)."
        ),
        question="design",
        rank=80,
        figures=(
            Figure(
                "item_functioning",
                "0-1 scale",
                "three judges under a common rubric and 5 items of two countries, outlets or "
                "categories",
            ),
        ),
        columns=(
            Column("difference", "item_functioning"),
            Column("p (BH)", "item_functioning", "adjusted"),
            Column("items", "item_functioning", "items"),
        ),
        formulas=(
            "x of the judge = a + b · consensus + difference · [item in the group] + error",
            "b = s_xy / (s_xx − s_ee + 3 · s_ee / (items − 2)) within groups, s_ee the error "
            "variance of the mean of the other judges",
        ),
        needs=("Needs three judges under a common rubric, 5 items in the group and 5 outside.",),
        sources=(
            "Fuller 1987, Measurement Error Models, section 2.5; Porter 1967; Shealy and Stout "
            "1993, Psychometrika 58 (regression correction).",
        ),
    ),
    FigureTable(
        "Texts that move one judge more",
        (
            "How much more a change of the text (its view, its actors) moved a judge's verdict "
            "than those of the other judges on the same items; on the 0-1 scale."
        ),
        question="design",
        rank=90,
        figures=(
            Figure(
                "paired_functioning",
                "0-1 scale",
                "two judges with two texts of the same items under a common rubric",
            ),
        ),
        columns=(
            Column("difference", "paired_functioning"),
            Column("p (BH)", "paired_functioning", "adjusted"),
            Column("items", "paired_functioning", "items"),
        ),
        formulas=(
            "mean over items of (change of x of the judge − mean change of x of the others)",
            "p by flipping signs",
        ),
        needs=("Needs two judges under a common rubric and an item with both texts.",),
    ),
)


PAIRED = "paired_functioning"
TEXTS = ("evidence_view", "actors")
"""Axes that change the text of an item."""
_PLACES = ("country", "window")
_MOST_OUTLETS = 12


def functioning(data: SweepData, groups: Sequence[Group]) -> Iterator[ResultRow]:
    """Yield the functioning of every group of items, then of every change of the text, by judge.

    p are adjusted by Benjamini-Hochberg over the judges and groups of one setting: they explore.
    """
    settings: dict[str, list[Group]] = defaultdict(list)
    for group in groups:
        if not group.mixed:
            settings[canonical_json(without(group.scope, *_PLACES))].append(group)
    for members in settings.values():
        yield from _corrected(data, list(_of_setting(data, members)))
    yield from _texts(data, groups)


def _corrected(data: SweepData, found: Sequence[tuple[Scope, Estimate]]) -> Iterator[ResultRow]:
    tested = [estimate.p for _, estimate in found if estimate.p is not None]
    adjusted = iter(benjamini_hochberg(tested))
    for scope, estimate in found:
        if estimate.p is None:
            yield result_row(estimate, scope, data.origin)
        else:
            note = f"; Benjamini-Hochberg over {len(tested)}"
            noted = replace(estimate, method=estimate.method + note)
            yield result_row(noted, scope, data.origin, next(adjusted))


def _of_setting(data: SweepData, groups: Sequence[Group]) -> Iterator[tuple[Scope, Estimate]]:
    """Yield the figures of the judges that judged in every window of one setting."""
    judged = [{group.judges[number].model for number in group.present} for group in groups]
    models = sorted(set.intersection(*judged))
    if len(models) < 2:
        return
    scores = np.stack([_over_groups(data, groups, model) for model in models])
    scored = np.isfinite(scores).all(axis=0)
    shared = groups[0].scope if len(groups) == 1 else without(groups[0].scope, *_PLACES)
    for kind, labels in _labels(data, groups).items():
        names = sorted({label for label in labels[scored].tolist() if label})
        if len(names) < 2 or len(names) > _MOST_OUTLETS:
            continue
        chosen = scored & (labels != "")
        # Two groups say the same of each other.
        for name in names[:1] if len(names) == 2 else names:
            focal = (labels == name)[chosen]
            for number, model in enumerate(models):
                others = np.delete(scores, number, axis=0)[:, chosen]
                estimate = item_functioning(
                    scores[number, chosen], others, focal, int(chosen.sum())
                )
                yield {**shared, "judge": model, "items_by": kind, "group": name}, estimate


def _over_groups(data: SweepData, groups: Sequence[Group], model: str) -> np.ndarray:
    """Return a judge's mean score per item of the data, NaN where it has none."""
    value = np.full(len(data.truth.value), np.nan)
    for group in groups:
        judge = next(judge for judge in group.judges if judge.model == model)
        cells = _scores(data, judge)
        value[cells.present[0]] = cells.value[0, cells.present[0]]
    return value


def _scores(data: SweepData, judge: SweepJudge) -> CellMeans:
    items = np.arange(len(data.truth.value))
    own = [judge.of_kind("own")]
    return mean_scores(data.verdicts(own, items, judge.experiment.scale_size))


def _labels(data: SweepData, groups: Sequence[Group]) -> dict[str, np.ndarray]:
    """Return kind of group → the label of each item of the data."""
    country = np.full(len(data.truth.value), "", dtype=object)
    for group in groups:
        country[group.items] = group.scope["country"]
    return {
        "country": country,
        "outlet": np.array(data.truth.outlet, dtype=object),
        "category": np.array(data.truth.category, dtype=object),
    }


def _texts(data: SweepData, groups: Sequence[Group]) -> Iterator[ResultRow]:
    common = {one.experiment.key for group in groups if not group.mixed for one in group.judges}
    for axis, pairs in axis_pairs(data, groups):
        if axis not in TEXTS:
            continue
        settings: dict[str, list[tuple[Scope, str, CellMeans]]] = defaultdict(list)
        for pair in pairs:
            if not pair.refused and pair.before.experiment.key in common:
                scope = without(pair.scope, "judge")
                change = pair.compared(_change(data, pair.before, pair.after))
                settings[canonical_json(scope)].append((scope, pair.before.model, change))
        for members in settings.values():
            yield from _corrected(data, list(_paired(members)))


def _change(data: SweepData, before: SweepJudge, after: SweepJudge) -> CellMeans:
    start, end = _scores(data, before), _scores(data, after)
    both = start.present & end.present
    return CellMeans(
        np.where(both, end.value - start.value, 0.0), np.where(both, start.n + end.n, 0)
    )


def _paired(
    members: Sequence[tuple[Scope, str, CellMeans]],
) -> Iterator[tuple[Scope, Estimate]]:
    if len(members) < 2:
        return
    present = np.all([change.present[0] for _, _, change in members], axis=0)
    changes = np.stack([change.value[0, present] for _, _, change in members])
    n = sum(int(change.n[0, present].sum()) for _, _, change in members)
    for number, (scope, model, _) in enumerate(members):
        named = {**scope, "judge": model}
        others = np.delete(changes, number, axis=0)
        rng = generator_of(PAIRED, named)
        yield named, paired_functioning(changes[number], others, n, rng)


OF_SWEEP = (functioning,)
