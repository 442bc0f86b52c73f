"""The plots of a sweep. Values come from the analysis; nothing here estimates."""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy.orm import Session

from judge_gym.analysis.data import SweepData
from judge_gym.analysis.facets import pooled_groups
from judge_gym.report.plots.content_of_judges import (
    axis_effects,
    confidence_under_swaps,
    effects_map,
    response_curves,
    stated_against_realised,
)
from judge_gym.report.plots.content_of_verdicts import (
    chosen_sets,
    polarization_map,
    verdict_shares,
    widest_disagreement,
)
from judge_gym.report.plots.plot import Plot
from judge_gym.report.plots.plotted_sweep import PlottedSweep
from judge_gym.report.scopes import group_labels
from judge_gym.store.judgement_texts import titles_of_judged_items
from judge_gym.store.results import ResultRow


def read_plots(
    session: Session, sweep: str, data: SweepData, figures: Sequence[ResultRow]
) -> list[Plot]:
    """Return the plots of a sweep, `data` being its own and `figures` those of its analysis run."""
    of_data = pooled_groups(data)
    groups = sorted([*of_data.pooled, *of_data.described], key=lambda group: bool(group.mixed))
    study = PlottedSweep(
        data=data,
        groups=groups,
        headings=group_labels([group.scope for group in groups]),
        titles=titles_of_judged_items(session, sweep),
        # Each plot says in its own words what the sweep has nothing for.
        figures=[row for row in figures if row.scope],
    )
    return [replace(plot(study), imported=data.origin.imported) for plot in _PLOTS]


_PLOTS = (
    polarization_map,
    stated_against_realised,
    confidence_under_swaps,
    verdict_shares,
    response_curves,
    chosen_sets,
    effects_map,
    axis_effects,
    widest_disagreement,
)
"""In the order of the tables they stand with; the last one opens the report."""
