"""Reference cases of ../shared/oracles.json: reading them, and holding figures against them."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from judge_gym.metrics.cells import Probes, Verdicts

SHARED = Path(__file__).resolve().parents[3] / "shared"


def load_cases():
    """Every case, or none where the file is not beside this repository."""
    path = SHARED / "oracles.json"
    return json.loads(path.read_text())["cases"] if path.exists() else []


def read_csv(name):
    with (SHARED / name).open(newline="") as file:
        return list(csv.DictReader(file))


def flatten(figures, prefix=""):
    """Figures by name, those of a nested table as "table.name"."""
    flat = {}
    for name, value in figures.items():
        if isinstance(value, dict):
            flat |= flatten(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = value
    return flat


def assert_close(given, wanted, tolerance):
    """Assert that a figure (a number, numbers, a mass function, or none) is the expected one."""
    if wanted is None:
        assert given is None
    elif is_mass(wanted):
        assert given is not None
        held, due = as_mapping(given), as_mapping(wanted)
        for subset in held | due:
            assert held.get(subset, 0) == pytest.approx(due.get(subset, 0), abs=tolerance), subset
    else:
        assert np.asarray(given) == pytest.approx(np.asarray(wanted), abs=tolerance)


def is_mass(wanted):
    return isinstance(wanted, list) and all(
        isinstance(part, list) and len(part) == 2 and isinstance(part[0], list) for part in wanted
    )


def as_mapping(pairs):
    return {tuple(sorted(subset)): mass for subset, mass in pairs}


def point_verdicts(rows, n_stages, n_items):
    """Verdicts of point stages from (judge, item, stage) rows."""
    judge, item, stage = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    return Verdicts(
        judge=judge, item=item, stages=1 << (stage - 1),
        n_judges=int(judge.max()) + 1, n_items=n_items, n_stages=n_stages,
    )  # fmt: skip


def table_verdicts(units_by_raters, n_stages):
    """Verdicts of a table of stages, items x judges, None where one is missing."""
    rows = [
        (judge, item, int(stage))
        for item, stages in enumerate(units_by_raters)
        for judge, stage in enumerate(stages)
        if stage is not None
    ]
    return point_verdicts(rows, n_stages, len(units_by_raters))


def probes(rows, n_items):
    """Probes from (judge, item, stage, probability) rows."""
    judge, item, stage, probability = zip(*rows, strict=True)
    return Probes(
        judge=np.array(judge), item=np.array(item), stages=1 << (np.array(stage) - 1),
        probability=np.array(probability, dtype=float), n_judges=max(judge) + 1, n_items=n_items,
    )  # fmt: skip
