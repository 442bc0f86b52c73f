"""When a cheap judge is enough: what asking a second one costs and gains, on known scores."""

from collections.abc import Mapping, Sequence

import numpy as np

from judge_gym.calibration.design import CalibrationDesign
from judge_gym.calibration.escalating import Asked, PolicyFigures, policies
from judge_gym.design.experiment import family_of
from judge_gym.judges import Judge, ModelJudge
from judge_gym.judges.calibrating.assessing import Results, known_points, points_of
from judge_gym.judges.calibrating.texts import Texts
from judge_gym.metrics.cells import FloatArray
from judge_gym.metrics.points import bin_of


def escalation(
    judges: Sequence[Judge],
    texts: Texts,
    results: Sequence[Results],
    costs: Sequence[Mapping[str, float]],
    design: CalibrationDesign,
) -> list[PolicyFigures]:
    """Return the policies of the cheapest judge and the others, from cheap to dear.

    `costs` are what each judge cost by item key, in US dollars, all its runs on it together. On the
    originals that every judge scored and whose score is known; a judge is right within
    `margins.near` points of it. Its doubt is the spread of its runs, and two disagree when their
    means lie in different bins of 20 points. Empty without two judges or two such texts.
    """
    truth = [known_points(judges[0], item, design.label_scale) for item in texts.originals]
    points = [[points_of(judge, said[item.key]) for item in texts.originals]
              for judge, said in zip(judges, results, strict=True)]  # fmt: skip
    shared = [
        place
        for place, known in enumerate(truth)
        if not np.isnan(known) and all(given[place] for given in points)
    ]
    if len(judges) < 2 or len(shared) < 2:
        return []
    known = np.array([truth[place] for place in shared])
    keys = [texts.originals[place].key for place in shared]
    asked = [
        _asked(
            judge, [given[place] for place in shared], known,
            [cost[key] for key in keys], design.margins.near,
        )
        for judge, given, cost in zip(judges, points, costs, strict=True)
    ]  # fmt: skip
    # What is not known is taken for dear.
    first, *others = sorted(asked, key=lambda one: float(np.nan_to_num(one.cost, nan=np.inf).sum()))
    second = max(others, key=lambda one: float(one.right.mean()))
    return policies(first, second, [one for one in others if one is not second])


def _asked(
    judge: Judge,
    runs: Sequence[Sequence[float]],
    known: FloatArray,
    cost: Sequence[float],
    near: float,
) -> Asked:
    means = np.array([np.mean(one) for one in runs])
    return Asked(
        judge=judge.name,
        family=family_of(judge.model) if isinstance(judge, ModelJudge) else judge.answered_by,
        answer=bin_of(means).astype(np.float64),
        right=np.abs(means - known) <= near,
        cost=np.array(cost),
        doubt=np.array([np.std(one) for one in runs]),
    )
