"""Builders for small hand-written inputs."""

import numpy as np
import pytest

from judge_gym.metrics.cells import Probes, Verdicts


def bitmask(verdict):
    """Stage 2 -> 0b10, stages (1, 3) -> 0b101."""
    stages = (verdict,) if isinstance(verdict, int) else verdict
    return sum(1 << (stage - 1) for stage in stages)


def flatten(table):
    """Yield (judge, item, entry) from a table[judge][item] of lists of entries."""
    return [
        (judge, item, entry)
        for judge, items in enumerate(table)
        for item, entries in enumerate(items)
        for entry in entries
    ]


def columns(rows):
    judge, item, entry = zip(*rows, strict=True) if rows else ((), (), ())
    return np.array(judge, dtype=np.int64), np.array(item, dtype=np.int64), list(entry)


@pytest.fixture(scope="session")
def build_verdicts():
    """Build Verdicts from table[judge][item] = list of stages (or tuples of stages)."""

    def build(table, n_stages=4):
        judge, item, entry = columns(flatten(table))
        return Verdicts(
            judge=judge,
            item=item,
            stages=np.array([bitmask(verdict) for verdict in entry], dtype=np.int64),
            n_judges=len(table),
            n_items=len(table[0]),
            n_stages=n_stages,
        )

    return build


@pytest.fixture(scope="session")
def build_probes():
    """Build Probes from table[judge][item] = list of (verdict, probability)."""

    def build(table):
        judge, item, entry = columns(flatten(table))
        return Probes(
            judge=judge,
            item=item,
            stages=np.array([bitmask(verdict) for verdict, _ in entry], dtype=np.int64),
            probability=np.array([probability for _, probability in entry], dtype=np.float64),
            n_judges=len(table),
            n_items=len(table[0]),
        )

    return build


@pytest.fixture
def rng():
    return np.random.default_rng(20240229)
