"""The regressions of the analysis plan: what they explain by what, as explicit design matrices.

A table is a mapping of columns, one entry per sample (a dict of arrays or a dataframe). Columns:
`item`; outcomes `score` ((s-1)/(S-1), see `cells.scores`) and `uncertainty_gap` (|A|/S for a
verdict that names several stages, else 0: Pl - Bel, averaged over the stages, is linear in the
mass, so that means of samples are those of cells); `model`, `concept`, `scoring_method`,
`scale_size`, `evidence_view`, `task_type`; and `rubric_quality`, NaN where no rubric was rated.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from judge_gym.metrics.cells import BoolArray, FloatArray, IntArray
from judge_gym.metrics.estimate import not_estimable
from judge_gym.metrics.intervals import EPSILON
from judge_gym.metrics.regression import Coefficient, least_squares

Table = Mapping[str, Any]
INTERCEPT = "intercept"
_FEW_VALUES = 10


@dataclass(frozen=True)
class ModelSpec:
    """One regression: `outcome` by `factors` (treatment coding) and `covariates` (as they are).

    `only` restricts the samples; `references` names the level a factor is compared with, the
    first in order where it is absent. A covariate that is the same throughout each combination
    of the factors `within` is left out: it is one with their interaction.
    """

    name: str
    outcome: str
    factors: tuple[str, ...]
    covariates: tuple[str, ...] = ()
    within: tuple[str, ...] = ()
    only: Mapping[str, str] = field(default_factory=dict)
    references: Mapping[str, str] = field(default_factory=dict)
    unit: str = "0-1 scale"


ECC = ModelSpec(
    name="ecc",
    outcome="score",
    factors=("model", "concept"),
    covariates=("rubric_quality",),
    within=("model", "concept"),
    only={"task_type": "ecc"},
)
"""Score by judge, rubric quality and concept, on contested concepts."""

ABLATION = ModelSpec(
    name="ablation",
    outcome="score",
    factors=("model", "scoring_method", "scale_size", "evidence_view", "concept"),
    references={"scoring_method": "single", "scale_size": "4", "evidence_view": "raw"},
)
"""Score by judge and axis, over all tasks. The concept is added to the terms of the sources: a
scale or view used with one concept only would else be credited with that concept's scores."""

UNCERTAINTY_GAP = ModelSpec(
    name="uncertainty_gap",
    outcome="uncertainty_gap",
    factors=("model", "concept"),
    covariates=("rubric_quality",),
    within=("model", "concept"),
    only={"scoring_method": "subset"},
    unit="probability",
)
"""Uncertainty gap by judge, concept and rubric quality, on subset verdicts."""

MODELS = (ECC, ABLATION, UNCERTAINTY_GAP)


@dataclass(frozen=True, eq=False)
class Design:
    """The matrix of a model on a table: `matrix` (n x k) with a name per column.

    `rows` says which samples of the table are in it, `references` the level each factor is
    compared with, `left_out` why a covariate is not a column, `notes` what a reader must know.
    """

    names: tuple[str, ...]
    matrix: FloatArray
    outcome: FloatArray
    item: IntArray
    rows: BoolArray
    references: Mapping[str, str]
    left_out: Mapping[str, str]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Fit:
    """A fitted model: a coefficient per term that the data have, with the reference levels."""

    model: str
    coefficients: tuple[Coefficient, ...]
    references: Mapping[str, str]
    notes: tuple[str, ...]


def fit_model(spec: ModelSpec, table: Table) -> Fit:
    """Return the model fitted by least squares with CR2 standard errors; see `least_squares`."""
    design = build_design(spec, table)
    fitted = least_squares(design.names, design.matrix, design.outcome, design.item, unit=spec.unit)
    return Fit(spec.name, with_left_out(fitted, design, spec), design.references, design.notes)


def with_left_out(
    fitted: list[Coefficient], design: Design, spec: ModelSpec
) -> tuple[Coefficient, ...]:
    """Return the coefficients, with those left out of the design as not estimable."""
    items, n = len(np.unique(design.item)), len(design.item)
    absent = [
        Coefficient(name, not_estimable(name, because, n=n, n_items=items, unit=spec.unit))
        for name, because in design.left_out.items()
    ]
    return (*fitted, *absent)


def build_design(spec: ModelSpec, table: Table) -> Design:
    """Return the design matrix of a model: intercept, level indicators, covariates.

    Factors of one level give no column. Raises ValueError for a column that the table lacks and
    for an outcome outside [0, 1].
    """
    rows = _chosen(spec, table)
    left_out, notes, kept = {}, [], []
    for name in spec.covariates:
        because, note = _covariate_obstacle(spec, table, name, rows)
        notes += [note] if note else []
        if because:
            left_out[name] = because
        else:
            kept.append(name)
    for name in kept:
        known = np.isfinite(_column(table, name).astype(np.float64))
        if missing := int((rows & ~known).sum()):
            notes.append(f"{missing} samples without {name} are left out")
        rows &= known
    names, columns, references = _indicators(spec, table, rows)
    for name in kept:
        names.append(name)
        columns.append(_column(table, name).astype(np.float64)[rows])
    return Design(
        names=tuple(names),
        matrix=np.column_stack(columns),
        outcome=_column(table, spec.outcome).astype(np.float64)[rows],
        item=np.unique(_column(table, "item")[rows], return_inverse=True)[1].astype(np.int64),
        rows=rows,
        references=references,
        left_out=left_out,
        notes=tuple(notes),
    )


def _indicators(
    spec: ModelSpec, table: Table, rows: BoolArray
) -> tuple[list[str], list[FloatArray], dict[str, str]]:
    """Return names and columns of the intercept and the levels, and the reference levels."""
    names, columns = [INTERCEPT], [np.ones(int(rows.sum()))]
    references: dict[str, str] = {}
    for factor in spec.factors:
        values = _column(table, factor)[rows]
        levels = [str(level) for level in np.unique(values)]
        if not levels:
            continue
        references[factor] = wanted if (wanted := _wanted(spec, factor)) in levels else levels[0]
        for level in levels:
            if level != references[factor]:
                names.append(f"{factor}[{level}]")
                columns.append((values.astype(np.str_) == level).astype(np.float64))
    return names, columns, references


def _chosen(spec: ModelSpec, table: Table) -> BoolArray:
    outcome = _column(table, spec.outcome).astype(np.float64)
    rows = np.isfinite(outcome)
    if ((outcome[rows] < 0) | (outcome[rows] > 1)).any():
        raise ValueError(f"{spec.outcome} lies in [0, 1]")
    for name, value in spec.only.items():
        rows &= _column(table, name).astype(np.str_) == value
    return np.asarray(rows)


def _column(table: Table, name: str) -> np.ndarray:
    if name not in table:
        raise ValueError(f"the table has no column {name!r}")
    return np.asarray(table[name])


def _wanted(spec: ModelSpec, factor: str) -> str:
    return spec.references.get(factor, "")


def _covariate_obstacle(
    spec: ModelSpec, table: Table, name: str, rows: BoolArray
) -> tuple[str, str]:
    """Return why a covariate cannot have a coefficient ("" if it can), and a note ("" if none)."""
    values = _column(table, name).astype(np.float64)
    known = rows & np.isfinite(values)
    if not known.any():
        return "no sample has it", ""
    if np.ptp(values[known]) <= EPSILON:
        return "it is the same in every sample", ""
    codes = np.zeros(int(known.sum()), dtype=np.int64)
    for factor in spec.within:
        _, code = np.unique(_column(table, factor)[known], return_inverse=True)
        codes = codes * (int(code.max()) + 1) + code
    _, cell = np.unique(codes, return_inverse=True)
    low = np.full(int(cell.max()) + 1, np.inf)
    high = -low
    np.minimum.at(low, cell, values[known])
    np.maximum.at(high, cell, values[known])
    if (high - low).max() <= EPSILON:
        told = " and ".join(spec.within)
        return f"it never differs within a {told}, so it is one with their interaction", ""
    distinct = len(np.unique(values[known]))
    few = f"{name} has {distinct} different values only: few rubrics stand behind its coefficient"
    return "", few if distinct < _FEW_VALUES else ""
