"""Who moved on the texts of a review, by all reviews so far: the judge, people or the systems.

The texts are anchors: the judge answers them again at every review, and people may label them
again. The systems show on fresh items only, those that a review names. See `metrics.anchors`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import dropwhile
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
    AnchorChange,
    Moved,
    Mover,
    Stream,
    anchor_stream,
    fresh_change,
    fresh_stream,
    latest_change,
    who_moved,
)
from judge_gym.metrics.cells import FloatArray
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.points import HIGHEST
from judge_gym.seeds import derive_seed
from judge_gym.store.decisions import Kept

ANCHORS, PEOPLE_ANCHORS, FRESH = "anchors", "people's anchors", "fresh items"
"""Names of the checks of all reviews together: of the judge, of people, and of the systems."""
_AGAIN = {
    ANCHORS: ("of the judge", "review", "Read the texts that moved, and calibrate it again."),
    PEOPLE_ANCHORS: (
        "of people's labels", "day",
        "Read what they label otherwise, and agree on a rule before relying on agreement.",
    ),
    FRESH: (
        "of how it judges fresh items", "review",
        "Read fresh items of the systems that moved; the judge answers its own texts as before.",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Fresh:
    """What the judge said of fresh items at one review: points and system of each, by key."""

    keys: tuple[str, ...]
    points: tuple[float, ...]
    systems: tuple[str, ...]

    @classmethod
    def of(cls, figures: Mapping[str, Any]) -> "Fresh":
        """Return that of the stored figures of a review; empty where it has none."""
        stored = figures.get("fresh") or {}
        return cls(*(tuple(stored.get(name, ())) for name in ("keys", "points", "systems")))

    def values(self, system: str | None = None) -> FloatArray:
        """Return the points on 0 to 1, of all items or of a system."""
        rows = zip(self.points, self.systems, strict=True)
        return np.array(
            [one / HIGHEST for one, of in rows if system in (None, of)], dtype=np.float64
        )


def fresh_of(
    judge: Judge, items: Sequence[Item], results: Results, before: Sequence[Fresh]
) -> Fresh:
    """Return what the judge said of items that no review before had; unreadable ones are left."""
    seen = {key for look in before for key in look.keys}
    new = [item for item in items if item.key not in seen]
    rows = [
        (item.key, float(points), " and ".join(item.systems))
        for item, points in zip(new, mean_points(judge, new, results), strict=True)
        if np.isfinite(points)
    ]
    return Fresh(*zip(*rows, strict=True)) if rows else Fresh((), (), ())


@dataclass(frozen=True, eq=False)
class Movement:
    """Who moved, with a check each of the judge, of people where they labelled again, and of the
    systems where reviews have fresh items."""

    moved: Moved
    checks: tuple[Check, ...]
    missing: int
    """How many more texts are needed before anything can be said."""
    kept: Kept | None = None
    """The review from which on looks are compared, since a person kept the judge then."""
    by_system: Mapping[str, Estimate] = field(default_factory=dict)
    """System → how far its fresh items are judged otherwise, at 95% for all systems at once."""

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
                    "moved": mover in self.moved.who,
                    "e_value": check.estimate.estimate,
                    "alarm_from": ALARM * len(self.checks),
                    "anchors": check.estimate.n_items,
                    "change": {
                        "points": change.estimate, "lower": change.lower, "upper": change.upper,
                    },
                }
                for check in self.checks
                for mover in [_MOVERS[check.name]]
                for change in check.beside
            ],
            "systems": [
                {
                    "system": name, "points": change.estimate, "lower": change.lower,
                    "upper": change.upper, "items": change.n_items,
                }
                for name, change in self.by_system.items()
            ],
        }  # fmt: skip


_MOVERS = {ANCHORS: Mover.JUDGE, PEOPLE_ANCHORS: Mover.PEOPLE, FRESH: Mover.SYSTEMS}


def shown_moves(figures: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the evidence of each that is shown to have moved, in the stored figures of a review.

    Empty of an alternative, and of reviews that were stored by earlier versions. Fresh items that
    are judged otherwise by a judge that moved show nothing of the systems.
    """
    return [
        one
        for one in (figures.get("moved") or {}).get("evidence", [])
        if one["e_value"] >= one["alarm_from"] and one.get("moved")
    ]


def movement(
    judge: Judge,
    texts: Sequence[Item],
    looks: Sequence[Results],
    labelled: Mapping[date, FloatArray],
    kept: Kept | None = None,
    fresh: Sequence[Fresh] = (),
) -> Movement | None:
    """Return who moved; None before a second review, unless there are too few texts for any.

    Valid however often it is looked at. `looks` are by review, oldest first, `labelled` people's
    points by day (see `labelled_by_day`), `fresh` what the judge said of fresh items by review, all
    from the review on after which it was `kept`.
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
    of_labels = (_anchors(given), latest_change(given)) if of_people else (0, None)
    # Reviews before the first with fresh items are no looks at them.
    fresh = list(dropwhile(lambda look: not look.keys, fresh))
    answers = [look.values() for look in fresh]
    of_fresh = fresh_stream(answers, _rng(judge, FRESH)) if answers else None
    moved = who_moved(of_judge, of_people, of_fresh)
    streams = [
        (name, stream, seen, change)
        for name, stream, seen, change in (
            (ANCHORS, of_judge, _anchors(values), latest_change(values)),
            (PEOPLE_ANCHORS, of_people, *of_labels),
            (FRESH, of_fresh, sum(map(len, answers)), fresh_change(answers)),
        )
        if stream
    ]
    checks = tuple(
        _check(name, stream, seen, change, _MOVERS[name] in moved.who, len(streams))
        for name, stream, seen, change in streams
    )
    return Movement(moved, checks, missing, kept, _by_system(fresh))


def _anchors(values: FloatArray) -> int:
    return int(np.isfinite(values).any(axis=0).sum())


def _by_system(fresh: Sequence[Fresh]) -> dict[str, Estimate]:
    """Return how far the items of each system are judged otherwise at the newest review."""
    names = sorted({name for look in fresh for name in look.systems} - {""})
    changes = {
        name: fresh_change([look.values(name) for look in fresh], len(names)) for name in names
    }
    return {name: _change(change) for name, change in changes.items() if change is not None}


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
    check = _check(
        ANCHORS, stream, _anchors(values), latest_change(values), stream.alarm is not None, 1, look
    )
    return None if check.result is Result.CANNOT_TELL else check


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
    name: str,
    stream: Stream,
    n: int,
    found: AnchorChange | None,
    moved: bool,
    streams: int,
    called: str = "",
) -> Check:
    """Return the check of one stream of `n` texts, its change in points beside it.

    `called` names a look.
    """
    of, look, action = _AGAIN[name]
    look = called or look
    looks, alarm = len(stream.items), ALARM * streams
    method = f"conformal test martingale over {counted(looks, look)}; {alarm:g} shows a move"
    e = Estimate("anchors_e_value", stream.highest, None, None, looks * n, n, method=method)
    change = _change(found)
    evidence = f"e-value {plain(round(stream.highest, 2))} over {counted(looks, look)}"
    evidence = f"{evidence} of {counted(n, 'text')}"
    if change.estimate is not None:
        evidence += (
            f", now {change.estimate:+.1f} points [{change.lower:.1f}, {change.upper:.1f}] "
            f"beside the mean of before, an interval that holds at all {look}s together and so is "
            f"wider than one of a single {look}"
        )
    result, rule = Result.PASSES, f"{alarm:g} would show a move, falsely in at most 5% of streams"
    if stream.highest >= alarm:
        rule = f"{alarm:g} shows a move, falsely in at most 5% of streams"
    if moved:
        result = Result.FAILS
    elif stream.why_open:
        result, rule = Result.CANNOT_TELL, stream.why_open
        lacking = n < LEAST_ANCHORS
        action = f"Add {counted(LEAST_ANCHORS - n, 'text')}." if lacking else "Review it again."
    else:
        action = ""
    asks = f"no move {of} since the first {look} is shown, however often one looks"
    return Check(name, asks, e, result, f"{evidence}; {rule}", action, beside=(change,))


def _change(found: AnchorChange | None) -> Estimate:
    method = "mean ± Hoeffding's bound, at a level spent over all looks"
    if found is None:
        return Estimate("anchors_change", None, None, None, 0, 0, unit="points", method=method,
                        because="nothing was answered twice")  # fmt: skip
    mean, lower, upper = (HIGHEST * one for one in (found.mean, found.lower, found.upper))
    n = found.anchors
    return Estimate("anchors_change", mean, lower, upper, n, n, unit="points", method=method)
