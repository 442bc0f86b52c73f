"""What an analysis reads as arrays, beside the same rows read and added up one by one."""

import math
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.store import tables as t
from judge_gym.store.served import Served, served
from judge_gym.store.sweep_columns import (
    STATUSES,
    CallTotals,
    SweepColumns,
    asked_of_experiments,
    sweep_columns,
)
from support.lab import SWEEP, Lab, labels, rubric

COMMON = {"rubric": {"provided": rubric(*labels(4))}}
SENT = datetime(2026, 3, 4, 5, 6, 7, 891_011, tzinfo=UTC)
COSTS = (Decimal("0.00000001"), Decimal("0.1"), Decimal("0.2"), Decimal("12.34567891"))
"""Of which the sum as floats differs from the decimal one."""


@pytest.fixture
def lab(database: str) -> Lab:
    """Two judges, one of them at two temperatures with other replicates; calls of many kinds."""
    lab = Lab(database)
    lab.documents([None] * 4)
    outcomes = [[1, 2, "failed"], [3, 3, 1], [4, 4, "abstained"], [2, 2, 2]]
    one = [[0.25, 0.5], [0.5], [0.75], [1.0]]
    lab.own("acme/alpha-1", outcomes, probes=one, chances=[[0.1, None, None]] * 4, **COMMON)
    lab.own("acme/alpha-1", outcomes, temperature=0.5, **COMMON)
    lab.own("bolt/beta-1", [[1], [2], [3], [4]], probes=one, **COMMON)
    lab.own("core/gamma-1", [[1, 1]] * 4, simulated=True, **COMMON)
    with Session(lab.engine) as session, session.begin():
        for number, row in enumerate(_asked(session)):
            row.call_id = _call(session, number)
        # One of two experiments with three replicates declares two.
        experiment = sa.select(sa.func.min(t.Experiment.id)).scalar_subquery()
        session.execute(
            sa.update(t.SweepExperiment)
            .where(t.SweepExperiment.experiment_id == experiment)
            .values(replicates=2)
        )
        first = session.scalars(sa.select(t.Sample).order_by(t.Sample.id)).first()
        assert first is not None
        first.imported, first.call_id = True, None
        session.execute(
            sa.update(t.Probe)
            .where(t.Probe.id == sa.select(sa.func.min(t.Probe.id)).scalar_subquery())
            .values(status="failed", probability=None, failure="server")
        )
    return lab


def _asked(session: Session) -> Iterator[Any]:
    for table in (t.Sample, t.Probe):
        yield from session.scalars(sa.select(table).order_by(table.id)).all()


def _call(session: Session, number: int) -> int | None:
    """Write a call of one of many kinds, or none."""
    if number in (3, 30, 37):
        return None
    call = t.Call(
        key=f"asked/{number}",
        workflow="w3-scoring",
        agent="scorer",
        provider="acme",
        model="m",
        messages=[],
        template="score",
        template_hash="0",
        parameters={},
        status="succeeded",
        answer="text",
        cost_usd=None if number == 5 else COSTS[number % 4],
        served_model=("one", "two", "", None)[number % 3 if number < 30 else 3 - number % 4],
        fingerprint=(None, "", "fp", "fq")[number % 4],
        sent_at=SENT + timedelta(microseconds=number),
    )
    session.add(call)
    session.flush()
    return call.id


def rows_of(session: Session, table: Any) -> list[Any]:
    """Return the rows of a table with their experiment, call and sample, of what is declared."""
    query = (
        sa.select(table, t.Sample, t.Arm.experiment_id, t.Call)
        .select_from(t.Sample)
        .join(t.Arm, t.Arm.id == t.Sample.arm_id)
        .join(t.SweepExperiment, t.SweepExperiment.experiment_id == t.Arm.experiment_id)
        .where(t.Sample.replicate < t.SweepExperiment.replicates)
        .order_by(table.id)
    )
    if table is t.Probe:
        query = query.join(t.Probe, t.Probe.sample_id == t.Sample.id)
    return list(session.execute(query.outerjoin(t.Call, t.Call.id == table.call_id)))


def read(session: Session) -> SweepColumns:
    ids = session.scalars(sa.select(t.SweepExperiment.experiment_id)).all()
    return sweep_columns(session, ids, SWEEP)


def test_columns_have_what_the_rows_have(lab: Lab) -> None:
    with Session(lab.engine) as session:
        columns, samples, probes = (
            read(session),
            rows_of(session, t.Sample),
            rows_of(session, t.Probe),
        )
        found = columns.samples
        expected = [
            (
                *(one.arm_id, one.item_id, one.replicate, one.simulated, one.imported),
                *(STATUSES.index(one.status), one.stages or 0, one.display_order[0]),
                one.letters.index("A") + 1,
                one.letter_probability or math.nan,
                math.nan
                if one.imported
                else (call.sent_at if call else one.created_at).timestamp(),
            )
            for one, _, _, call in samples
        ]
        assert len(expected) == 12 - 4 + 12 + 4 + 8
        _equal(
            expected,
            *(found.arm, found.item, found.replicate, found.simulated, found.imported),
            *(found.status, found.stages, found.shown_first, found.lettered_a),
            *(found.letter_probability, found.answered_at),
        )
        asked = columns.probes
        _equal(
            [
                (
                    *(sample.arm_id, sample.item_id, sample.replicate, one.replicate, sample.id),
                    *(sample.stages or 0, one.status == "answered"),
                    math.nan if one.probability is None else one.probability,
                )
                for one, sample, _, _ in probes
            ],
            *(asked.arm, asked.item, asked.replicate, asked.probe, asked.sample, asked.stages),
            *(asked.answered, asked.probability),
        )
        assert not asked.answered.all()


def _equal(expected: list[tuple[Any, ...]], *found: np.ndarray) -> None:
    given = np.column_stack([column.astype(float) for column in found])
    wanted = np.array(expected, dtype=float)
    np.testing.assert_array_equal(*(rows[np.lexsort(rows.T[::-1])] for rows in (given, wanted)))


def test_what_was_asked_is_added_up_exactly(lab: Lab) -> None:
    with Session(lab.engine) as session:
        found = asked_of_experiments(read(session))
        counts: dict[int, list[int]] = defaultdict(lambda: [0, 0])
        costs: dict[int, list[Decimal | None]] = defaultdict(list)
        for kind, table in enumerate((t.Sample, t.Probe)):
            for one, _, experiment, call in rows_of(session, table):
                counts[experiment][kind] += 1
                costs[experiment].append(None if one.simulated or not call else call.cost_usd)
    expected = {
        id_: CallTotals(
            *counts[id_],
            None if None in costs[id_] else float(sum(map(Decimal, filter(None, costs[id_])))),
        )
        for id_ in counts
    }
    assert found == expected
    known = [totals.cost for totals in found.values() if totals.cost is not None]
    assert known
    assert len(known) < len(found)


def test_who_answered_is_counted_by_item(lab: Lab) -> None:
    with Session(lab.engine) as session:
        found = served(session, read(session))
        cells: dict[tuple[int, int], dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        marks: dict[tuple[int, int], set[str]] = defaultdict(set)
        for table in (t.Sample, t.Probe):
            for _, sample, experiment, call in rows_of(session, table):
                if call is not None:
                    arm = (experiment, sample.arm_id)
                    cells[arm][sample.item_id] |= {call.served_model} - {None}
                    marks[arm] |= {call.fingerprint} - {None}
    assert found == [
        Served(
            arm[0],
            tuple(sorted(set().union(*by_item.values()))),
            len(marks[arm]),
            sum(len(models) > 1 for models in by_item.values()),
        )
        for arm, by_item in sorted(cells.items())
    ]
    assert any(one.mixed for one in found)
    assert any("" in one.models for one in found)


def test_a_sweep_without_samples_has_empty_columns(database: str) -> None:
    lab = Lab(database)
    with Session(lab.engine) as session:
        columns = read(session)
        assert asked_of_experiments(columns) == {}
        assert served(session, columns) == []
    assert columns.samples.arm.dtype == np.int64
    assert len(columns.probes.probability) == 0
