"""Reads what the plots of an analysis run show; the modules it calls make rows of it."""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy.orm import Session

from judge_gym.analysis.data import SweepData
from judge_gym.analysis.groups import comparison_groups
from judge_gym.report.plots.of_axes import axis_effects
from judge_gym.report.plots.of_items import polarization_map
from judge_gym.report.plots.of_probes import confidence_under_swaps, stated_and_realised
from judge_gym.report.plots.of_sets import chosen_sets
from judge_gym.report.plots.of_verdicts import verdict_shares
from judge_gym.report.plots.plot import Plot
from judge_gym.report.plots.study import Study
from judge_gym.report.scopes import group_labels
from judge_gym.store.judgement_texts import titles_of_judged_items
from judge_gym.store.results import ResultRow

_PLOTS = (
    polarization_map,
    stated_and_realised,
    confidence_under_swaps,
    verdict_shares,
    chosen_sets,
    axis_effects,
)
"""In the order of the tables they stand with."""


def read_plots(
    session: Session, sweep: str, data: SweepData, figures: Sequence[ResultRow]
) -> list[Plot]:
    """Return the plots of a sweep, `data` being its own and `figures` those of its analysis run."""
    groups = sorted(comparison_groups(data), key=lambda group: bool(group.mixed))
    study = Study(
        data=data,
        groups=groups,
        headings=group_labels([group.scope for group in groups]),
        titles=titles_of_judged_items(session, sweep),
        # What the sweep has nothing for is told by each plot in its own words.
        figures=[row for row in figures if row.scope],
    )
    return [replace(plot(study), imported=data.origin.imported) for plot in _PLOTS]
