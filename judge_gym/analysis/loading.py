"""Reads a sweep's data for the analysis; items are numbered in the order of their keys."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from sqlalchemy.orm import Session

from judge_gym.analysis.data import (
    Arm,
    ItemTruth,
    Judge,
    ProbeRows,
    SampleRows,
    SweepData,
)
from judge_gym.store.experiments import not_applied, sweep_tags
from judge_gym.store.sweep_data import (
    ProbeColumns,
    SampleColumns,
    SweepArm,
    TrueValue,
    arms_of_experiments,
    experiments_with_simulated_views,
    experiments_with_windows,
    probe_columns,
    sample_columns,
    true_values,
)


def load_sweep_data(session: Session, sweep: str) -> SweepData:
    """Read a sweep; raises `StoreError` when there is none of that name."""
    experiments = experiments_with_windows(session, sweep_tags(session, sweep))
    ids = list(experiments)
    items = true_values(session, ids)
    numbers = {item.item_id: number for number, item in enumerate(items)}
    samples = _samples(sample_columns(session, ids), numbers)
    probes = _probes(probe_columns(session, ids), numbers)
    stored_arms = arms_of_experiments(session, ids)
    edited = experiments_with_simulated_views(session, ids)
    simulated = {arm.id for arm in stored_arms if arm.simulated or arm.experiment_id in edited}
    simulated |= set(samples.arm[samples.simulated].tolist())
    simulated |= set(probes.arm[probes.simulated].tolist())
    arms = _arms(stored_arms)
    not_taken = not_applied(session, ids)
    return SweepData(
        judges=tuple(
            Judge(experiment, window, tuple(arms[id_]), not_taken.get(id_, ()))
            for id_, (experiment, window) in experiments.items()
        ),
        samples=samples,
        probes=probes,
        truth=_truth(items),
        simulated_arms=frozenset(simulated),
        imported_arms=frozenset(samples.arm[samples.imported].tolist()),
    )


def _truth(items: Sequence[TrueValue]) -> ItemTruth:
    return ItemTruth(
        value=np.array([np.nan if item.value is None else item.value for item in items]),
        label=tuple(item.label or "" for item in items),
        category=tuple(item.category for item in items),
    )


def _arms(stored: Sequence[SweepArm]) -> dict[int, list[Arm]]:
    """Return the arms by experiment."""
    arms: dict[int, list[Arm]] = defaultdict(list)
    for arm in stored:
        quality = np.nan if arm.quality is None else arm.quality
        arms[arm.experiment_id].append(Arm(arm.id, arm.kind, arm.rubric_owner, arm.labels, quality))
    return arms


def _samples(columns: SampleColumns, numbers: dict[int, int]) -> SampleRows:
    return SampleRows(
        arm=np.array(columns.arm, dtype=np.int64),
        item=np.array([numbers[item] for item in columns.item], dtype=np.int64),
        status=np.array(columns.status, dtype=np.str_),
        stages=np.array(columns.stages, dtype=np.int64),
        shown_first=np.array(columns.shown_first, dtype=np.int64),
        lettered_a=np.array(columns.lettered_a, dtype=np.int64),
        simulated=np.array(columns.simulated, dtype=np.bool_),
        imported=np.array(columns.imported, dtype=np.bool_),
    )


def _probes(columns: ProbeColumns, numbers: dict[int, int]) -> ProbeRows:
    return ProbeRows(
        arm=np.array(columns.arm, dtype=np.int64),
        item=np.array([numbers[item] for item in columns.item], dtype=np.int64),
        sample=np.array(columns.sample, dtype=np.int64),
        stages=np.array(columns.stages, dtype=np.int64),
        probability=np.array(columns.probability, dtype=np.float64),
        simulated=np.array(columns.simulated, dtype=np.bool_),
    )
