"""How far judge families stand apart."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from judge_gym.analysis.data import select
from judge_gym.analysis.groups import Group, adjusted_by_holm
from judge_gym.analysis.registry import LIN, NEEDS_REPLICATES, Column, Figure, FigureTable
from judge_gym.metrics.cells import IntArray, Verdicts
from judge_gym.metrics.consistency import time_correlation
from judge_gym.metrics.estimate import (
    Estimate,
    Remark,
    RemarkKind,
    not_estimable,
    remarked,
)
from judge_gym.metrics.margins import ALPHA
from judge_gym.metrics.polarization import (
    Divergence,
    corrected_polarization,
    measure_polarization,
    polarization_by_pair,
)
from judge_gym.model_names import pair_of
from judge_gym.store.results import ResultRow

_FLOOR = (
    "The floor is what judges without any difference would show at this number of verdicts: "
    "read the excess above it. Intervals are 95% over items."
)

TABLES = (
    FigureTable(
        "Polarization",
        f"How far judge families stand apart on the same items, in bits from 0 to 1. {_FLOOR}",
        question="stand-apart",
        rank=0,
        figures=(
            Figure("polarization", "bits"),
            Figure("polarization_excess", "bits"),
            Figure("polarization_corrected", "bits"),
            Figure("replicate_time_correlation", "correlation"),
        ),
        columns=(
            Column("P", "polarization"),
            Column("floor P0", "polarization", "floor"),
            Column("P - P0", "polarization_excess"),
            Column("P corrected", "polarization_corrected"),
            Column("p", "polarization", "p"),
            Column("in time", "replicate_time_correlation"),
            Column("items", "polarization", "items"),
            Column("verdicts", "polarization", "n"),
        ),
        across=True,
        of_all_samples=True,
        formulas=(
            "P = mean over items of the mean over pairs of families of JSD(pᵢ, pⱼ), in bits",
            "JSD(p, q) = H((p + q)/2) − (H(p) + H(q))/2, H(p) = −Σ p(s)·log₂ p(s)",
            "P0 = mean of P when the samples of an item are dealt to the judges at random",
            "p = (1 + deals that reach P) / (1 + deals)",
            (
                "in time = how much more replicates answered one after the other agree than others "
                "of their cell, as a correlation: 0 where P0 and p hold"
            ),
            (
                "P corrected = P − Σ over judges of (n − 1)·(mean of P without one of its n "
                "samples − P), per item"
            ),
        ),
        needs=(NEEDS_REPLICATES,),
        sources=(
            LIN,
            "P corrected: Zahl 1977, Ecology 58.",
        ),
    ),
    FigureTable(
        "Polarization by pair",
        (
            "Which two families stand apart, in bits from 0 to 1; each pair has a floor of its "
            "own, and p is corrected for the number of pairs (Holm)."
        ),
        question="stand-apart",
        rank=10,
        figures=(
            Figure("polarization_pair", "bits", "verdicts of two judge families on the same items"),
        ),
        columns=(
            Column("P", "polarization_pair"),
            Column("floor P0", "polarization_pair", "floor"),
            Column("p (Holm)", "polarization_pair", "adjusted"),
            Column("items", "polarization_pair", "items"),
            Column("verdicts", "polarization_pair", "n"),
        ),
        across=True,
        of_all_samples=True,
        in_terminal=False,
        formulas=("Pᵢⱼ = mean over items of JSD(pᵢ, pⱼ), in bits",),
        needs=(NEEDS_REPLICATES,),
        sources=(LIN,),
    ),
    FigureTable(
        "Polarization by distance",
        (
            "The same by how many stages apart the verdicts are, as a share of the scale's length: "
            "near stages count less."
        ),
        question="stand-apart",
        rank=20,
        figures=(
            Figure("polarization_ordinal", "share of the scale"),
            Figure("polarization_ordinal_excess", "share of the scale"),
        ),
        columns=(
            Column("P", "polarization_ordinal"),
            Column("floor P0", "polarization_ordinal", "floor"),
            Column("P - P0", "polarization_ordinal_excess"),
            Column("p", "polarization_ordinal", "p"),
            Column("items", "polarization_ordinal", "items"),
            Column("verdicts", "polarization_ordinal", "n"),
        ),
        across=True,
        of_all_samples=True,
        formulas=(
            (
                "as P, with W(p, q) = Σ |F(s) − G(s)| / (S − 1) in the place of JSD, "
                "F and G the cumulative shares, from 0 to 1"
            ),
        ),
        needs=(NEEDS_REPLICATES,),
    ),
)


def polarization(group: Group) -> Iterator[ResultRow]:
    """Yield the polarization of a group, then of its pairs of families."""
    verdicts = group.own.of_judges(group.present)
    families, family = group.families
    yield group.across(_time_correlation(group))
    yield from _polarization(group, verdicts, family)
    yield from _pairs(group, verdicts, families, family)


def _time_correlation(group: Group) -> Estimate:
    """Return how alike replicates that follow each other in time are, with a caution if so.

    Under one wording and rubric: answers to one wording are often made together, and are alike.
    """
    metric = "replicate_time_correlation"
    arms = [[arm] for judge in group.present for arm in group.own_arms[judge]]
    verdicts = group.verdicts(arms)
    _, rows = select(group.data.samples, arms)
    time = rows.answered_at[rows.status == "scored"]
    if not np.isfinite(time).all():
        because = "imported judgements have no time"
        return not_estimable(metric, because, n=len(verdicts), unit="correlation")
    estimate = time_correlation(verdicts, time, group.rng(metric))
    if estimate.p is None or estimate.p >= ALPHA or (estimate.estimate or 0.0) <= 0:
        return estimate
    return remarked(estimate, Remark(RemarkKind.DEPENDENT_REPLICATES, estimate.estimate))


def _polarization(group: Group, verdicts: Verdicts, family: IntArray) -> Iterator[ResultRow]:
    for divergence in (Divergence.JENSEN_SHANNON, Divergence.ORDINAL):
        figure = measure_polarization(
            verdicts, group.rng(divergence.metric), divergence=divergence, family=family
        )
        yield group.across(figure.estimate)
        yield group.across(figure.excess)
    yield group.across(corrected_polarization(verdicts, family=family))


def _pairs(
    group: Group, verdicts: Verdicts, families: list[str], family: IntArray
) -> Iterator[ResultRow]:
    pairs = polarization_by_pair(verdicts, group.rng("polarization_pair"), family=family)
    estimates = [replace(pair.estimate, metric="polarization_pair") for pair in pairs.values()]
    for pair, (estimate, p) in zip(pairs, adjusted_by_holm(estimates), strict=True):
        first, second = (families[number] for number in pair)
        arms = [
            own
            for own, judge in zip(group.own_arms, group.judges, strict=True)
            if judge.experiment.family in (first, second)
        ]
        named = replace(estimate, metric=estimate.metric + group.mixed)
        yield group.row(named, arms, p_adjusted=p, pair=pair_of(first, second))


OF_GROUP = (polarization,)
