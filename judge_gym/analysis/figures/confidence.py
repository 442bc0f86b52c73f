"""What judges state about agreement, and what the tokens of a verdict do."""

from collections.abc import Iterator
from dataclasses import replace

from judge_gym.analysis.groups import Group
from judge_gym.analysis.registry import Column, Figure, FigureTable
from judge_gym.metrics.cells import IntArray, Verdicts, item_means
from judge_gym.metrics.entrenchment import calibration, entrenchment
from judge_gym.metrics.estimate import (
    UNIT_INTERVAL,
    mean_over_items,
    not_estimable,
)
from judge_gym.store.results import ResultRow

_LOGPROBS = (
    "single verdicts with `logprobs: true` on items whose known answer is a stage of the rubric"
)

TABLES = (
    FigureTable(
        "Entrenchment",
        (
            "Polarization times the judges' mean stated confidence, in bits: high when judges "
            "disagree and are sure. The floor is the same product with P0."
        ),
        question="stand-apart",
        rank=30,
        figures=(
            Figure("entrenchment", "bits"),
            Figure("entrenchment_excess", "bits"),
        ),
        columns=(
            Column("E", "entrenchment"),
            Column("floor E0", "entrenchment", "floor"),
            Column("E - E0", "entrenchment_excess"),
            Column("items", "entrenchment", "items"),
            Column("verdicts", "entrenchment", "n"),
        ),
        across=True,
        of_all_samples=True,
        formulas=("E = P · C, C = mean over judges of their mean c; E0 = P0 · C; in bits",),
        needs=("Needs what P needs, and a probe per judge.",),
    ),
    FigureTable(
        "Confidence and overconfidence",
        (
            "Confidence is the share of experts a judge expects to choose its verdict, from 0 to "
            "1; overconfidence is that less the share of the other judges who did (above 0: too "
            "sure); the Brier score is the squared error of it (lower is better)."
        ),
        question="confidence",
        rank=0,
        figures=(
            Figure("confidence", "probability"),
            Figure("overconfidence", "probability"),
            Figure("brier_score", "probability"),
        ),
        columns=(
            Column("confidence", "confidence"),
            Column("overconfidence", "overconfidence"),
            Column("Brier", "brier_score"),
            Column("items", "confidence", "items"),
        ),
        across=True,
        formulas=(
            "confidence = mean c; overconfidence = mean (c − q); Brier = mean (c² − 2cq + q)",
            (
                "q = share of the other judges' samples on the item with the same "
                "verdict, judges weighted equally"
            ),
        ),
        needs=("Needs two judges; 30 items advised.",),
        sources=(
            (
                "Brier: mean squared error of x against each such sample, x² - 2xq + q, "
                "in [0, 1] (Brier 1950)."
            ),
        ),
    ),
    FigureTable(
        "Token probability of verdicts",
        (
            "The probability that the model's tokens gave the letter of its verdict, against "
            "whether the verdict is right: overconfidence is the mean difference (above 0: too "
            "sure), the Brier score the mean squared one (lower is better)."
        ),
        question="confidence",
        rank=10,
        figures=(
            Figure("letter_overconfidence", "probability", _LOGPROBS),
            Figure("letter_brier_score", "probability", _LOGPROBS),
        ),
        columns=(
            Column("overconfidence", "letter_overconfidence"),
            Column("Brier", "letter_brier_score"),
            Column("judgements", "letter_brier_score", "n"),
            Column("items", "letter_brier_score", "items"),
        ),
        formulas=(
            "overconfidence = mean (p − r); Brier = mean (p − r)²; r = 1 at the true stage, else 0",
        ),
        needs=("Needs `logprobs: true` and one verdict of a single letter; 30 items advised.",),
        sources=("Brier: mean squared error of a stated probability, in [0, 1] (Brier 1950).",),
    ),
)


_FLOOR_PERMUTATIONS = 200
"""Enough for the mean of a null distribution; a p value needs the metrics' own number."""


def confidence(group: Group) -> Iterator[ResultRow]:
    """Yield entrenchment, then overconfidence and its error, then the confidence of each judge."""
    verdicts = group.own.of_judges(group.present)
    yield from _entrenchment(group, verdicts, group.families[1])
    yield from _calibration(group, verdicts)
    yield from _confidence(group)


def _entrenchment(group: Group, verdicts: Verdicts, family: IntArray) -> Iterator[ResultRow]:
    probes = group.answered(group.own_arms).of_judges(group.present)
    figure = entrenchment(
        verdicts,
        probes,
        group.rng("entrenchment"),
        family=family,
        permutations=_FLOOR_PERMUTATIONS,
    )
    yield group.across(figure.estimate)
    yield group.across(figure.excess)


def _calibration(group: Group, verdicts: Verdicts) -> Iterator[ResultRow]:
    probes = group.answered(group.own_arms).of_judges(group.present)
    figures = calibration(verdicts, probes)
    place = {judge: number for number, judge in enumerate(group.present)}
    for metric, by_judge in (
        ("overconfidence", figures.overconfidence_by_judge),
        ("brier_score", figures.brier_by_judge),
    ):
        for number, judge in enumerate(group.judges):
            estimate = (
                by_judge[place[number]]
                if number in place
                else not_estimable(metric, "the judge has no scored verdict", unit="probability")
            )
            named = replace(estimate, metric=metric + group.mixed)
            yield group.row(named, group.own_arms, judge=judge.model)


def _confidence(group: Group) -> Iterator[ResultRow]:
    probes = group.answered(group.own_arms)
    probes = probes.rows(group.common[probes.item])
    for number, judge in enumerate(group.judges):
        judge_probes = probes.of_judges([number])
        cells = judge_probes.confidence()
        per_item, kept = item_means(cells.value, cells.present)
        estimate = mean_over_items(
            "confidence", per_item, n=cells.n.sum(axis=0)[kept], unit="probability",
            bounds=UNIT_INTERVAL, items=kept,
        )  # fmt: skip
        yield group.row(estimate, [group.own_arms[number]], judge=judge.model)


OF_GROUP = (confidence,)
