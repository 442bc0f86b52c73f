"""What the analysis reads of stored probes."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from judge_gym.analysis.data import ProbeRows, SweepData


def data_of(arm: list[int], sample: list[int], probability: list[float]) -> Any:
    count = len(arm)
    rows = ProbeRows(
        arm=np.array(arm, dtype=np.int64),
        item=np.array([5 if one < 12 else 7 for one in sample], dtype=np.int64),
        sample=np.array(sample, dtype=np.int64),
        stages=np.array(sample, dtype=np.int64) % 4 + 1,
        probability=np.array(probability),
        simulated=np.zeros(count, dtype=bool),
    )
    return SimpleNamespace(probes=rows)


def test_a_sample_that_was_probed_twice_counts_once_with_the_mean() -> None:
    # Samples 10 and 11 of item 5 and 12 of item 7; the first was probed twice.
    data = data_of([1, 1, 1, 2], [10, 10, 11, 12], [0.2, 0.6, 0.9, 0.5])
    arms = cast(Any, [(SimpleNamespace(id=1),), (SimpleNamespace(id=2),)])
    probes = SweepData.answered(data, arms, np.array([5, 7]))
    assert probes.probability.tolist() == pytest.approx([0.4, 0.9, 0.5])
    assert (probes.judge.tolist(), probes.item.tolist()) == ([0, 0, 1], [0, 0, 1])
    # (0.4 + 0.9) / 2, where every probe by itself would give 1.7 / 3
    assert probes.confidence().value[0, 0] == pytest.approx(0.65)


def test_without_probes_there_is_nothing_to_average() -> None:
    arms = cast(Any, [(SimpleNamespace(id=1),)])
    assert len(SweepData.answered(data_of([], [], []), arms, np.array([5]))) == 0
