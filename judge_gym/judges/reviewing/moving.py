"""Who moved on the texts of a review, by all reviews so far: the judge, or people.

The texts are anchors: the judge answers them again at every review, and people may label them
again. The systems show on fresh items only, which a review has none of. See `metrics.anchors`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np

from judge_gym.calibration.checks import Check, Result
from judge_gym.counting import counted
from judge_gym.formats import plain
from judge_gym.judges import Item, Judge
from judge_gym.judges.calibrating.assessing import Results, points_of
from judge_gym.metrics.anchors import (
    ALARM,
    LEAST_ANCHORS,
    Change,
    Moved,
    Mover,
    Stream,
    anchor_stream,
    latest_change,
    who_moved,
)
from judge_gym.metrics.cells import FloatArray
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.points import HIGHEST
from judge_gym.seeds import derive_seed
from judge_gym.store.decisions import Kept

ANCHORS, PEOPLE_ANCHORS = "anchors", "people's anchors"
"""Names of the checks of all reviews together: of the judge, and of people."""
_AGAIN = {
    ANCHORS: ("it answers as", "review", "Read the texts that moved, and calibrate it again."),
    PEOPLE_ANCHORS: (
        "people label as", "day",
        "Read what they label otherwise, and agree on a rule before relying on agreement.",
    ),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Movement:
    """Who moved, with a check each of the judge and, where they labelled again, of people."""

    moved: Moved
    checks: tuple[Check, ...]
    missing: int
    """How many more texts are needed before anything can be said."""
    kept: Kept | None = None
    """The review from which on looks are compared, since a person kept the judge then."""

    def figures(self) -> dict[str, Any]:
        """Return what is stored of it: who, why it is open, and the evidence of each."""
        return {
            "who": str(self.moved),
            "open": self.moved.open,
            "anchors_missing": self.missing,
            "kept": {"day": self.kept.day.isoformat(), "person": self.kept.person}
            if self.kept
            else None,
            "evidence": [
                {
                    "of": mover.value,
                    "e_value": check.estimate.estimate,
                    "alarm_from": ALARM * len(self.checks),
                    "anchors": check.estimate.n_items,
                    "change": {
                        "points": change.estimate, "lower": change.lower, "upper": change.upper,
                    },
                }
                for mover, check in zip((Mover.JUDGE, Mover.PEOPLE), self.checks, strict=False)
                for change in check.beside
            ],
        }  # fmt: skip


def shown_moves(figures: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the evidence of each that is shown to have moved, in the stored figures of a review.

    Empty of an alternative, and of reviews that were stored by earlier versions.
    """
    evidence = (figures.get("moved") or {}).get("evidence", [])
    return [one for one in evidence if one["e_value"] >= one["alarm_from"]]


def movement(
    judge: Judge,
    texts: Sequence[Item],
    looks: Sequence[Results],
    labelled: Mapping[date, FloatArray],
    kept: Kept | None = None,
) -> Movement | None:
    """Return who moved; None before a second review, unless there are too few texts for any.

    Valid however often it is looked at. `looks` are by review, oldest first, `labelled` people's
    points by day (see `labelled_by_day`), both from the review on after which the judge was `kept`.
    Draws are the same at every review, so that what an earlier one was worth stays.
    """
    values = np.array([mean_points(judge, texts, look) for look in looks]) / HIGHEST
    missing = max(LEAST_ANCHORS - len(texts), 0)
    if len(looks) < 2 and not (looks and missing):
        return None
    of_judge = anchor_stream(values, _rng(judge, ANCHORS))
    given = np.array([labelled[day] for day in sorted(labelled)]) / HIGHEST
    again = np.isfinite(given)
    of_people = None
    if len(given) and (again.sum(axis=0) > 1).any():
        of_people = anchor_stream(given, _rng(judge, PEOPLE_ANCHORS), again)
    moved = who_moved(of_judge, of_people)
    streams = [(ANCHORS, Mover.JUDGE, of_judge, values)]
    if of_people:
        streams.append((PEOPLE_ANCHORS, Mover.PEOPLE, of_people, given))
    checks = tuple(
        _check(name, stream, of, mover in moved.who, len(streams))
        for name, mover, stream, of in streams
    )
    return Movement(moved, checks, missing, kept)


def mean_points(judge: Judge, texts: Sequence[Item], results: Results) -> FloatArray:
    """Return the judge's mean points of each text; NaN without a score."""
    points = [points_of(judge, results[item.key]) for item in texts]
    return np.array([np.mean(some) if some else np.nan for some in points], dtype=np.float64)


def judge_check(
    judge: Judge, texts: Sequence[Item], looks: Sequence[Results], look: str
) -> Check | None:
    """Return whether a judge answers as at all looks before; None while that cannot be told.

    `looks` are oldest first, `look` is what one is called. Valid at all of them together.
    """
    values = np.array([mean_points(judge, texts, results) for results in looks]) / HIGHEST
    stream = anchor_stream(values, _rng(judge, ANCHORS))
    check = _check(ANCHORS, stream, values, stream.alarm is not None, 1, look)
    return None if check.result is Result.INCONCLUSIVE else check


def labelled_since(labelled: Mapping[date, FloatArray], since: date) -> dict[date, FloatArray]:
    """Return people's points by day from a day on, the newest of each text until then as one day's.

    So labels of a text that were given once before are still what later ones are compared with.
    """
    later = {day: points for day, points in labelled.items() if day > since}
    newest: FloatArray | None = None
    for day in sorted(set(labelled) - set(later)):
        points = labelled[day]
        newest = points if newest is None else np.where(np.isfinite(points), points, newest)
    return later if newest is None else {since: newest, **later}


def _rng(judge: Judge, name: str) -> np.random.Generator:
    return np.random.default_rng(derive_seed(name, judge.key))


def _check(
    name: str, stream: Stream, values: FloatArray, moved: bool, streams: int, called: str = ""
) -> Check:
    """Return the check of one stream, its change in points beside it; `called` names a look."""
    question, look, action = _AGAIN[name]
    look = called or look
    looks, n, alarm = len(values), int(np.isfinite(values).any(axis=0).sum()), ALARM * streams
    method = f"conformal test martingale over {counted(looks, look)}; {alarm:g} shows a move"
    e = Estimate("anchors_e_value", stream.highest, None, None, looks * n, n, method=method)
    change = _change(latest_change(values))
    evidence = f"e-value {plain(round(stream.highest, 2))} over {counted(looks, look)}"
    evidence = f"{evidence} of {counted(n, 'text')}"
    if change.estimate is not None:
        evidence += (
            f", now {change.estimate:+.1f} points [{change.lower:.1f}, {change.upper:.1f}] "
            "beside the mean of before"
        )
    result, rule = Result.PASSES, f"{alarm:g} shows a move, falsely in at most 5% of all streams"
    if moved:
        result = Result.FAILS
    elif stream.why_open:
        result, rule = Result.INCONCLUSIVE, stream.why_open
        lacking = n < LEAST_ANCHORS
        action = f"Add {counted(LEAST_ANCHORS - n, 'text')}." if lacking else "Review it again."
    else:
        action = ""
    asks = f"{question} at all times before, however often one looks"
    return Check(name, asks, e, result, f"{evidence}; {rule}", action, beside=(change,))


def _change(found: Change | None) -> Estimate:
    method = "mean ± Hoeffding's bound, at a level spent over all looks"
    if found is None:
        return Estimate("anchors_change", None, None, None, 0, 0, unit="points", method=method,
                        because="nothing was answered twice")  # fmt: skip
    mean, lower, upper = (HIGHEST * one for one in (found.mean, found.lower, found.upper))
    n = found.anchors
    return Estimate("anchors_change", mean, lower, upper, n, n, unit="points", method=method)
