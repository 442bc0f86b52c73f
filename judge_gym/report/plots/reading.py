"""Reads what the plots of an analysis run show; the modules it calls make rows of it."""

from collections.abc import Sequence
from dataclasses import replace

import sqlalchemy as sa
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
from judge_gym.store import tables as t
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
        titles=_titles(session, sweep),
        # What the sweep has nothing for is told by each plot in its own words.
        figures=[row for row in figures if row.scope],
    )
    return [replace(plot(study), imported=data.origin.imported) for plot in _PLOTS]


def _titles(session: Session, sweep: str) -> list[str]:
    """Return the title of each item judged, in the order in which the data number them."""
    judged = (
        sa.select(t.Sample.item_id)
        .join(t.Arm, t.Arm.id == t.Sample.arm_id)
        .join(t.SweepExperiment, t.SweepExperiment.experiment_id == t.Arm.experiment_id)
        .join(t.Sweep, t.Sweep.id == t.SweepExperiment.sweep_id)
        .where(t.Sweep.name == sweep)
    )
    rows = session.execute(
        sa.select(t.Document.title, t.Document.position, t.Item.bundle_size)
        .select_from(t.Item)
        .join(t.ItemDocument, t.ItemDocument.item_id == t.Item.id)
        .join(t.Document, t.Document.id == t.ItemDocument.document_id)
        .where(t.Item.id.in_(judged), t.ItemDocument.position == 0)
        .order_by(t.Item.key.collate("C"))
    )
    return [
        (title or f"Document {position + 1}") + (f" and {size - 1} more" if size > 1 else "")
        for title, position, size in rows
    ]
