"""How far judges agree beyond chance, and how many independent ones they are worth."""

from collections.abc import Iterator

import numpy as np

from judge_gym.analysis.data import select
from judge_gym.analysis.groups import Group
from judge_gym.analysis.registry import Column, Figure, FigureTable
from judge_gym.analysis.truths import truth_of_single
from judge_gym.metrics.accuracy import ADVISED_ITEMS
from judge_gym.metrics.agreement import gwet_ac, krippendorff_alpha
from judge_gym.metrics.cells import BoolArray, FloatArray, IntArray, numbered, scores
from judge_gym.metrics.error_correlation import effective_votes, votes_between_families
from judge_gym.metrics.estimate import caution_below
from judge_gym.store.results import ResultRow

TABLES = (
    FigureTable(
        "Agreement beyond chance",
        (
            "1 is perfect agreement between judges, 0 what chance gives: Krippendorff's alpha "
            "counts near stages as less of a disagreement, Gwet's AC holds up where one stage is "
            "rare."
        ),
        question="stand-apart",
        rank=40,
        figures=(
            Figure("krippendorff_alpha_ordinal", "agreement beyond chance"),
            Figure("gwet_ac_nominal", "agreement beyond chance"),
        ),
        columns=(
            Column("alpha", "krippendorff_alpha_ordinal"),
            Column("AC", "gwet_ac_nominal"),
            Column("items", "krippendorff_alpha_ordinal", "items"),
        ),
        across=True,
        of_all_samples=True,
        formulas=(
            (
                "α = 1 − Dₒ/Dₑ, D the observed and expected disagreement, two stages "
                "g ≤ h counting (n(g)/2 + Σ n(between) + n(h)/2)²"
            ),
            "AC = (A − Aₑ)/(1 − Aₑ), A the observed agreement, Aₑ = Σ π(s)(1 − π(s)) / (S − 1)",
        ),
        needs=(
            "Needs an item that two judges scored, and two stages in use.",
            "Needs an item that two judges scored.",
        ),
        sources=(
            "Source: Krippendorff 2019, Content Analysis, chapter 12.",
            "Source: Gwet 2008, British Journal of Mathematical and Statistical Psychology 61.",
        ),
    ),
    FigureTable(
        "Effective votes",
        (
            "How many independent judges these are worth: as many as there are if their errors "
            "have nothing in common, 1 if each repeats the mistakes of the others. Without known "
            "answers only errors that judges of one family share can be told: it is the most they "
            "are worth."
        ),
        question="stand-apart",
        rank=50,
        figures=(
            Figure("effective_votes", "votes"),
            Figure("mean_error_correlation", "coefficient"),
        ),
        columns=(
            Column("votes", "effective_votes"),
            Column("correlation", "mean_error_correlation"),
            Column("items", "effective_votes", "items"),
        ),
        across=True,
        of_all_samples=True,
        formulas=(
            "votes = k / (1 + (k − 1)·r̄), r̄ = mean correlation of errors over pairs of judges",
            "without known answers r̄ = (c − c₀)/(v − c₀) · share of pairs of one family, c and c₀ "
            "the covariance of judges of one and of two families, v the variance",
        ),
        needs=("Needs 4 items, and known answers or two judges of one family and one of another.",),
        sources=("Source: Kish 1965, Survey Sampling; Kohli 2026, arXiv 2605.29800.",),
    ),
)


def agreements(group: Group) -> Iterator[ResultRow]:
    """Yield chance-corrected agreement across the judges."""
    if group.pooled_only:
        return
    verdicts = group.own.of_judges(group.present)
    yield group.across(krippendorff_alpha(verdicts, group.rng("krippendorff_alpha")))
    yield group.across(gwet_ac(verdicts, group.rng("gwet_ac")))


def _errors(group: Group, truth: IntArray) -> tuple[FloatArray, BoolArray]:
    """Return the share of wrong answers, items x present judges, and of which items it is.

    Those of known truth that every present judge answered.

    Without a verdict an answer about a pair is wrong, as in `accuracy_of_all`; about other items it
    is none, so that an abstention is no error.
    """
    judge, rows = select(group.data.samples, [group.own_arms[place] for place in group.present])
    item = np.searchsorted(group.items, rows.item)
    answered = (rows.stages > 0) | group.judges[0].experiment.judges_pairs
    wrong = answered & (rows.stages != 1 << np.maximum(truth[item] - 1, 0))
    counts = np.zeros((2, len(group.items), len(group.present)))
    for count, among in zip(counts, (wrong, answered), strict=True):
        np.add.at(count, (item, judge), among)
    known = (truth > 0) & (counts[1] > 0).all(axis=1)
    shares: FloatArray = counts[0, known] / counts[1, known]
    return shares, known


def votes(group: Group) -> Iterator[ResultRow]:
    """Yield the mean correlation of the judges' errors, and how many independent ones they make."""
    truth = truth_of_single(group)
    if truth is not None:
        table, known = _errors(group, truth)
        figures = effective_votes(table, np.zeros(len(table)), group.own.cluster(known))
        # Of errors that are 0 or 1, few items hold few errors (decision 0026).
        figures = (
            caution_below(figures[0], ADVISED_ITEMS),
            caution_below(figures[1], ADVISED_ITEMS),
        )
    else:
        verdicts = group.own.of_judges(group.present)
        table = verdicts.means(scores(verdicts)).value[:, group.common].T
        names = [group.judges[place].experiment.family for place in group.present]
        figures = votes_between_families(table, numbered(names), group.own.cluster(group.common))
    for estimate in figures:
        yield group.across(estimate)


OF_GROUP = (agreements,)
