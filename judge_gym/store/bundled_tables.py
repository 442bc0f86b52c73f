"""What a bundle takes of each table: which rows, and what they are when they are read elsewhere."""

from dataclasses import dataclass
from typing import cast

import sqlalchemy as sa

from judge_gym.store import tables as t

_WINDOWS = "SELECT window_id FROM experiments WHERE id = ANY ({ids})"
_ITEMS = "SELECT item_id FROM experiment_items WHERE experiment_id = ANY ({ids})"
_ARMS = "SELECT id FROM arms WHERE experiment_id = ANY ({ids})"
_SAMPLES = f"SELECT id FROM samples WHERE arm_id IN ({_ARMS})"  # noqa: S608
_VIEWED = f"SELECT id FROM documents WHERE window_id IN ({_WINDOWS})"  # noqa: S608
# Those in use, and those written for these experiments that failed or that only a sham takes.
_RUBRICS = """
    SELECT rubric_id FROM arms WHERE experiment_id = ANY ({ids})
    UNION SELECT r.id FROM rubrics AS r JOIN experiments AS x
    ON r.source = 'generated' AND r.concept = x.concept AND r.country = x.country
    AND r.scale_size = x.scale_size AND r.owner_model IN (x.model, x.config #>> '{{rubric,model}}')
    WHERE x.id = ANY ({ids})
"""
_SHARED_KEYS = (
    f"SELECT key FROM windows WHERE id IN ({_WINDOWS}) "  # noqa: S608
    f"UNION SELECT key FROM rubrics WHERE id IN ({_RUBRICS})"
)
_ANNOTATED = f"SELECT id FROM annotation_sets WHERE rubric_id IN ({_RUBRICS})"  # noqa: S608
_OF_RUNS = (
    "run_id IN (SELECT r.id FROM analysis_runs AS r JOIN sweeps AS w "
    "ON w.id = r.sweep_id WHERE w.name = {sweep})"
)


@dataclass(frozen=True)
class BundledTable:
    """A table whose rows are exported and imported."""

    mapped: type[t.Base]
    chosen: str
    """Which rows belong to the experiments `ids`, and to the `sweep` if there is one."""
    same: tuple[str, ...] = ()
    """What must agree in a row that both have, for the bundle's rows to mean the same here."""
    brought_on: tuple[str, str] | None = None
    """A column (or `*`) that a row here takes over, and when: it knew of the work, the bundle did
    it."""
    whole: tuple[str, bool] | None = None
    """Whose rows may not be mixed with others that are here, and whether they may grow."""
    named_by: tuple[str, ...] = ()
    """The columns that identify a row in every database, where no constraint says so."""

    @property
    def table(self) -> sa.Table:
        """The table itself."""
        return cast(sa.Table, self.mapped.__table__)

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that identify a row in every database: those that are unique, but for ids."""
        if self.named_by:
            return self.named_by
        primary = tuple(column.name for column in self.table.primary_key)
        if primary != ("id",):
            return primary
        unique = [
            tuple(column.name for column in constraint.columns)
            for constraint in self.table.constraints
            if isinstance(constraint, sa.UniqueConstraint) and "id" not in constraint.columns
        ]
        return min(unique, key=lambda columns: "key" not in columns)


# Not here: judges of products and panels with what they judge, which belong to no experiment, and
# what judge-gym has sent from this database (batches, limits, runs), nobody else's to fetch or to
# pay for.
_OF_SWEEP = "sweep_id IN (SELECT id FROM sweeps WHERE name = {sweep})"
_BUNDLED = (
    BundledTable(
        t.Window,
        f"id IN ({_WINDOWS})",
        brought_on=(
            "collected_at",
            "here.collected_at IS NULL AND rows.collected_at IS NOT NULL",
        ),
    ),
    BundledTable(
        t.Document,
        f"window_id IN ({_WINDOWS})",
        same=("position", "text"),
        whole=("window_id", False),
    ),
    # Nothing names one of these: a window's are taken when it has none.
    BundledTable(t.DroppedDocument, f"window_id IN ({_WINDOWS})", named_by=("window_id",)),
    BundledTable(
        t.Experiment,
        "id = ANY ({ids})",
        same=("tag", "recipe"),
        brought_on=("replicates", "here.replicates < rows.replicates"),
    ),
    BundledTable(
        t.Call,
        "experiment_id = ANY ({ids}) OR experiment_id IS NULL AND "
        f"split_part(key, '/', 2) IN ({_SHARED_KEYS})",
        same=("answer",),
        brought_on=("*", "here.status <> 'succeeded' AND rows.status = 'succeeded'"),
    ),
    BundledTable(t.View, f"document_id IN ({_VIEWED})", same=("status", "text")),
    BundledTable(t.Rubric, f"id IN ({_RUBRICS})", same=("status", "stages")),
    BundledTable(t.EvidenceItem, f"id IN ({_ITEMS})"),
    BundledTable(t.AnnotationSet, f"id IN ({_ANNOTATED})", same=("described", "rubric_id")),
    BundledTable(
        t.Annotation,
        f"set_id IN ({_ANNOTATED}) AND item_id IN ({_ITEMS})",
        same=("labels",),
    ),
    BundledTable(t.ItemDocument, f"item_id IN ({_ITEMS})"),
    BundledTable(t.ExperimentItem, "experiment_id = ANY ({ids})"),
    BundledTable(t.Arm, "experiment_id = ANY ({ids})", same=("held_out_items",)),
    BundledTable(
        t.Sample,
        f"arm_id IN ({_ARMS})",
        same=("status", "stages", "letters", "display_order"),
    ),
    BundledTable(t.Probe, f"sample_id IN ({_SAMPLES})", same=("status", "probability")),
    BundledTable(
        t.ScoreMark,
        f"sample_id IN ({_SAMPLES})",
        same=("status", "observable", "consistent", "uses_evidence"),
    ),
    BundledTable(t.Sweep, "name = {sweep}"),
    BundledTable(
        t.SweepExperiment,
        _OF_SWEEP,
        brought_on=("replicates", "here.replicates < rows.replicates"),
        whole=("sweep_id", True),
    ),
    BundledTable(t.PlanVersion, _OF_SWEEP),
    BundledTable(t.AnalysisRun, _OF_SWEEP, named_by=("sweep_id", "version", "created_at")),
    BundledTable(t.AnalysisResult, _OF_RUNS),
    BundledTable(t.AnalysisFinding, _OF_RUNS),
)
_NAMED = {bundled.table.name: bundled for bundled in _BUNDLED}
BUNDLED = {
    table.name: _NAMED[table.name]
    for table in t.Base.metadata.sorted_tables
    if table.name in _NAMED
}
"""Each table after those it refers to."""
