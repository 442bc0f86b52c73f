"""What a gate checks of a judge's answers, all of one day, and beside those of an earlier day."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from judge_gym.calibration.checks import Check, Margins, Result, claimed
from judge_gym.calibration.comparisons import Drift, changed_check, drift_checks
from judge_gym.calibration.verdict import LEAST_LABELS, READABLE, by_share, readable_check
from judge_gym.formats import plain
from judge_gym.judges.base import Judge
from judge_gym.judges.calibrating.assessing import points_of
from judge_gym.judges.calibrating.comparing import agreement
from judge_gym.judges.calibrating.judging import readable_of
from judge_gym.judges.gate_rule import GateRule
from judge_gym.metrics.cells import FloatArray
from judge_gym.metrics.estimate import Estimate, not_estimable
from judge_gym.metrics.margins import Claim, Direction
from judge_gym.model_names import Answered, is_version_of
from judge_gym.records.items import Item
from judge_gym.records.judgements import JudgeResult
from judge_gym.seeds import derive_seed

SERVED = "served model"
"""The name of the check that the same model answers as before."""
_FIGURES = {
    "agreement": "agreement with people's labels beyond chance is",
    "accuracy": "the share of texts judged as labelled is",
}
_READ = "Read the texts on which judge and labels differ; then change the rubric, or the judge."


def threshold_checks(
    judge: Judge, rule: GateRule, texts: Sequence[Item], results: Sequence[JudgeResult]
) -> list[Check]:
    """Return whether these answers reach the thresholds; `results` are of these texts alone."""
    scored = {item.key: [0, 0] for item in texts}
    for result in results:
        scored[result.item_key][0] += result.failure is None
        scored[result.item_key][1] += 1
    counts = np.array(list(scored.values()), dtype=np.int64).reshape(-1, 2)
    answers = readable_of(judge, results)
    checks = [readable_check(counts[:, 0], counts[:, 1], answers, rule.readable)]
    people = agreement(judge, texts, results)
    none = not_estimable("label_agreement", "no text with a label has a score")
    for name, least, estimate in (
        ("agreement", rule.agreement, people.concordance or none),
        ("accuracy", rule.accuracy, people.met or replace(none, metric="labels_met")),
    ):
        if least is not None:
            question = f"{_FIGURES[name]} more than {plain(least)}"
            check = at_least(name, estimate, least, question, _READ)
            if people.scored < LEAST_LABELS:
                action = f"Label more texts, drawn at random: {LEAST_LABELS} are the fewest."
                check = replace(check, result=Result.INCONCLUSIVE, action=action)
            checks.append(check)
    return checks


def at_least(name: str, estimate: Estimate, least: float, question: str, failed: str) -> Check:
    """Return the check that a figure lies above a threshold: by its interval, `readable` by share.

    See `by_share`.
    """
    check = claimed(name, question, estimate, Claim(Direction.ABOVE, least), failed)
    return by_share(check, least) if name == READABLE else check


def of_sentinel(checks: Sequence[Check], sentinel: int, texts: int) -> list[Check]:
    """Return checks of a sentinel set; one that is open says that the set may be larger."""
    larger = f"Raise `sentinel` in the gate, which is {sentinel}; there are {texts} texts."
    return [
        replace(check, action=f"{check.action} {larger}".strip())
        if check.result is Result.INCONCLUSIVE and sentinel < texts
        else check
        for check in checks
    ]


def change_checks(
    judge: Judge,
    rule: GateRule,
    sentinel: Sequence[Item],
    before: Sequence[JudgeResult],
    again: Sequence[JudgeResult],
) -> list[Check]:
    """Return whether texts are judged as before: each by itself, and on average.

    Of verdicts one check says both.
    """
    old, new = (_means(judge, sentinel, some) for some in (before, again))
    moved = new - old
    both = ~np.isnan(moved)
    margins = Margins(equivalence=rule.drift, changed_verdicts=rule.changed)
    rng = np.random.default_rng(derive_seed("gate", judge.key))
    changed = (np.abs(moved[both]) > 0).astype(np.float64)
    drift = Drift(changed if judge.decides else moved[both], judge.decides)
    checks = drift_checks([drift], margins, rng)
    if not judge.decides:
        # A text that lost its score is judged otherwise, too.
        had = moved[~np.isnan(old)]
        checks.insert(0, changed_check(had, margins.near, rule.changed))
    return checks


def served_check(judge: Judge, before: Answered, now: Answered) -> Check | None:
    """Return whether the same model answers as before; None where no other name is given.

    A dated version of the model asked for may answer: then the other checks decide. Whether another
    model may stand in for it, they cannot tell.
    """
    others = sorted(set(now.served) - set(before.served))
    if not others or not before.served:
        return None
    versions = all(any(is_version_of(name, model) for model in judge.answerers) for name in others)
    reason = f"{', '.join(before.served)} answered before, and {', '.join(others)} now"
    return Check(
        SERVED,
        "the same model answers as before",
        not_estimable("served_model", reason),
        Result.PASSES if versions else Result.INCONCLUSIVE,
        reason,
        "" if versions else "Name the model that is to answer, with its date, in the judge's file.",
    )


def _means(judge: Judge, texts: Sequence[Item], results: Sequence[JudgeResult]) -> FloatArray:
    """Return the mean points of each text; NaN without a score."""
    by_item: dict[str, list[JudgeResult]] = {item.key: [] for item in texts}
    for result in results:
        if result.item_key in by_item:
            by_item[result.item_key].append(result)
    points = [points_of(judge, some) for some in by_item.values()]
    return np.array([np.mean(some) if some else np.nan for some in points], dtype=np.float64)
