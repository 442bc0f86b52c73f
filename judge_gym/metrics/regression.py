"""The regressions of the analysis plan: least squares with standard errors clustered by item.

CR2 standard errors with Satterthwaite degrees of freedom, by question where several items share
one. Samples of one item are not independent:
naive least squares rejects a true null concept effect 31% of the time at 15 items of 5 samples.
A coefficient that the design cannot identify is not estimated.

A table is a mapping of columns, one entry per sample (a dict of arrays or a dataframe). Columns:
`item`; `question`, what it answers, where several items share one; outcomes `score`
((s-1)/(S-1), see `cells.scores`) and `uncertainty_gap` (|A|/S for a verdict that names several
stages, else 0: Pl - Bel, averaged over the stages, is linear in the mass, so that means of samples
are those of cells); `model`, `concept`, `scoring_method`,
`scale_size`, `evidence_view`, `task_type`; and `rubric_quality`, NaN where no rubric was rated.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from judge_gym.metrics.cells import BoolArray, FloatArray, IntArray, numbered
from judge_gym.metrics.estimate import EPSILON, Estimate, Remark, RemarkKind, not_estimable

SINGULAR = 1e-8
"""Relative size below which a direction of the design counts as absent."""
ADVISED_DF = 4.0
_NAMED_PARTNERS = 4
_NOTHING_LEFT = "the items leave no variation around it"


@dataclass(frozen=True)
class Coefficient:
    """One coefficient: the figure, its degrees of freedom and standard error (None without)."""

    name: str
    estimate: Estimate
    df: float | None = None
    standard_error: float | None = None


@dataclass(frozen=True, eq=False)
class _Basis:
    """The column space of a design: Z (n x r, orthonormal), and β = `back` · Z'y.

    `null_projection` projects onto the directions of the coefficients that the design does not see.
    """

    z: FloatArray
    back: FloatArray
    null_projection: FloatArray


def least_squares(
    names: Sequence[str],
    design: FloatArray,
    outcome: FloatArray,
    item: IntArray,
    *,
    question: IntArray | None = None,
    unit: str = "0-1 scale",
) -> list[Coefficient]:
    """Return a coefficient per column of `design` (n x k), outcome (n) clustered by `item` (n).

    With a `question` of each sample it is clustered by that, as several items share one. Variance:
    CR2 of Bell and McCaffrey 2002 with an identity working model, in which residuals of cluster g
    are multiplied by the symmetric (pseudo) root (I - H_gg)^(-1/2): unbiased when the model's
    errors are independent and equal, nearly so when they are not. The t quantile and p have
    Satterthwaite degrees of freedom, a set per coefficient (Pustejovsky and Tipton 2018).
    A coefficient that the columns leave undetermined is "not estimable", with the columns it
    cannot be told apart from. Never raises for singular data; ValueError for NaN or for lengths
    that differ. Costs n·k² + G·k³ for G items.
    """
    _check(names, design, outcome, item)
    by = item if question is None else question
    clusters, cluster = np.unique(by, return_inverse=True)
    items = len(np.unique(item))
    obstacle = _obstacle(outcome, len(clusters), unit_of(question))
    if obstacle:
        return [missing_coefficient(name, obstacle, item, unit) for name in names]
    basis = _basis(design)
    projected = basis.z.T @ outcome
    beta = basis.back @ projected
    variance = _ClusterVariance(basis.z, outcome - basis.z @ projected, cluster, len(clusters))
    reasons = _reasons(names, basis.null_projection)
    coefficients = []
    for j, name in enumerate(names):
        if name in reasons:
            coefficients.append(missing_coefficient(name, reasons[name], item, unit))
            continue
        point = Estimate(
            name, float(beta[j]), None, None, len(item), items, unit=unit,
            method=f"least squares; CR2 by {unit_of(question)}, Satterthwaite t",
            because=_NOTHING_LEFT,
        )  # fmt: skip
        result = variance.of(basis.back[j])
        coefficients.append(_from_variance(point, result) if result else Coefficient(name, point))
    return coefficients


def unit_of(question: IntArray | None) -> str:
    """Return what samples are clustered by."""
    return "item" if question is None else "question"


class _ClusterVariance:
    """The CR2 variance of a linear combination a'Z'y, and its degrees of freedom.

    With orthonormal Z, Z_g'(I - Z_g Z_g')^(-1/2) = (I - Z_g'Z_g)^(-1/2) Z_g': everything is done
    on r x r matrices per cluster, never on n x n ones.
    """

    def __init__(self, z: FloatArray, residual: FloatArray, cluster: IntArray, g: int) -> None:
        order = np.argsort(cluster, kind="stable")
        ends = np.searchsorted(cluster[order], np.arange(1, g))
        parts = np.split(z[order], ends)
        self._gram = np.stack([part.T @ part for part in parts])
        weight, vectors = np.linalg.eigh(self._gram)
        spare = 1 - weight
        # A cluster that alone determines a direction has no residual there: the pseudo root.
        root = np.where(spare > SINGULAR, np.clip(spare, SINGULAR, None) ** -0.5, 0.0)
        self._root = (vectors * root[:, None, :]) @ vectors.swapaxes(1, 2)
        left = np.split(residual[order], ends)
        scores = np.stack([part.T @ rest for part, rest in zip(parts, left, strict=True)])
        self._scores = (self._root @ scores[:, :, None])[:, :, 0]
        self._scale = float(residual @ residual)

    def of(self, a: FloatArray) -> tuple[float, float] | None:
        """Return variance and degrees of freedom of a'Z'y; None where no residual is left."""
        variance = float(((self._scores @ a) ** 2).sum())
        direction = self._root @ a
        seen = (self._gram @ direction[:, :, None])[:, :, 0]
        own = (direction * seen).sum(axis=1)
        shared = (seen**2).sum(axis=1)
        # Ω_gh = own_g [g = h] - seen_g · seen_h; df = (tr Ω)² / tr Ω².
        trace = float((own - shared).sum())
        squares = float((own**2).sum() - 2 * (own * shared).sum() + ((seen.T @ seen) ** 2).sum())
        size = float(a @ a)
        if trace <= SINGULAR * size or squares <= (SINGULAR * size) ** 2:
            return None
        if variance <= SINGULAR**2 * max(size * self._scale, np.finfo(float).tiny):
            return None
        return variance, trace**2 / squares


def few_degrees(df: float) -> tuple[Remark, ...]:
    """Return the remark on an interval by t with fewer degrees of freedom than `ADVISED_DF`."""
    return (Remark(RemarkKind.FEW_DEGREES, df, ADVISED_DF),) if df < ADVISED_DF else ()


def t_coefficient(coefficient: Estimate, error: float, df: float) -> Coefficient:
    """Return the estimate with t interval and two-sided p from a standard error and its df."""
    from scipy.special import stdtr, stdtrit

    value = coefficient.estimate or 0.0
    half = float(stdtrit(df, 0.975)) * error
    tested = replace(
        coefficient,
        lower=value - half,
        upper=value + half,
        p=float(2 * stdtr(df, -abs(value) / error)),
        because="",
        remarks=(*coefficient.remarks, *few_degrees(df)),
    )
    return Coefficient(tested.metric, tested, df, error)


def _from_variance(point: Estimate, result: tuple[float, float]) -> Coefficient:
    variance, df = result
    return t_coefficient(point, variance**0.5, df)


def missing_coefficient(name: str, because: str, item: IntArray, unit: str) -> Coefficient:
    """Return a coefficient that is "not estimable, because ..."."""
    result = not_estimable(name, because, n=len(item), n_items=len(np.unique(item)), unit=unit)
    return Coefficient(name, result)


def undetermined(names: Sequence[str], design: FloatArray) -> dict[str, str]:
    """Return name → why the columns of `design` leave its coefficient undetermined."""
    return _reasons(names, _basis(design).null_projection)


def _basis(design: FloatArray) -> _Basis:
    norms = np.linalg.norm(design, axis=0)
    # Columns of one length each, so that a covariate's unit does not decide what is singular.
    norms = np.where(norms > 0, norms, 1.0)
    q, triangle = np.linalg.qr(design / norms)
    u, singular, vt = np.linalg.svd(triangle)
    rank = int((singular > SINGULAR * singular[0]).sum())
    null = vt[rank:]
    return _Basis(
        z=q @ u[:, :rank],
        back=(vt[:rank].T / singular[:rank]) / norms[:, None],
        null_projection=null.T @ null,
    )


def _reasons(names: Sequence[str], null_projection: FloatArray) -> dict[str, str]:
    loose = np.sqrt(SINGULAR)
    reasons = {}
    for j, name in enumerate(names):
        if null_projection[j, j] <= loose:
            continue
        partners = [
            names[int(i)] for i in np.flatnonzero(abs(null_projection[j]) > loose) if i != j
        ]
        if not partners:
            reasons[name] = "no sample differs in it"
            continue
        more = len(partners) - _NAMED_PARTNERS
        shown = ", ".join(partners[:_NAMED_PARTNERS]) + (f" and {more} more" if more > 0 else "")
        reasons[name] = f"the design cannot tell it apart from {shown}"
    return reasons


def _obstacle(outcome: FloatArray, clusters: int, unit: str) -> str:
    if clusters < 2:
        return f"standard errors need 2 {unit}s, and there {_are(clusters)}"
    if np.ptp(outcome) <= SINGULAR:
        return "the outcome is the same in every sample"
    return ""


def _are(count: int) -> str:
    return "is 1" if count == 1 else f"are {count}"


def _check(names: Sequence[str], design: FloatArray, outcome: FloatArray, item: IntArray) -> None:
    if design.shape != (len(outcome), len(names)) or len(item) != len(outcome):
        raise ValueError(
            f"design {design.shape}, {len(names)} names, {len(outcome)} outcomes, {len(item)} items"
        )
    if not (np.isfinite(design).all() and np.isfinite(outcome).all()):
        raise ValueError("design and outcome hold finite numbers only")


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
class DesignMatrix:
    """The matrix of a model on a table: `matrix` (n x k) with a name per column.

    `rows` says which samples of the table are in it, `references` the level each factor is
    compared with, `left_out` why a covariate is not a column, `notes` how it was made, `remarks`
    what a reader must know.
    """

    names: tuple[str, ...]
    matrix: FloatArray
    outcome: FloatArray
    item: IntArray
    question: IntArray | None
    rows: BoolArray
    references: Mapping[str, str]
    left_out: Mapping[str, str]
    notes: tuple[str, ...]
    remarks: tuple[Remark, ...]


@dataclass(frozen=True)
class Fit:
    """A fitted model: a coefficient per term that the data have, with the reference levels."""

    model: str
    coefficients: tuple[Coefficient, ...]
    references: Mapping[str, str]
    notes: tuple[str, ...]
    remarks: tuple[Remark, ...]


def fit_model(spec: ModelSpec, table: Table) -> Fit:
    """Return the model fitted by least squares with CR2 standard errors; see `least_squares`."""
    design = build_design(spec, table)
    fitted = least_squares(
        design.names, design.matrix, design.outcome, design.item, question=design.question,
        unit=spec.unit,
    )  # fmt: skip
    return fit_of(fitted, design, spec)


def fit_of(fitted: list[Coefficient], design: DesignMatrix, spec: ModelSpec) -> Fit:
    """Return the fit of these coefficients, with what the design says of them."""
    return Fit(
        spec.name,
        with_left_out(fitted, design, spec),
        design.references,
        design.notes,
        design.remarks,
    )


def with_left_out(
    fitted: list[Coefficient], design: DesignMatrix, spec: ModelSpec
) -> tuple[Coefficient, ...]:
    """Return the coefficients, with those left out of the design as not estimable."""
    items, n = len(np.unique(design.item)), len(design.item)
    absent = [
        Coefficient(name, not_estimable(name, because, n=n, n_items=items, unit=spec.unit))
        for name, because in design.left_out.items()
    ]
    return (*fitted, *absent)


def build_design(spec: ModelSpec, table: Table) -> DesignMatrix:
    """Return the design matrix of a model: intercept, level indicators, covariates.

    Factors of one level give no column. Raises ValueError for a column that the table lacks and
    for an outcome outside [0, 1].
    """
    rows = _chosen(spec, table)
    left_out, notes, remarks, kept = {}, [], [], []
    for name in spec.covariates:
        because, note = _covariate_obstacle(spec, table, name, rows)
        notes += [note] if note else []
        if because:
            left_out[name] = because
        else:
            kept.append(name)
    for name in kept:
        finite = np.isfinite(_column(table, name).astype(np.float64))
        if missing := int((rows & ~finite).sum()):
            remarks.append(Remark(RemarkKind.SAMPLES_LEFT_OUT, missing, names=(name,)))
        rows &= finite
    names, columns, references = _indicators(spec, table, rows)
    for name in kept:
        names.append(name)
        columns.append(_column(table, name).astype(np.float64)[rows])
    return DesignMatrix(
        names=tuple(names),
        matrix=np.column_stack(columns),
        outcome=_column(table, spec.outcome).astype(np.float64)[rows],
        item=numbered(_column(table, "item")[rows]),
        question=numbered(_column(table, "question")[rows]) if "question" in table else None,
        rows=rows,
        references=references,
        left_out=left_out,
        notes=tuple(notes),
        remarks=tuple(remarks),
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
        references[factor] = (
            reference if (reference := _wanted(spec, factor)) in levels else levels[0]
        )
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
    finite = rows & np.isfinite(values)
    if not finite.any():
        return "no sample has it", ""
    if np.ptp(values[finite]) <= EPSILON:
        return "it is the same in every sample", ""
    codes = np.zeros(int(finite.sum()), dtype=np.int64)
    for factor in spec.within:
        _, code = np.unique(_column(table, factor)[finite], return_inverse=True)
        codes = codes * (int(code.max()) + 1) + code
    _, cell = np.unique(codes, return_inverse=True)
    low = np.full(int(cell.max()) + 1, np.inf)
    high = -low
    np.minimum.at(low, cell, values[finite])
    np.maximum.at(high, cell, values[finite])
    if (high - low).max() <= EPSILON:
        factors = " and ".join(spec.within)
        return f"it never differs within a {factors}, so it is one with their interaction", ""
    distinct = len(np.unique(values[finite]))
    few = f"{name} has {distinct} different values only: few rubrics stand behind its coefficient"
    return "", few if distinct < _FEW_VALUES else ""
