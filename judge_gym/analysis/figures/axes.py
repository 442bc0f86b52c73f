"""The design space: contrasts of one axis, effects over the whole grid, and regressions."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from judge_gym.analysis.data import Origin, SweepData, SweepJudge, select
from judge_gym.analysis.facets import at_shared_levels, levels_apart
from judge_gym.analysis.groups import (
    Group,
    Scope,
    adjusted_by_benjamini_hochberg,
    generator_of,
    result_row,
    scopes_of,
    without,
)
from judge_gym.analysis.measures import CONFIDENCE, HEADINGS, SCORE, SHAPE, SPREAD, Measure
from judge_gym.analysis.registry import NEEDS_SHARED_ITEM, NEEDS_UNITS, Column, Figure, FigureTable
from judge_gym.counting import there_are
from judge_gym.design.axis_pairs import (
    REGROUPED,
    compared_axes,
    compared_level,
    fields_of,
    identity,
    pairs_on,
)
from judge_gym.design.experiment import Experiment
from judge_gym.metrics.cells import CellMeans, item_means, scores, set_sizes
from judge_gym.metrics.estimate import (
    Estimate,
    Remark,
    RemarkKind,
    not_estimable,
    remarked,
)
from judge_gym.metrics.inference import benjamini_hochberg, paired_contrast, unpaired_contrast
from judge_gym.metrics.ranking import (
    AxisDifference,
    concept_correlations,
    controlled_pair,
    pool_pairs,
    rank_levels,
)
from judge_gym.metrics.regression import INTERCEPT, MODELS, Fit, ModelSpec, Table, fit_model
from judge_gym.metrics.regression_checks import (
    beside_least_squares,
    check_by_mixed_model,
    check_by_ordered_logit,
)
from judge_gym.metrics.shape import ABSTAIN_SHARE, MIDDLE_MASS
from judge_gym.model_names import pair_of
from judge_gym.seeds import canonical_json
from judge_gym.store.results import ResultRow

_SCORED = "a scored verdict"
_TWO_LEVELS = "two experiments of a judge that differ in one axis alone"


def _panel_figures(prefix: str) -> tuple[Figure, ...]:
    return tuple(Figure(f"{prefix}_{name}", "share", _TWO_LEVELS) for name in HEADINGS)


def _panel_columns(prefix: str) -> tuple[Column, ...]:
    return tuple(Column(heading, f"{prefix}_{name}") for name, heading in HEADINGS.items())


TABLES = (
    FigureTable(
        "Axes over the grid",
        (
            "What changing one axis does wherever it was changed alone: mean change of the "
            "verdict on the 0-1 scale and of confidence, over settings."
        ),
        question="design",
        rank=0,
        figures=(
            Figure("axis_effect", "0-1 scale", _TWO_LEVELS),
            Figure("axis_effect_confidence", "probability", _TWO_LEVELS),
        ),
        columns=(
            Column("verdict", "axis_effect"),
            Column("confidence", "axis_effect_confidence"),
            Column("items", "axis_effect", "items"),
        ),
        formulas=(
            "Σ w·contrast / Σ w over settings, w = 1/(SE² + τ²), τ² the variance between settings",
        ),
        sources=(
            (
                "Random effects between settings: τ² by DerSimonian and Laird 1986; "
                "interval of the mean by Hartung and Knapp 2001 with their variance "
                "never below the common one (Röver, Knapp and Friede 2015)."
            ),
        ),
    ),
    FigureTable(
        "Contrasts",
        (
            "The same judge on the same items with one axis changed: change of the verdict on the "
            "0-1 scale, and of confidence (a probability). p is corrected over the contrasts of "
            "an axis (Benjamini-Hochberg)."
        ),
        question="design",
        rank=10,
        figures=(
            Figure("contrast", "0-1 scale", _TWO_LEVELS),
            Figure("contrast_confidence", "probability", _TWO_LEVELS),
        ),
        columns=(
            Column("verdict", "contrast"),
            Column("p (BH)", "contrast", "adjusted"),
            Column("confidence", "contrast_confidence"),
            Column("p (BH)", "contrast_confidence", "adjusted"),
            Column("items", "contrast", "items"),
        ),
        formulas=(
            "mean over items of (mean x, or mean c, at the second level − at the first)",
            "p by flipping signs",
            "bundles: mean over the bundles of one plan − of the other, by Welch's t",
        ),
        needs=(NEEDS_SHARED_ITEM,),
    ),
    FigureTable(
        "Axes over the grid: the shape of verdicts",
        (
            "What changing one axis does to the shape of verdicts wherever it was changed alone: "
            "change of the share of abstentions, of the mass between the ends of scales of one "
            "length, and of sets the share that name one stage and their width."
        ),
        question="design",
        rank=5,
        figures=_panel_figures("axis_effect"),
        columns=_panel_columns("axis_effect"),
        formulas=("as Axes over the grid, of the figures of How judges use their scale",),
        needs=("Needs a contrast with an interval.",),
    ),
    FigureTable(
        "Contrasts: the shape of verdicts",
        (
            "The same judge on the same items with one axis changed: change of the shape of its "
            "verdicts. p is corrected over all these figures and contrasts of an axis "
            "(Benjamini-Hochberg)."
        ),
        question="design",
        rank=15,
        figures=_panel_figures("contrast"),
        columns=_panel_columns("contrast"),
        in_terminal=False,
        formulas=("mean over items of (figure at the second level − at the first)",),
        needs=(NEEDS_SHARED_ITEM,),
    ),
    FigureTable(
        "Contrasts: how verdicts spread",
        (
            "The same judge on the same items with one axis changed: change of the share of larger "
            "sets whose stages are next to each other, and of how far two answers to the same "
            "question are apart on the 0-1 scale. p is corrected over both and the contrasts of "
            "an axis (Benjamini-Hochberg)."
        ),
        question="design",
        rank=18,
        figures=(
            Figure("contrast_adjacent_share", "share", _TWO_LEVELS),
            Figure("contrast_jitter", "0-1 scale", _TWO_LEVELS),
        ),
        columns=(
            Column("adjacent", "contrast_adjacent_share"),
            Column("jitter", "contrast_jitter"),
            Column("items", "contrast_jitter", "items"),
        ),
        in_terminal=False,
        formulas=("mean over items of (figure at the second level − at the first)",),
        needs=("Needs an item with sets of several stages, or two replicates, at both levels.",),
    ),
    FigureTable(
        "Which level gives the higher verdicts",
        "Share of controlled pairs in which a level's verdicts are the higher; 0.5 is neither.",
        question="design",
        rank=20,
        figures=(Figure("axis_share_higher", "share", _TWO_LEVELS),),
        columns=(Column("share", "axis_share_higher"), Column("pairs", "axis_share_higher", "n")),
        in_terminal=False,
        formulas=("(pairs won + half the ties) / pairs",),
        needs=(
            "Needs one pair with both figures. Wilson interval over pairs; with ties t, where "
            "n > 25·skewness².",
        ),
    ),
    FigureTable(
        "Concepts compared",
        "Rank correlation of mean scores between two concepts, over what both were judged by.",
        question="design",
        rank=40,
        figures=(Figure("concept_rank_correlation", "rho", "two concepts"),),
        columns=(
            Column("rho", "concept_rank_correlation"),
            Column("experiments", "concept_rank_correlation", "items"),
        ),
        in_terminal=False,
        formulas=("Spearman's ρ of mean x over the design points that both concepts have",),
        needs=(NEEDS_UNITS,),
    ),
    FigureTable(
        "Regression",
        (
            "Score on the 0-1 scale (or uncertainty gap) by judge, concept and axis; errors "
            "clustered by item, or by question where several items share one (CR2, "
            "Satterthwaite), p by Benjamini-Hochberg. The checks ask whether it hangs on the "
            "model: log odds of a higher stage, and random items."
        ),
        question="design",
        rank=50,
        figures=(
            Figure("regression", "0-1 scale or probability", _SCORED),
            Figure("regression_ordered_logit", "log odds", _SCORED),
            Figure("regression_mixed_model", "0-1 scale or squared 0-1 scale", _SCORED),
        ),
        columns=(
            Column("coefficient", "regression"),
            Column("p (BH)", "regression", "adjusted"),
            Column("ordered logit", "regression_ordered_logit"),
            Column("mixed model", "regression_mixed_model"),
            Column("items", "regression", "items"),
        ),
        formulas=(
            "x = β₀ + β(judge) + β(concept) + β(level of each axis) + error",
            "contested concepts (ecc): those alone, with the quality of the rubric as a term",
            "all tasks (ablation): every task",
            "uncertainty_gap: |A|/S of subset verdicts (0 for one stage) in the place of x",
            "ordered logit: log odds of a higher stage; mixed model: items, questions and owners "
            "random",
        ),
        needs=(
            (
                'A coefficient that the columns leave undetermined is "not estimable", '
                "with the columns it cannot be told apart from."
            ),
        ),
        sources=(
            (
                "Variance: CR2 of Bell and McCaffrey 2002 with an identity working "
                "model, in which residuals of cluster g are multiplied by the symmetric "
                "(pseudo) root (I - H_gg)^(-1/2): unbiased when the model's errors are "
                "independent and equal, nearly so when they are not."
            ),
            (
                "The t quantile and p have Satterthwaite degrees of freedom, a set per "
                "coefficient (Pustejovsky and Tipton 2018)."
            ),
        ),
    ),
)


@dataclass(frozen=True)
class AxisPair:
    """Two experiments of one judge that differ in one axis, and the scope of their contrast."""

    before: SweepJudge
    after: SweepJudge
    scope: Scope
    remarks: tuple[Remark, ...] = ()
    """On facets of which the two do not have the same levels."""

    @property
    def refused(self) -> str:
        """Why the two are not compared; empty where they are."""
        axis = self.scope["axis"]
        if apart := [one.names[0] for one in self.remarks if not one.number]:
            return f"its two sides have no {' and no '.join(apart)} in common"
        if not (self.before.applied(axis) and self.after.applied(axis)):
            return f"{self.before.model} did not apply {axis} as set"
        return self.other_items

    @property
    def other_items(self) -> str:
        """How the items of the two differ; empty where both are frozen with the same.

        Their digests say so: the same documents in the same bundles. Of an axis that makes other
        bundles, the window's identity says that the documents are the same.
        """
        sides = self.before.frozen, self.after.frozen
        if self.scope["axis"] in REGROUPED or sides[0] == sides[1]:
            return ""
        start, end = (
            f"{self.scope[name]} {' and '.join(f'{one.count} ({one.digest})' for one in held)}"
            for name, held in zip(("from", "to"), map(sorted, sides), strict=True)
        )
        return f"its two sides do not hold the same items: {start}, {end}"

    @property
    def left_out(self) -> list[int]:
        """Items of the data that are the same at both values: no name in them was exchanged."""
        if self.scope["axis"] != "actors":
            return []
        return sorted(self.before.unswapped | self.after.unswapped)

    def compared(self, cells: CellMeans) -> CellMeans:
        """Return cells over all items of the data without those that are left out."""
        n = cells.n.copy()
        n[:, self.left_out] = 0
        return CellMeans(cells.value, n)


def contrasts(data: SweepData, groups: Sequence[Group]) -> Iterator[ResultRow]:
    """Yield the contrasts of every pair of experiments: scores, confidence, shape of verdicts.

    p values are adjusted by Benjamini-Hochberg over the contrasts of an axis, those of the shape
    over all its figures, and so those of how sets and replicates spread: they explore.
    """
    for _, pairs in axis_pairs(data, groups):
        for measures in ((SCORE,), (CONFIDENCE,), SHAPE, SPREAD):
            tested = [
                (pair, _contrast(data, pair, measure))
                for measure in measures
                for pair in pairs
                if _applies(data, pair, measure)
            ]
            adjusted = adjusted_by_benjamini_hochberg([estimate for _, estimate in tested])
            for (pair, _), (estimate, p) in zip(tested, adjusted, strict=True):
                origin = data.origin_of([pair.before.of_kind("own"), pair.after.of_kind("own")])
                yield result_row(estimate, pair.scope, origin, p)


def axis_pairs(
    data: SweepData, groups: Sequence[Group], axes: Iterable[str] | None = None
) -> Iterator[tuple[str, list[AxisPair]]]:
    """Yield each axis with the pairs of experiments that differ in it and nothing else.

    Of these axes, by default all that are compared.
    """
    scopes = scopes_of(groups)
    identities = {judge.experiment.key: identity(judge.experiment) for judge in data.judges}
    for axis in compared_axes() if axes is None else axes:
        yield axis, list(_pairs(data.judges, identities, scopes, axis))


def _pairs(
    judges: Sequence[SweepJudge],
    identities: Mapping[str, Mapping[str, Any]],
    scopes: Mapping[str, Scope],
    axis: str,
) -> Iterator[AxisPair]:
    """Yield the pairs of experiments that differ in this axis and nothing else."""
    for before, after in pairs_on(axis, judges, lambda judge: judge.experiment, identities):
        start, end = (_level(judge.experiment, scopes, axis) for judge in (before, after))
        if start is not None and end is not None:
            scope = without(scopes[before.experiment.key], *fields_of(axis))
            change = {"axis": axis, "from": start, "to": end, "judge": before.model}
            both = at_shared_levels([before, after]) or [before, after]
            remarks = tuple(levels_apart([before, after]))
            yield AxisPair(both[0], both[1], {**scope, **change}, remarks)


def _level(experiment: Experiment, scopes: Mapping[str, Scope], axis: str) -> Any:
    """Return the axis's value as scopes show it; None where `presentation` is half and half."""
    return (
        scopes[experiment.key]["rubric"] if axis == "rubric" else compared_level(experiment, axis)
    )


def _contrast(data: SweepData, pair: AxisPair, measure: Measure) -> Estimate:
    metric = f"contrast{measure.suffix}"
    if pair.refused:
        return not_estimable(metric, pair.refused)
    before, after = _both(data, pair, measure)
    if pair.scope["axis"] in REGROUPED:
        estimate = unpaired_contrast(metric, before, after, measure.unit)
    else:
        rng = generator_of(metric, pair.scope)
        estimate = paired_contrast(metric, before, after, rng, measure.unit)
    swapped = [Remark(RemarkKind.NOTHING_SWAPPED, len(pair.left_out))] if pair.left_out else []
    return reduce(remarked, [*swapped, *pair.remarks], estimate)


def _both(data: SweepData, pair: AxisPair, measure: Measure) -> list[CellMeans]:
    """Return a measure at both values of the axis, over all items of the data."""
    items = np.arange(len(data.truth.value))
    return [
        pair.compared(measure.cells(data, [one.of_kind("own")], items, one.experiment.scale_size))
        for one in (pair.before, pair.after)
    ]


def verdicts_of(data: SweepData, pair: AxisPair) -> list[CellMeans]:
    """Return the mean verdict on the 0-1 scale at both values of the axis, over all items."""
    return _both(data, pair, SCORE)


def _applies(data: SweepData, pair: AxisPair, measure: Measure) -> bool:
    """Return whether a measure may differ by what judges do.

    Sets where both name sets, abstentions where any is, and the share between the ends on scales of
    one length: of more stages, more lie between the ends.
    """
    both = (pair.before.experiment, pair.after.experiment)
    if measure.of_sets:
        return all(one.scoring_method == "subset" for one in both)
    if measure.suffix == f"_{MIDDLE_MASS.name}":
        return both[0].scale_size == both[1].scale_size
    if measure.suffix == f"_{ABSTAIN_SHARE.name}":
        return any(cells.value.any() for cells in _both(data, pair, measure))
    return True


def rankings(data: SweepData, groups: Sequence[Group]) -> Iterator[ResultRow]:
    """Yield the pooled effect of each change of an axis, and the share of pairs a level wins.

    A level wins a pair when its verdicts are the higher ones: no level is better for that, it
    says which way an axis moves verdicts, and how often. p values of effects on the shape of
    verdicts are adjusted by Benjamini-Hochberg over all of them.
    """
    every = [
        pair
        for axis, of_axis in axis_pairs(data, groups)
        if axis not in REGROUPED
        for pair in of_axis
    ]
    of_shape = []
    for measure in (SCORE, CONFIDENCE, *SHAPE):
        metric = f"axis_effect{measure.suffix}"
        members = [pair for pair in every if _applies(data, pair, measure)]
        pairs = [_controlled(data, pair, measure) for pair in members if not pair.refused]
        changes = {_change(pair.scope): None for pair in members}
        compared = {(pair.axis, pair.start, pair.end) for pair in pairs}
        for change in (change for change in changes if change not in compared):
            axis, start, end = change
            why = {pair.other_items for pair in members if _change(pair.scope) == change} - {""}
            because = "; ".join(sorted(why)) or f"no judge applied {axis} as set"
            missing = not_estimable(metric, because)
            yield result_row(missing, {"axis": axis, "from": start, "to": end}, data.origin)
        for pooled in pool_pairs(pairs):
            scope = {"axis": pooled.axis, "from": pooled.start, "to": pooled.end}
            spread = "" if pooled.spread is None else f"; spread over settings {pooled.spread:.3f}"
            estimate = replace(pooled.pooled, metric=metric, method=pooled.pooled.method + spread)
            if measure in SHAPE:
                of_shape.append((scope, estimate))
            else:
                yield result_row(estimate, scope, data.origin)
        if metric == "axis_effect":
            for rank in rank_levels(pairs):
                estimate = replace(rank.wins, metric="axis_share_higher")
                yield result_row(estimate, {"axis": rank.axis, "level": rank.level}, data.origin)
    adjusted = adjusted_by_benjamini_hochberg([estimate for _, estimate in of_shape])
    for (scope, _), (estimate, p) in zip(of_shape, adjusted, strict=True):
        yield result_row(estimate, scope, data.origin, p)


def concepts_compared(data: SweepData, groups: Sequence[Group]) -> Iterator[ResultRow]:
    """Yield the rank correlation of mean scores between concepts, over what both were judged by."""
    values: dict[str, dict[str, float]] = defaultdict(dict)
    for group in groups:
        for judge in group.judges:
            cells = SCORE.cells(data, [judge.of_kind("own")], group.items, group.n_stages)
            per_item, _ = item_means(cells.value, cells.present)
            if len(per_item):
                experiment = judge.experiment.model_dump(
                    mode="json", exclude={"tag", "concept", "replicates", "window", "country"}
                )
                point = canonical_json([experiment, judge.experiment.window.key])
                values[judge.experiment.concept][point] = float(per_item.mean())
    for (first, second), estimate in concept_correlations(values).items():
        yield result_row(estimate, {"pair": pair_of(first, second)}, data.origin)


def _controlled(data: SweepData, pair: AxisPair, measure: Measure) -> AxisDifference:
    before, after = _both(data, pair, measure)
    axis, start, end = _change(pair.scope)
    rng = generator_of(f"axis_effect{measure.suffix}", pair.scope)
    setting = canonical_json(pair.scope)
    return controlled_pair(axis, (start, end), setting, before, after, rng, measure.unit)


def _change(scope: Scope) -> tuple[str, str, str]:
    """Return the axis of a contrast, and its two values as text."""
    return scope["axis"], str(scope["from"]), str(scope["to"])


FEWEST_ITEMS = 10
"""Items from which the checks are fitted: fewer levels tell nothing of a variance between them."""
EVERY_TERM = "every term"
"""The term of a row that says why a model was not fitted."""
_CHECKS: tuple[tuple[str, Callable[[ModelSpec, Table], Fit]], ...] = (
    ("regression_ordered_logit", check_by_ordered_logit),
    ("regression_mixed_model", check_by_mixed_model),
)


def regressions(data: SweepData, groups: Sequence[Group]) -> Iterator[ResultRow]:
    """Yield the coefficients of each model, p corrected by Benjamini-Hochberg within it.

    The scope names the `regression` and the `term`. The checks ask whether a conclusion hangs on
    the assumptions of least squares; a model of uncertainty gaps has none, as most gaps are 0.
    """
    if not any(judge.of_kind("own") for group in groups for judge in group.judges):
        return
    table = _table(data, groups)
    for spec in MODELS:
        chosen = np.ones(len(table["item"]), dtype=np.bool_)
        for name, value in spec.only.items():
            chosen &= table[name].astype(np.str_) == value
        fitted = None
        if chosen.any():
            fitted = fit_model(spec, table)
            yield from _rows("regression", fitted, data.origin)
        else:
            condition = "".join(f" with {name} {value}" for name, value in spec.only.items())
            missing = not_estimable("regression", f"it needs a scored verdict{condition}")
            yield result_row(missing, {"regression": spec.name, "term": EVERY_TERM}, data.origin)
        if spec.outcome == "score":
            items = len(np.unique(table["item"][chosen]))
            yield from _checks(spec, table, fitted, items, data.origin)


def _checks(
    spec: ModelSpec, table: Table, fitted: Fit | None, items: int, origin: Origin
) -> Iterator[ResultRow]:
    for metric, check in _CHECKS:
        if fitted and items >= FEWEST_ITEMS:
            yield from _rows(metric, beside_least_squares(check(spec, table), fitted), origin)
        else:
            because = f"it needs {FEWEST_ITEMS} items, and {there_are(items)}"
            missing = not_estimable(metric, because, n_items=items)
            yield result_row(missing, {"regression": spec.name, "term": EVERY_TERM}, origin)


def _rows(metric: str, fit: Fit, origin: Origin) -> Iterator[ResultRow]:
    tested = [
        coefficient.estimate.p
        for coefficient in fit.coefficients
        if coefficient.estimate.p is not None and coefficient.name != INTERCEPT
    ]
    adjusted = iter(benjamini_hochberg(tested))
    levels = tuple(f"{factor} {level}" for factor, level in fit.references.items())
    remarks = (Remark(RemarkKind.REFERENCES, names=levels), *fit.remarks)
    notes = "".join(f"; {note}" for note in fit.notes if note)
    for coefficient in fit.coefficients:
        corrected = coefficient.estimate.p is not None and coefficient.name != INTERCEPT
        correction = f"; Benjamini-Hochberg over {len(tested)}" if corrected else ""
        estimate = replace(
            coefficient.estimate,
            metric=metric,
            method=coefficient.estimate.method + notes + correction,
            remarks=(*coefficient.estimate.remarks, *remarks),
        )
        scope = {"regression": fit.model, "term": coefficient.name}
        yield result_row(estimate, scope, origin, next(adjusted) if corrected else None)


def _table(data: SweepData, groups: Sequence[Group]) -> dict[str, np.ndarray]:
    """Return a row per scored sample of every own arm, with its question if several share one."""
    parts = [
        _judge_columns(data, judge)
        for group in groups
        for judge in group.judges
        if judge.of_kind("own")
    ]
    table = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    items, place = np.unique(table["item"], return_inverse=True)
    questions = data.questions(items)
    return table if questions is None else {**table, "question": questions[place]}


def _judge_columns(data: SweepData, judge: SweepJudge) -> dict[str, np.ndarray]:
    experiment, own = judge.experiment, [judge.of_kind("own")]
    items = data.items_of(own)
    verdicts = data.verdicts(own, items, experiment.scale_size)
    _, rows = select(data.samples, own)
    arm = rows.arm[rows.status == "scored"]
    quality = {one.id: one.quality for one in own[0]}
    sizes, score = set_sizes(verdicts.stages), scores(verdicts)
    constant = {
        "model": experiment.model,
        "concept": experiment.concept,
        "task_type": experiment.task_type,
        "scoring_method": experiment.scoring_method,
        "evidence_view": experiment.evidence_view,
        "scale_size": experiment.scale_size,
        "rubric_owner": own[0][0].rubric_owner,
    }
    return {
        "item": items[verdicts.item],
        "score": score,
        # Of a set the stage at its middle, halves up.
        "stage": np.floor(score * (experiment.scale_size - 1) + 0.5) + 1,
        "uncertainty_gap": np.where(sizes > 1, sizes / experiment.scale_size, 0.0),
        "rubric_quality": np.array([quality[one] for one in arm.tolist()]),
        **{name: np.full(len(verdicts), value) for name, value in constant.items()},
    }


OF_SWEEP = (
    contrasts,
    rankings,
    concepts_compared,
    regressions,
)
