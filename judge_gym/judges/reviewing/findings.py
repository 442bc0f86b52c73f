"""What a review finds of each judge in use and of each alternative: keep it, or reconsider.

"Reconsider" needs an interval that says so. Everything else is "keep", with what is inconclusive
and how many items would tell. Nothing here changes a judge: a person decides.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from judge_gym.calibration.checks import Check, Margins, Result, claimed, span
from judge_gym.calibration.comparisons import Drift, changed_share, drift_checks
from judge_gym.formats import dollars, percent
from judge_gym.judges import Item, Judge, JudgeResult, ModelJudge
from judge_gym.judges.calibrating.assessing import Results, assess, known_points, points_of
from judge_gym.judges.calibrating.comparing import compare
from judge_gym.judges.calibrating.judging import results_of
from judge_gym.judges.reviewing.cases import Case, Review, verdicts_of
from judge_gym.metrics.estimate import Estimate, mean_over_items
from judge_gym.metrics.inference import holm_over, sign_flip_p
from judge_gym.metrics.margins import ALPHA, Claim, Direction
from judge_gym.runtime import Runtime
from judge_gym.seeds import derive_seed
from judge_gym.store.calls import cost_of
from judge_gym.store.judges import (
    ReviewRow,
    check_values,
    earlier_reviews,
    replace_reviews,
    reviews_of,
    save_judge,
)

KEEP, RECONSIDER = "keep", "reconsider"


@dataclass(frozen=True, eq=False)
class Said:
    """What is stored of a case. `now` is what each of its judges said on the day.

    `before` is day → what the judge in use said at its last review and, after it, at its first, so
    that what creeps is seen too; `passed` names the checks it passed at the last. `costs` are US
    dollars a judgement on the day, None where that is not known.
    """

    now: Sequence[Results]
    before: Mapping[date, Results]
    passed: frozenset[str]
    costs: Sequence[float | None]

    @property
    def since(self) -> date | None:
        """The day of the last review; None without one."""
        return next(iter(self.before), None)


@dataclass(frozen=True, eq=False)
class Finding:
    """What is said of the judge in use, or of an alternative to it where there is one."""

    case: Case
    alternative: Judge | None
    recommendation: str
    reason: str
    checks: tuple[Check, ...]
    figures: tuple[Estimate, ...]
    statuses: Counter[str]
    missing: int
    cost: float | None
    since: date | None
    simulated: bool


def review_findings(cases: Sequence[Case], said: Sequence[Said], margins: Margins) -> list[Finding]:
    """Return the findings, case by case, the judge in use first.

    Drift is corrected by Holm over all judges in use and both earlier reviews, and so are gains in
    truth over all alternatives. The same judgements give the same findings.
    """
    rng = np.random.default_rng(derive_seed("review", *(case.judge.key for case in cases)))
    drifts = iter(drift_checks([
        _drift(case, some, since)
        for case, some in zip(cases, said, strict=True)
        for since in some.before
    ], margins, rng))  # fmt: skip
    gains = iter(holm_over([
        _gain(case, some.now[0], other, theirs, rng)
        for case, some in zip(cases, said, strict=True)
        for other, theirs in zip(case.alternatives, some.now[1:], strict=True)
    ]))  # fmt: skip
    found: list[Finding] = []
    for case, some in zip(cases, said, strict=True):
        checks = [_checks(case, place, some) for place in range(len(case.judges))]
        since = {day: next(drifts) for day in some.before}
        found.append(_of_judge(case, some, since, checks[0]))
        for place in range(1, len(case.judges)):
            agreement, figures = _agreement(case, place, some, margins)
            one = _Against(place, agreement, next(gains), checks[0], checks[place])
            found.append(_of_alternative(case, some, one, figures))
    return found


@dataclass(frozen=True)
class _Against:
    """An alternative: how it agrees, what it gains on known truth, and checks of both."""

    place: int
    agreement: tuple[Check, ...]
    gain: Estimate
    mine: tuple[Check, ...]
    theirs: tuple[Check, ...]


def _of_judge(
    case: Case, said: Said, drifts: Mapping[date, Check], checks: tuple[Check, ...]
) -> Finding:
    grounds = [
        f"It no longer judges as on {day}: {drift.reason}."
        for day, drift in drifts.items()
        if drift.result is Result.FAILS
    ]
    failing = [one.name for one in checks if one.result is Result.FAILS and one.name in said.passed]
    if failing:
        grounds.append(f"It passed on {said.since} and fails now: {', '.join(failing)}.")
    reason = "It has no earlier review on these texts: drift shows from the next one on."
    if said.since is not None:
        last = drifts[said.since]
        reason = f"It judges as on {said.since}: {last.reason}."
        if last.result is not Result.PASSES:
            reason = f"inconclusive: {last.reason}. {last.action}".strip()
    dated = [
        replace(drift, question=f"{drift.question} since {day}") for day, drift in drifts.items()
    ]
    return _finding(case, said, 0, grounds, reason, (*dated, *checks), ())


def _of_alternative(
    case: Case, said: Said, one: _Against, figures: tuple[Estimate, ...]
) -> Finding:
    alike = {check.result for check in one.agreement}
    cost, other_cost = said.costs[0], said.costs[one.place]
    grounds = []
    nearer = one.gain.upper is not None and one.gain.upper < 0
    if nearer and one.gain.p is not None and one.gain.p < ALPHA:
        grounds.append(f"It is nearer to what is known: {span(one.gain)}.")
    cheaper = cost is not None and other_cost is not None and other_cost < cost
    if alike == {Result.PASSES} and cheaper:
        grounds.append(f"It judges alike for {dollars(other_cost)} instead of {dollars(cost)} USD.")
    mended, broken = _turned(one.mine, one.theirs), _turned(one.theirs, one.mine)
    if mended and not broken:
        grounds.append(f"It passes what the judge in use fails: {', '.join(mended)}.")
    if Result.FAILS in alike:
        reason = "It does not judge alike, and is not shown to be better."
    elif alike == {Result.PASSES}:
        reason = "It judges alike, and is not shown to be better or to cost less."
    else:
        actions = dict.fromkeys(check.action or check.reason for check in one.agreement
                                if check.result is not Result.PASSES)  # fmt: skip
        reason = f"inconclusive: {' '.join(actions)}"
    shown = (one.gain, *figures) if one.gain.n_items else figures
    return _finding(case, said, one.place, grounds, reason, (*one.agreement, *one.theirs), shown)


def _finding(
    case: Case, said: Said, place: int, grounds: Sequence[str], otherwise: str,
    checks: tuple[Check, ...], figures: tuple[Estimate, ...],
) -> Finding:  # fmt: skip
    results = [one for some in said.now[place].values() for one in some]
    return Finding(
        case=case,
        alternative=case.alternatives[place - 1] if place else None,
        recommendation=RECONSIDER if grounds else KEEP,
        reason=" ".join(grounds) or otherwise,
        checks=checks,
        figures=figures,
        statuses=Counter(one.status for one in results),
        missing=len(case.texts.items) * case.repeats - len(results),
        cost=said.costs[place],
        since=None if place else said.since,
        simulated=any(one.simulated for one in results),
    )


def _turned(fails: Sequence[Check], passes: Sequence[Check]) -> list[str]:
    """Return the names of checks that fail among the first and pass among the second."""
    failing = {check.name for check in fails if check.result is Result.FAILS}
    return [c.name for c in passes if c.result is Result.PASSES and c.name in failing]


def _checks(case: Case, place: int, said: Said) -> tuple[Check, ...]:
    if case.design is None:
        return ()
    return tuple(assess(case.judges[place], case.texts, said.now[place], case.design).checks)


def _drift(case: Case, said: Said, since: date) -> Drift:
    """Return how the originals moved since an earlier review, those that have a value on both."""
    judge = case.judge
    pairs = [
        (_value(judge, said.before[since][item.key]), _value(judge, said.now[0][item.key]))
        for item in case.texts.originals
    ]
    moved = [_apart(one, other) for one, other in pairs if one is not None and other is not None]
    return Drift(np.array(moved, dtype=np.float64), verdicts=bool(verdicts_of(judge)))


def _agreement(
    case: Case, place: int, said: Said, margins: Margins
) -> tuple[tuple[Check, ...], tuple[Estimate, ...]]:
    """Return the checks of an alternative against the judge in use, and figures to be read."""
    judge, other = case.judge, case.judges[place]
    originals = case.texts.originals
    if not verdicts_of(judge):
        sides = [[one for item in originals for one in said.now[side][item.key]]
                 for side in (0, place)]  # fmt: skip
        replacement = compare((judge, other), originals, (sides[0], sides[1]), margins).replacement
        return replacement.checks, replacement.figures
    values = [(_value(judge, said.now[0][item.key]), _value(other, said.now[place][item.key]))
              for item in originals]  # fmt: skip
    differ = [one != two for one, two in values if one is not None and two is not None]
    check = claimed(
        "verdicts",
        f"fewer than {percent(margins.changed_verdicts)} of the verdicts differ",
        changed_share("differing_verdicts", np.array(differ, dtype=np.float64)),
        Claim(Direction.BELOW, margins.changed_verdicts),
        "Read the texts on which they differ before anything relies on the other judge.",
    )
    return (check,), ()


def _gain(
    case: Case, mine: Results, other: Judge, theirs: Results, rng: np.random.Generator
) -> Estimate:
    """Return how much further than the judge in use another is from what is known to be right.

    Below 0 it is nearer: in points of 100, or the share of wrong verdicts. The p is two-sided, by
    sign flips, which for verdicts is McNemar's exact test.
    """
    scale = case.design.label_scale if case.design else None
    errors = [
        (
            _error(case.judge, item, mine[item.key], scale),
            _error(other, item, theirs[item.key], scale),
        )
        for item in case.texts.originals
    ]
    further = np.array([two - one for one, two in errors if one is not None and two is not None])
    unit, reach = ("share", 1.0) if verdicts_of(case.judge) else ("points", 100.0)
    found = mean_over_items(
        "further_from_truth", further, n=len(further), unit=unit, bounds=(-reach, reach)
    )
    return replace(found, p=sign_flip_p(further, rng)) if len(further) else found


def _error(
    judge: Judge,
    item: Item,
    results: Sequence[JudgeResult],
    scale: tuple[float, float] | None,
) -> float | None:
    """Return how far a judge is from the known answer to an item; None where one is not known."""
    value = _value(judge, results)
    if value is None or item.truth is None:
        return None
    if isinstance(value, str):
        label = judge.label(item)
        known = next(name for name, score in judge.verdict_scores.items() if score == label)
        return float(value != known)
    points = known_points(judge, item, scale)
    return None if np.isnan(points) else abs(value - points)


def _value(judge: Judge, results: Sequence[JudgeResult]) -> float | str | None:
    """Return the mean points of an item, or the verdict most given; None without either.

    Verdicts given equally often are one verdict of their own: neither is the judge's.
    """
    if not verdicts_of(judge):
        points = points_of(judge, results)
        return float(np.mean(points)) if points else None
    given = Counter(
        one.verdict or one.status for one in results if one.status in ("scored", "inconsistent")
    )
    most = max(given.values(), default=0)
    return " or ".join(sorted(name for name, count in given.items() if count == most)) or None


def _apart(one: float | str, other: float | str) -> float:
    if isinstance(one, str) or isinstance(other, str):
        return float(one != other)
    return other - one


def store_findings(runtime: Runtime, review: Review, day: date) -> list[ReviewRow]:
    """Store what a review finds in what is judged so far; returns all reviews of that day.

    Replaces what the same review found on that day before. The rows are those of other review
    files too.
    """
    with runtime.session() as session:
        stored = [_stored(session, review.file.name, case, day) for case in review.cases]
        findings = review_findings(review.cases, stored, review.file.margins)
        replace_reviews(session, review.file.name, day, [_row(session, one) for one in findings])
        return reviews_of(session, day)


def _stored(session: Session, name: str, case: Case, day: date) -> Said:
    """Return what is stored of a case: of the day, and of reviews of its judge before."""
    items, review_day = case.texts.items, day.isoformat()
    now = [results_of(session, judge, items, case.repeats, review_day) for judge in case.judges]
    judge_id = save_judge(session, case.judge.record)
    earlier = earlier_reviews(session, name, judge_id, case.corpus, day)
    before = {
        since: results_of(session, case.judge, items, case.repeats, since.isoformat())
        for since in earlier
    }
    last: list[dict[str, Any]] = next(iter(earlier.values()), {}).get("checks", [])
    passed = frozenset(one["name"] for one in last if one["result"] == "passes")
    return Said(now, before, passed, _costs(session, case, now))


def _costs(
    session: Session, case: Case, now: Sequence[dict[str, list[JudgeResult]]]
) -> list[float | None]:
    """Return US dollars a judgement, by judge."""
    found: list[float | None] = []
    for judge, results in zip(case.judges, now, strict=True):
        made = [one for some in results.values() for one in some]
        cost, unpriced = cost_of(session, [call for one in made for call in one.call_ids])
        known = isinstance(judge, ModelJudge) and made and not unpriced
        found.append(cost / len(made) if known else None)
    return found


def _row(session: Session, one: Finding) -> dict[str, Any]:
    other = one.alternative
    return {
        "judge_id": save_judge(session, one.case.judge.record),
        "alternative_id": save_judge(session, other.record) if other else None,
        "corpus": one.case.corpus,
        "decision": one.case.decision,
        "figures": {
            "judge": _named(one.case.judge),
            "alternative": _named(other) if other else None,
            "since": one.since.isoformat() if one.since else None,
            "checks": [check_values(check) for check in one.checks],
            "figures": [asdict(figure) for figure in one.figures],
            "judgements": dict(one.statuses),
            "missing": one.missing,
            "usd_a_judgement": one.cost,
        },
        "recommendation": one.recommendation,
        "reason": one.reason,
        "simulated": one.simulated,
    }


def _named(judge: Judge) -> str:
    return f"{judge.name}, {judge.answered_by}"
