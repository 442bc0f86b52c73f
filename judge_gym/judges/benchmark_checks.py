"""Whether a benchmark with known answers lets a judge be used: its checks and the verdict."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from judge_gym.calibration.checks import Check, Decide, Margins, Result, claimed, more_items
from judge_gym.calibration.verdict import CalibrationDecision, CalibrationVerdict, readable_check
from judge_gym.formats import percent, plain
from judge_gym.judges import Judge, JudgeResult
from judge_gym.judges.calibrating.judging import readable_of
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.margins import Direction, MarginClaim

LEAST_READABLE = 0.8
"""Least share of the answers that can be read."""
CHANCE = 0.5
"""The share of pairs that a judge who guesses, but is not moved by the order, gets right."""
MOST_REORDERED = 0.2
"""Largest share of pairs on which the order of the answers may decide."""
_HALF = 0.5
_UNREAD = ("unparseable", "refused", "failed")


def benchmark_checks(
    judge: Judge, results: Sequence[JudgeResult | None], figures: Sequence[Estimate]
) -> list[Check]:
    """Return whether answers can be read, whether they are right, and a check of one bias.

    `figures` are those of all items, by `pair_figures` or `score_figures`. A judge of pairs
    has to be right on more than `CHANCE` of them, and the order may decide on fewer than
    `MOST_REORDERED`. Scores have to agree with the known ones as `Decide.agreement` says, and be
    off on average by less than `Margins.replacement_bias` points.
    """
    margins = Margins()
    by_metric = {estimate.metric: estimate for estimate in figures}
    made = [result for result in results if result]
    counts = np.array([result.status not in _UNREAD for result in made], dtype=np.int64)
    answers = replace(readable_of(judge, made), judge=judge.name)
    readable = readable_check(counts, np.ones(len(made), dtype=np.int64), answers, LEAST_READABLE)
    others = _of_pairs(by_metric) if judge.judges_pairs else _of_scores(by_metric, margins)
    return [readable, *others]


def _of_pairs(figures: Mapping[str, Estimate]) -> list[Check]:
    accuracy, order = figures["accuracy"], figures["order_inconsistency"]
    above, below = (
        MarginClaim(Direction.ABOVE, CHANCE),
        MarginClaim(Direction.BELOW, MOST_REORDERED),
    )
    return [
        claimed(
            "accuracy",
            f"it is right on more than {percent(CHANCE)} of the pairs",
            accuracy,
            above,
            "Read the pairs it gets wrong; then change its task, or use another judge.",
            undecided=more_items(accuracy, above, "pairs"),
        ),
        claimed(
            "order",
            f"the order of the answers decides on fewer than {percent(MOST_REORDERED)} of the "
            "pairs",
            order,
            below,
            "Ask in both orders, and use no pair on which the orders disagree.",
            undecided=more_items(order, below, "pairs"),
        ),
    ]


def _of_scores(figures: Mapping[str, Estimate], margins: Margins) -> list[Check]:
    return [
        claimed(
            "agreement",
            f"scores agree with the known ones by more than {plain(Decide().agreement)} "
            "(concordance)",
            figures["concordance"],
            MarginClaim(Direction.ABOVE, Decide().agreement),
            "Read the items it is furthest off on; then change its rubric, or use another judge.",
        ),
        claimed(
            "bias",
            f"scores are off by less than {plain(margins.replacement_bias)} points on average",
            figures["agreement_bias"],
            MarginClaim(Direction.WITHIN, margins.replacement_bias),
            "Shift thresholds by the bias.",
        ),
    ]


def decide_benchmark(
    name: str, checks: Sequence[Check], made: int, expected: int
) -> CalibrationDecision:
    """Return the verdict on the judge called `name`, from its `benchmark_checks`.

    `made` of its `expected` judgements exist. Until all do, it is not recommended.
    """
    readable, right, bias = checks
    share = readable.estimate.estimate
    if share is None:
        return CalibrationDecision(CalibrationVerdict.CANNOT_TELL, f"{name}: no judgements yet.")
    if share < _HALF:
        why = f"Do not use {name}: most answers cannot be read, {readable.reason}."
        return CalibrationDecision(CalibrationVerdict.DO_NOT_USE, f"{why} {readable.action}")
    if right.result is Result.FAILS:
        why = f"Do not use {name}: it does not hold that {right.question}, {right.reason}."
        return CalibrationDecision(CalibrationVerdict.DO_NOT_USE, f"{why} {right.action}")
    if made < expected:
        why = f"{name}: only {made} of {expected} judgements exist. Rerun the command to resume."
        return CalibrationDecision(CalibrationVerdict.CANNOT_TELL, why)
    if right.result is not Result.PASSES:
        why = f"{name}: it is open whether {right.question}, {right.reason}. {right.action}"
        return CalibrationDecision(CalibrationVerdict.CANNOT_TELL, why.strip())
    good = f"{right.question} ({right.reason})"
    careful = [check for check in (readable, bias) if check.result is not Result.PASSES]
    if not careful:
        return CalibrationDecision(CalibrationVerdict.USE, f"Use {name}: {good}; {bias.question}.")
    doubts = "; ".join(
        f"it {'does not hold that' if check.result is Result.FAILS else 'is open whether'} "
        f"{check.question} ({check.reason})"
        for check in careful
    )
    actions = " ".join(check.action for check in careful)
    why = f"Use {name} with care: {good}, but {doubts}. {actions}"
    return CalibrationDecision(CalibrationVerdict.CARE, why.strip())
