"""What a run made, by natural key: equal for two runs in two databases that went alike.

Left out are ids, moments and durations, and how often and with what errors a call was sent.
"""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from judge_gym.store import tables as t

Rows = dict[str, dict[Any, dict[str, Any]]]
"""Table → natural key → the other columns."""

_OF_THE_RUN = {"id", "created_at", "sent_at", "finished_at", "latency_ms", "attempts", "errors"}
_SAMPLE = (t.Experiment.key, t.Arm.arm, t.Rubric.key, t.EvidenceItem.key, t.Sample.replicate)


def natural_rows(url: str) -> Rows:
    """Every call, view, rubric, sample and probe, and the figures of the newest analysis."""
    with sa.create_engine(url, poolclass=sa.NullPool).connect() as connection:
        newest = connection.scalar(sa.select(sa.func.max(t.AnalysisRun.id)))
        figures = t.AnalysisResult.metric, t.AnalysisResult.scope_key
        return {
            "llm_calls": _keyed(connection, t.Call, [t.Call.key]),
            "views": _keyed(connection, t.View, [t.Document.key, t.View.view], t.Document),
            "rubrics": _keyed(connection, t.Rubric, [t.Rubric.key]),
            "samples": _keyed(connection, t.Sample, _SAMPLE, *_OF_A_SAMPLE),
            "probes": _keyed(
                connection, t.Probe, [*_SAMPLE, t.Probe.replicate], t.Sample, *_OF_A_SAMPLE
            ),
            "analysis_results": _keyed(
                connection,
                t.AnalysisResult,
                figures,
                where=sa.and_(
                    t.AnalysisResult.run_id == newest,
                    # The one figure that is about when calls were answered.
                    t.AnalysisResult.metric.not_like("replicate_time_correlation%"),
                ),
            ),
        }


_OF_A_SAMPLE = (
    (t.Arm, t.Arm.id == t.Sample.arm_id),
    (t.Experiment, t.Experiment.id == t.Arm.experiment_id),
    (t.Rubric, t.Rubric.id == t.Arm.rubric_id),
    (t.EvidenceItem, t.EvidenceItem.id == t.Sample.item_id),
)


def _keyed(
    connection: sa.Connection, table: Any, key: Sequence[Any], *joins: Any, where: Any = None
) -> dict[Any, dict[str, Any]]:
    columns = [
        column
        for column in sa.inspect(table).columns
        if column.name not in _OF_THE_RUN and not column.name.endswith("_id")
    ]
    query = sa.select(*(part.label(None) for part in (*key, *columns))).select_from(table)
    for join in joins:
        query = query.join(*join) if isinstance(join, tuple) else query.join(join)
    rows = connection.execute(query if where is None else query.where(where)).all()
    names = [column.name for column in columns]
    found = {tuple(row[: len(key)]): dict(zip(names, row[len(key) :], strict=True)) for row in rows}
    assert len(found) == len(rows), f"{table.__tablename__} holds something twice"
    return found
