"""The hypotheses and validity checks of a sweep, decided from the figures that were made of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from judge_gym.analysis.data import Origin, SweepData
from judge_gym.analysis.facets import averaged, pooled
from judge_gym.analysis.figures.axes import AxisPair, axis_pairs
from judge_gym.analysis.groups import comparison_groups, without
from judge_gym.design.axes import written
from judge_gym.design.plans import IN_STAGES, AnalysisPlan
from judge_gym.lab.freezing import hypothesis_of
from judge_gym.metrics.estimate import Estimate, not_estimable
from judge_gym.metrics.hypotheses import (
    CONTRAST_FIGURES,
    HYPOTHESES,
    VALIDITY_CHECKS,
    Finding,
    TestedFigure,
    beyond_sham,
    correct,
    dose_steps,
    examine,
    in_stages,
    without_figure,
)
from judge_gym.seeds import canonical_json
from judge_gym.store.results import FindingRow, Planned, ResultRow

_ACCURACY, _PAIRED, _POLARIZATION = "accuracy", "pair_balance", "polarization_excess"
_PUBLISHED = "accuracy_of_all_as_published"


def findings(data: SweepData, rows: Sequence[ResultRow], planned: Planned) -> list[FindingRow]:
    """Return what the figures say about each hypothesis and validity check.

    The plan's primary outcomes confirm when it was fixed in time; everything else explores.
    """
    rows = averaged(rows)
    paired = {row.scope_key for row in rows if row.metric == _PAIRED}
    # A group of one family is not compared: it is no figure of a claim about families.
    single = {
        canonical_json(group.scope)
        for of in (data, pooled(data))
        for group in comparison_groups(of)
        if len({judge.experiment.family for judge in group.judges}) < 2
    }
    figures = [
        _figure(data, row)
        for row in rows
        if row.metric != _PAIRED
        and not (row.metric == _ACCURACY and row.scope_key in paired)
        and not (row.metric == _POLARIZATION and row.scope_key in single)
    ]
    figures += [_pair_figure(data, row) for row in rows if row.metric == _PAIRED]
    figures += [_published_figure(data, row) for row in rows if row.metric == _PUBLISHED]
    figures += beyond_sham(figures)
    plan = planned.plan
    if plan:
        figures += _dose_steps(figures, plan.contestation)
    results = examine(figures, plan.margin_of if plan else {})
    if plan:
        contrasts = list(_of_contrasts(data, figures, plan))
        results = [*contrasts, *_with_every_primary(results, plan)]

    def confirms(finding: Finding) -> bool:
        key = finding.hypothesis.key
        primary = plan is not None and (
            key in plan.keyed_contrasts or plan.is_primary(key, finding.scope)
        )
        return planned.standing.confirmatory and primary

    frozen = bool(planned.standing.frozen)
    return [_row(finding, data.origin, frozen=frozen) for finding in correct(results, confirms)]


def _of_contrasts(
    data: SweepData, figures: Sequence[TestedFigure], plan: AnalysisPlan
) -> Iterator[Finding]:
    """Yield a finding for each figure of each planned contrast, and for each that is missing."""
    over_levels = pooled(data)
    axes = dict.fromkeys(contrast.axis for contrast in plan.contrasts)
    pairs = dict(axis_pairs(over_levels, comparison_groups(over_levels), axes))
    for key, planned in plan.keyed_contrasts.items():
        hypothesis, of = hypothesis_of(key, planned), CONTRAST_FIGURES[planned.figure]
        matching = [
            figure
            for figure in figures
            if figure.estimate.metric == of.metric and planned.matches(figure.scope)
        ]
        if planned.figure in IN_STAGES:
            matching = [in_stages(one, _scale(data, one)) for one in matching]
        if matching:
            yield from examine(matching, {}, [hypothesis])
        known = {canonical_json(figure.scope) for figure in matching}
        compared = [one for one in pairs[planned.axis] if planned.matches(one.scope)]
        for one in compared:
            if canonical_json(one.scope) not in known:
                because = _no_answers(over_levels, one) or of.absent
                yield without_figure(hypothesis, planned.margin, one.scope, because)
        if not compared:
            before, after = planned.levels
            change: dict[str, Any] = {"axis": planned.axis, "from": before, "to": after}
            yield without_figure(hypothesis, planned.margin, change | planned.scope)


def _no_answers(data: SweepData, pair: AxisPair) -> str:
    """Say that a side of a pair has no readable answer; empty where both have one."""
    for side, level in ((pair.before, "from"), (pair.after, "to")):
        arms = [side.of_kind("own")]
        if not len(data.readable(arms, data.items_of(arms), side.experiment.scale_size)):
            return f"its side {written(pair.scope[level])} has no readable answer"
    return ""


def _scale(data: SweepData, figure: TestedFigure) -> int:
    """Return the stages of the scale that a contrast is made on."""
    varied = figure.scope.get("scale_size")
    return int(varied or data.judges[0].experiment.scale_size)


def _with_every_primary(found: Sequence[Finding], plan: AnalysisPlan) -> list[Finding]:
    """Return the findings, and one for each primary outcome that no figure is about.

    A planned claim without a figure is a result, too: it must not be missing among the others.
    """
    known = {hypothesis.key: hypothesis for hypothesis in (*HYPOTHESES, *VALIDITY_CHECKS)}
    missing = [
        without_figure(known[one.hypothesis], plan.margin_of[one.hypothesis], one.scope)
        for one in plan.primary
        if one.hypothesis in plan.confirmatory
        and not any(
            finding.scope
            and finding.hypothesis.key == one.hypothesis
            and one.matches(finding.scope)
            for finding in found
        )
    ]
    told = {finding.hypothesis.key for finding in missing}
    order = list(known)
    rest = [one for one in found if one.scope or one.hypothesis.key not in told]
    return sorted([*rest, *missing], key=lambda finding: order.index(finding.hypothesis.key))


def _row(finding: Finding, origin: Origin, *, frozen: bool) -> FindingRow:
    hypothesis, claim, estimate = finding.hypothesis, finding.claim, finding.estimate
    return FindingRow(
        hypothesis=hypothesis.key,
        statement=hypothesis.statement,
        estimand=hypothesis.estimand,
        scope=dict(finding.scope),
        direction=claim.direction.value,
        margin=claim.margin,
        reference=claim.reference,
        estimate=estimate.estimate if estimate else None,
        lower=estimate.lower if estimate else None,
        upper=estimate.upper if estimate else None,
        items_lower=estimate.items_lower if estimate else None,
        items_upper=estimate.items_upper if estimate else None,
        n=estimate.n if estimate else 0,
        n_items=estimate.n_items if estimate else 0,
        unit=estimate.unit if estimate else "",
        p=finding.p,
        p_adjusted=finding.p_adjusted,
        conclusion=finding.conclusion.value,
        reason=finding.reason,
        confirmatory=finding.confirmatory,
        planned=frozen and finding.confirmatory,
        simulated=origin.simulated,
        imported=origin.imported,
    )


def _figure(data: SweepData, row: ResultRow) -> TestedFigure:
    names = {field.name for field in fields(Estimate)} - {"values"}
    estimate = Estimate(**{name: getattr(row, name) for name in names})
    if row.metric == _ACCURACY and row.floor is None and row.estimate is not None:
        because = "the truth is the same stage throughout, so that guessing has no chance level"
        estimate = not_estimable(_ACCURACY, because, n=row.n, n_items=row.n_items, unit=row.unit)
    reference = (row.floor or 0.0) if row.metric == _ACCURACY else 0.0
    return TestedFigure(estimate, str(_axis_value(data, row, "task_type")), row.scope, reference)


def _pair_figure(data: SweepData, row: ResultRow) -> TestedFigure:
    """Return the accuracy of pairs that may be tied: right less wrong, beyond the judge's habit."""
    figure = _figure(data, row)
    estimate = replace(figure.estimate, metric=_ACCURACY)
    return replace(figure, estimate=estimate, reference=row.floor or 0.0)


def _published_figure(data: SweepData, row: ResultRow) -> TestedFigure:
    """Return the accuracy of a judge beside the published one."""
    figure = _figure(data, row)
    estimate = replace(figure.estimate, metric="accuracy_as_published")
    return replace(figure, estimate=estimate, reference=row.floor or 0.0)


def _axis_value(data: SweepData, row: ResultRow, name: str) -> Any:
    """Return what a scope says of an axis, or what every experiment of the sweep has."""
    return row.scope.get(name, getattr(data.judges[0].experiment, name))


def _dose_steps(figures: Sequence[TestedFigure], order: Sequence[str]) -> list[TestedFigure]:
    settings: dict[str, list[TestedFigure]] = {}
    for figure in figures:
        if figure.estimate.metric == _POLARIZATION:
            settings.setdefault(canonical_json(_setting(figure.scope)), []).append(figure)
    return [step for members in settings.values() for step in dose_steps(members, order)]


def _setting(scope: Mapping[str, object]) -> dict[str, object]:
    # A concept mostly has a window, country and task of its own.
    return without(scope, "concept", "window", "country", "task_type", "rubric")
