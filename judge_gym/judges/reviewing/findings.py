"""What a review finds of each judge in use and of each alternative: keep it, or reconsider.

"Reconsider" needs an interval that says so. Where the data do not tell, neither is said, but what
is open and how many items would tell. Nothing here changes a judge: a person decides.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from judge_gym.calibration.checks import (
    Check,
    Margins,
    Result,
    claimed,
    is_open,
    items_if_unchanged,
    span,
)
from judge_gym.calibration.comparisons import Drift, changed_share, drift_checks
from judge_gym.calibration.verdict import AGREEMENT, READABLE, CalibrationVerdict
from judge_gym.counting import counted
from judge_gym.errors import ConfigError, did_you_mean
from judge_gym.formats import dollars, percent
from judge_gym.judges import Item, Judge, JudgeResult
from judge_gym.judges.calibrating.assessing import (
    Assessment,
    Results,
    assess,
    known_points,
    points_of,
)
from judge_gym.judges.calibrating.comparing import compare
from judge_gym.judges.calibrating.judging import results_by_day, results_of
from judge_gym.judges.namesakes import OtherJudge, other_judge
from judge_gym.judges.reviewing.agreeing import Since, own_checks, since_review
from judge_gym.judges.reviewing.cases import LoadedReview, ReviewCase, verdicts_of
from judge_gym.judges.reviewing.moving import (
    ANCHORS,
    FRESH,
    PEOPLE_ANCHORS,
    Fresh,
    Movement,
    fresh_of,
    labelled_since,
    movement,
)
from judge_gym.metrics.anchors import Mover
from judge_gym.metrics.cells import FloatArray
from judge_gym.metrics.estimate import Estimate, mean_over_items
from judge_gym.metrics.inference import holm_over, sign_flip_p
from judge_gym.metrics.margins import ALPHA, Direction, MarginClaim
from judge_gym.model_names import Answered
from judge_gym.runtime import Runtime
from judge_gym.seeds import derive_seed
from judge_gym.store.calls import cost_of
from judge_gym.store.decisions import Kept, ReviewDecision, last_kept, save_review
from judge_gym.store.judges import (
    KEEP,
    RECONSIDER,
    ReviewRow,
    answered,
    check_values,
    earlier_reviews,
    replace_reviews,
    review_days,
    review_figures,
    reviewed_namesakes,
    reviews_of,
    save_judge,
)


@dataclass(frozen=True, eq=False)
class Said:
    """What is stored of a case. `now` is what each of its judges said on the day.

    `before` is day → what the judge in use said at its last review and, after it, at its first, so
    that what creeps is seen too; `passed` names the checks it passed at the last. `costs` are US
    dollars a judgement on the day, None where that is not known. `answered` is who answered then.
    `looks` is what the judge in use said at every review, oldest first, that of the day last;
    `labelled` are people's points of the originals by the days up to there on which they labelled.
    All of them count from the last review after which a person `kept` the judge, if any.
    """

    now: Sequence[Results]
    before: Mapping[date, Results]
    passed: frozenset[str]
    costs: Sequence[float | None]
    answered: Sequence[Answered]
    looks: Sequence[Results] = ()
    labelled: Mapping[date, FloatArray] = field(default_factory=dict)
    kept: Kept | None = None
    fresh: Sequence[Fresh] = ()
    """What the judge in use said of fresh items, by review as `looks`."""
    other: OtherJudge | None = None
    """The judge of its name that was reviewed last before it; None if that is itself."""

    @property
    def since(self) -> date | None:
        """The day of the last review; None without one."""
        return next(iter(self.before), None)


@dataclass(frozen=True, eq=False)
class ReviewFinding:
    """What is said of the judge in use, or of an alternative to it where there is one.

    An alternative has no `verdict`: it is only compared with the judge in use.
    """

    case: ReviewCase
    alternative: Judge | None
    recommendation: str
    reason: str
    verdict: CalibrationVerdict | None
    checks: tuple[Check, ...]
    figures: tuple[Estimate, ...]
    statuses: Counter[str]
    missing: int
    cost: float | None
    since: date | None
    simulated: bool
    movement: Movement | None = None
    """Who moved, by all reviews of the judge in use; None of an alternative, and at the first."""
    fresh: Fresh | None = None
    """What the judge in use said of fresh items; None of an alternative, and without any."""
    other: OtherJudge | None = None
    """See `Said`; None of an alternative, too."""


def review_findings(
    cases: Sequence[ReviewCase], answers: Sequence[Said], margins: Margins
) -> list[ReviewFinding]:
    """Return the findings, case by case, the judge in use first.

    Drift is corrected by Holm over all judges in use and both earlier reviews, and so are gains in
    truth over all alternatives. The same judgements give the same findings.
    """
    rng = np.random.default_rng(derive_seed("review", *(case.judge.key for case in cases)))
    drifts = iter(drift_checks([
        _drift(case, some, since)
        for case, some in zip(cases, answers, strict=True)
        for since in some.before
    ], margins, _drift_tests(cases)))  # fmt: skip
    gains = iter(holm_over([
        _gain(case, some.now[0], other, theirs, rng)
        for case, some in zip(cases, answers, strict=True)
        for other, theirs in zip(case.alternatives, some.now[1:], strict=True)
    ]))  # fmt: skip
    findings: list[ReviewFinding] = []
    for case, some in zip(cases, answers, strict=True):
        assessed = [_assessed(case, place, some) for place in range(len(case.judges))]
        checks = [
            tuple(one.checks) if one else _own_checks(case, place, some)
            for place, one in enumerate(assessed)
        ]
        since = {day: next(drifts) for day in some.before}
        became = {day: _since(case, some, day, margins) for day in some.before}
        moved = movement(
            case.judge, case.texts.originals, some.looks, some.labelled, some.kept, some.fresh
        )
        findings.append(_of_judge(case, some, since, became, assessed[0], checks[0], moved))
        for place in range(1, len(case.judges)):
            agreement, figures = _agreement(case, place, some, margins)
            against = _Against(place, agreement, next(gains), checks[0], checks[place])
            findings.append(_of_alternative(case, some, against, figures))
    return findings


@dataclass(frozen=True)
class _Against:
    """An alternative: how it agrees, what it gains on known truth, and checks of both."""

    place: int
    agreement: tuple[Check, ...]
    gain: Estimate
    mine: tuple[Check, ...]
    theirs: tuple[Check, ...]


def _scale(case: ReviewCase) -> tuple[float, float] | None:
    return case.design.label_scale if case.design else None


def _own_checks(case: ReviewCase, place: int, answers: Said) -> tuple[Check, ...]:
    return own_checks(case.judges[place], case.texts, answers.now[place], _scale(case))


def _since(case: ReviewCase, answers: Said, day: date, margins: Margins) -> Since:
    results = answers.before[day], answers.now[0]
    return since_review(case.judge, case.texts.originals, results, day, _scale(case), margins)


def _grounds(
    answers: Said,
    drifts: Mapping[date, Check],
    became: Mapping[date, Since],
    checks: Sequence[Check],
    moved: Check | None,
) -> Iterator[str]:
    """Yield why a judge in use is to be reconsidered; `checks` are those of the day."""
    by_name = {check.name: check for check in checks}
    for day, drift in drifts.items():
        if drift.result is Result.FAILS:
            yield f"It no longer judges as on {day}: {drift.reason}."
        for why in became[day].grounds:
            yield f"It no longer judges as on {day}: {why}."
    for check, failure in (
        (moved, "It moved"),
        (by_name.get(READABLE), "Too few of its answers can be read"),
        (by_name.get(AGREEMENT), "It does not agree with people's labels"),
    ):
        if check and check.result is Result.FAILS:
            yield f"{failure}: {check.reason}."
    failing = [check.name for check in checks if check.result is Result.FAILS]
    if lost := [name for name in failing if name in answers.passed]:
        yield f"It passed on {answers.since} and fails now: {', '.join(lost)}."


def _of_judge(
    case: ReviewCase,
    answers: Said,
    drifts: Mapping[date, Check],
    became: Mapping[date, Since],
    assessed: Assessment | None,
    checks: tuple[Check, ...],
    moved: Movement | None,
) -> ReviewFinding:
    by_name = {check.name: check for check in checks}
    readable, agreement = by_name.get(READABLE), by_name.get(AGREEMENT)
    of_looks = {check.name: check for check in moved.checks} if moved else {}
    people_moved = of_looks.get(PEOPLE_ANCHORS)
    grounds = list(_grounds(answers, drifts, became, checks, of_looks.get(ANCHORS)))
    if assessed and assessed.decision.verdict is CalibrationVerdict.DO_NOT_USE and not grounds:
        grounds.append(assessed.decision.why)
    other = answers.other.sentence if answers.other else ""
    reason = other or "It has no earlier review on these texts: drift shows from the next one on."
    if answers.since is not None:
        last = drifts[answers.since]
        reason = f"It judges as on {answers.since}: {last.reason}."
        if last.result is not Result.PASSES:
            reason = f"{Result.CANNOT_TELL}: {last.reason}. {last.action}".strip()
    lost = became[answers.since].answers if answers.since is not None else None
    unread = [check for check in (lost, readable) if check and is_open(check)]
    if unread:
        reason = f"{Result.CANNOT_TELL}: {unread[0].reason}. {unread[0].action}".strip()
    if agreement:
        agrees = f"Agreement with people's labels: {agreement.reason}."
        if is_open(agreement):
            agrees += (
                f" That {agreement.question}: {Result.CANNOT_TELL}. {agreement.action}".rstrip()
            )
        decides = agreement.result is Result.PASSES and reason.startswith(Result.CANNOT_TELL)
        if decides and not unread:
            reason = f"{agrees} Whether it judges as on {answers.since}: {reason}"
        else:
            reason = f"{reason} {agrees}"
    elif assessed and assessed.decision.verdict is CalibrationVerdict.CANNOT_TELL and not unread:
        reason = f"{reason} {assessed.decision.why}"
    dated = [
        replace(drift, question=f"{drift.question} since {day}") for day, drift in drifts.items()
    ]
    of_texts = [check for one in became.values() for check in one.checks]
    all_checks = (*dated, *of_looks.values(), *of_texts, *checks)
    finding = _finding(case, answers, 0, grounds, reason, all_checks, ())
    if people_moved and people_moved.result is Result.FAILS:
        said = f"{finding.reason} People moved: {people_moved.reason}. {people_moved.action}"
        finding = replace(finding, reason=said)
    if Mover.SYSTEMS in (moved.moved.who if moved else ()):
        of_fresh = of_looks[FRESH]
        said = f"{finding.reason} The systems moved: {of_fresh.reason}. {of_fresh.action}"
        finding = replace(finding, reason=said)
    if other not in finding.reason:
        finding = replace(finding, reason=f"{finding.reason} {other}")
    last_drift = drifts[answers.since].result if answers.since is not None else None
    verdict = _verdict(finding, last_drift, (readable, agreement), bool(unread), assessed)
    fresh = answers.fresh[-1] if answers.fresh else None
    recommendation = finding.recommendation
    untold = verdict is CalibrationVerdict.CANNOT_TELL or bool(moved and moved.missing)
    if recommendation == KEEP and untold:
        recommendation = Result.CANNOT_TELL.value
    return replace(
        finding, recommendation=recommendation, verdict=verdict, movement=moved, fresh=fresh,
        other=answers.other,
    )  # fmt: skip


def _verdict(
    finding: ReviewFinding,
    last_drift: Result | None,
    own: tuple[Check | None, Check | None],
    unread: bool,
    assessed: Assessment | None,
) -> CalibrationVerdict:
    """Return whether the judge in use may be used.

    A calibration decides, but a judge to reconsider, or of open drift, is used with care at best.
    Without one, by `own`, that its answers can be read and agree with labels; without labels, a
    judge that judges as at its last review may be used as decided then. `unread`: whether it is
    open that enough answers still arrive.
    """
    if finding.missing or not finding.statuses.total():
        return CalibrationVerdict.CANNOT_TELL
    agreement = own[1]
    reconsidered = finding.recommendation == RECONSIDER
    if assessed:
        least = CalibrationVerdict.CANNOT_TELL if unread else CalibrationVerdict.CARE
        of_checks = assessed.decision.verdict
        is_less = reconsidered or unread or last_drift not in (None, Result.PASSES)
        return max(of_checks, least) if is_less else of_checks
    if any(check and check.result is Result.FAILS for check in own):
        return CalibrationVerdict.DO_NOT_USE
    if reconsidered:
        return CalibrationVerdict.CARE
    if unread:
        return CalibrationVerdict.CANNOT_TELL
    if agreement and agreement.result is not Result.PASSES:
        return CalibrationVerdict.CANNOT_TELL
    is_as_before = last_drift is Result.PASSES
    if agreement:
        first = last_drift is None
        return CalibrationVerdict.USE if first or is_as_before else CalibrationVerdict.CARE
    return CalibrationVerdict.USE if is_as_before else CalibrationVerdict.CANNOT_TELL


def _of_alternative(
    case: ReviewCase, answers: Said, against: _Against, figures: tuple[Estimate, ...]
) -> ReviewFinding:
    alike = {check.result for check in against.agreement}
    cost, other_cost = answers.costs[0], answers.costs[against.place]
    grounds = []
    nearer = against.gain.upper is not None and against.gain.upper < 0
    if nearer and against.gain.p is not None and against.gain.p < ALPHA:
        grounds.append(f"It is nearer to what is known: {span(against.gain)}.")
    cheaper = cost is not None and other_cost is not None and other_cost < cost
    if alike == {Result.PASSES} and cheaper:
        grounds.append(f"It judges alike for {dollars(other_cost)} instead of {dollars(cost)} USD.")
    mended, broken = _turned(against.mine, against.theirs), _turned(against.theirs, against.mine)
    if mended and not broken:
        grounds.append(f"It passes what the judge in use fails: {', '.join(mended)}.")
    if Result.FAILS in alike:
        reason = "It does not judge alike, and is not shown to be better."
    elif alike == {Result.PASSES}:
        reason = "It judges alike, and is not shown to be better or to cost less."
    else:
        actions = dict.fromkeys(check.action or check.reason for check in against.agreement
                                if check.result is not Result.PASSES)  # fmt: skip
        reason = f"{Result.CANNOT_TELL}: {' '.join(actions)}"
    shown = (against.gain, *figures) if against.gain.n_items else figures
    checks = (*against.agreement, *against.theirs)
    finding = _finding(case, answers, against.place, grounds, reason, checks, shown)
    if not grounds and Result.FAILS not in alike and alike != {Result.PASSES}:
        return replace(finding, recommendation=Result.CANNOT_TELL.value)
    return finding


def _finding(
    case: ReviewCase, answers: Said, place: int, grounds: Sequence[str], otherwise: str,
    checks: tuple[Check, ...], figures: tuple[Estimate, ...],
) -> ReviewFinding:  # fmt: skip
    results = [result for some in answers.now[place].values() for result in some]
    reason, note = " ".join(grounds) or otherwise, answers.answered[place].note()
    return ReviewFinding(
        case=case,
        alternative=case.alternatives[place - 1] if place else None,
        recommendation=RECONSIDER if grounds else KEEP,
        reason=f"{reason} {note}." if note else reason,
        verdict=None,
        checks=checks,
        figures=figures,
        statuses=Counter(result.status for result in results),
        missing=len(case.texts.items) * case.repeats - len(results),
        cost=answers.costs[place],
        since=None if place else answers.since,
        simulated=any(result.simulated for result in results),
    )


def _turned(fails: Sequence[Check], passes: Sequence[Check]) -> list[str]:
    """Return the names of checks that fail among the first and pass among the second."""
    failing = {check.name for check in fails if check.result is Result.FAILS}
    return [c.name for c in passes if c.result is Result.PASSES and c.name in failing]


def _assessed(case: ReviewCase, place: int, answers: Said) -> Assessment | None:
    """Return what the calibration says of a judge; None without one."""
    if case.design is None:
        return None
    return assess(case.judges[place], case.texts, answers.now[place], case.design)


def _drift(case: ReviewCase, answers: Said, since: date) -> Drift:
    """Return how the originals moved since an earlier review: those with a score on both.

    A text whose verdict is missing now has changed.
    """
    judge = case.judge
    pairs = [
        (_value(judge, answers.before[since][item.key]), _value(judge, answers.now[0][item.key]))
        for item in case.texts.originals
        if answers.now[0][item.key]
    ]
    decides = bool(verdicts_of(judge))
    moved = [
        1.0 if after is None else _apart(before, after)
        for before, after in pairs
        if before is not None and (decides or after is not None)
    ]
    return Drift(np.array(moved, dtype=np.float64), verdicts=decides)


def _drift_tests(cases: Sequence[ReviewCase]) -> int:
    """Return how many tests of drift a review has: of each judge, beside its last and its first."""
    return 2 * len(cases)


def drift_caution(cases: Sequence[ReviewCase], margins: Margins) -> Iterator[str]:
    """Yield which judges have too few texts to show that nothing moved, if nothing does.

    Beside a last and a first review of each, over all of which drift is corrected.
    """
    tests = _drift_tests(cases)
    for case in cases:
        key, claim = "equivalence", MarginClaim(Direction.WITHIN, margins.equivalence)
        if verdicts_of(case.judge):
            key, claim = "changed_verdicts", MarginClaim(Direction.BELOW, margins.changed_verdicts)
        size, needed = len(case.texts.originals), items_if_unchanged(claim, tests)
        if size < needed:
            yield (
                f"{case.judge.name}: if nothing changes, {counted(size, 'text')} cannot show it: "
                f"`margins.{key}: {claim.margin:g}` takes {needed}, compared with the last and the "
                f"first review. Add {counted(needed - size, 'text')}, or widen the margin."
            )


def _agreement(
    case: ReviewCase, place: int, answers: Said, margins: Margins
) -> tuple[tuple[Check, ...], tuple[Estimate, ...]]:
    """Return the checks of an alternative against the judge in use, and figures to be read."""
    judge, other = case.judge, case.judges[place]
    originals = case.texts.originals
    if not verdicts_of(judge):
        sides = [[result for item in originals for result in answers.now[side][item.key]]
                 for side in (0, place)]  # fmt: skip
        replacement = compare((judge, other), originals, (sides[0], sides[1]), margins).replacement
        return replacement.checks, replacement.figures
    values = [(_value(judge, answers.now[0][item.key]), _value(other, answers.now[place][item.key]))
              for item in originals]  # fmt: skip
    differ = [
        first != second for first, second in values if first is not None and second is not None
    ]
    check = claimed(
        "verdicts",
        f"fewer than {percent(margins.changed_verdicts)} of the verdicts differ",
        changed_share("differing_verdicts", np.array(differ, dtype=np.float64)),
        MarginClaim(Direction.BELOW, margins.changed_verdicts),
        "Read the texts on which they differ before anything relies on the other judge.",
    )
    return (check,), ()


def _gain(
    case: ReviewCase, mine: Results, other: Judge, theirs: Results, rng: np.random.Generator
) -> Estimate:
    """Return how much further than the judge in use another is from what is known to be right.

    Below 0 it is nearer: in points of 100, or the share of wrong verdicts. The p is two-sided, by
    sign flips, which for verdicts is McNemar's exact test.
    """
    scale = _scale(case)
    errors = [
        (
            _error(case.judge, item, mine[item.key], scale),
            _error(other, item, theirs[item.key], scale),
        )
        for item in case.texts.originals
    ]
    further = np.array(
        [second - first for first, second in errors if first is not None and second is not None]
    )
    unit, reach = ("share", 1.0) if verdicts_of(case.judge) else ("points", 100.0)
    gain = mean_over_items(
        "further_from_truth", further, n=len(further), unit=unit, bounds=(-reach, reach)
    )
    return replace(gain, p=sign_flip_p(further, rng)) if len(further) else gain


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
        return float(value != judge.verdict_of(judge.label(item)))
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
        judge.verdict_of(result.score) or result.status
        for result in results
        if result.status in ("scored", "inconsistent")
    )
    most = max(given.values(), default=0)
    return " or ".join(sorted(name for name, count in given.items() if count == most)) or None


def _apart(before: float | str, after: float | str) -> float:
    if isinstance(before, str) or isinstance(after, str):
        return float(before != after)
    return after - before


def store_findings(runtime: Runtime, review: LoadedReview, day: date) -> list[ReviewRow]:
    """Store what a review finds in what is judged so far; returns all reviews of that day.

    Replaces what the same review found on that day before. The rows are those of other review
    files too.
    """
    with runtime.session() as session:
        stored = [_stored(session, review.file.name, case, day) for case in review.cases]
        findings = review_findings(review.cases, stored, review.file.margins)
        replace_reviews(
            session, review.file.name, day, [_row(session, finding) for finding in findings]
        )
        return reviews_of(session, day)


def _stored(session: Session, name: str, case: ReviewCase, day: date) -> Said:
    """Return what is stored of a case: of the day, and of reviews of its judge before."""
    items, review_day = case.texts.items, day.isoformat()
    now = [results_of(session, judge, items, case.repeats, review_day) for judge in case.judges]
    judge_id = save_judge(session, case.judge.record)
    kept = last_kept(session, name, judge_id, day)
    since = kept.day if kept else date.min
    earlier = earlier_reviews(session, name, judge_id, case.corpus, day, since)
    reviewed = [on.isoformat() for on in earlier]
    results = results_by_day(session, case.judge, items, case.repeats, reviewed)
    before = dict(zip(earlier, results, strict=True))
    last: list[dict[str, Any]] = next(iter(earlier.values()), {}).get("checks", [])
    passed = frozenset(check["name"] for check in last if check["result"] == "passes")
    by = [
        answered(session, judge.record, results.values())
        for judge, results in zip(case.judges, now, strict=True)
    ]
    days = [on.isoformat() for on in review_days(session, name, judge_id, case.corpus, day, since)]
    looks = results_by_day(session, case.judge, case.texts.originals, case.repeats, days)
    labelled = {on: points for on, points in case.labelled.items() if on <= day}
    labelled = labelled_since(labelled, since)
    costs = _costs(session, case, now)
    fresh = [
        Fresh.of(one) for one in review_figures(session, name, judge_id, case.corpus, day, since)
    ]
    said = results_of(session, case.judge, case.fresh, case.repeats, review_day)
    fresh.append(fresh_of(case.judge, case.fresh, said, fresh))
    fresh = fresh if any(look.keys for look in fresh) else []
    judge = case.judge
    other = other_judge(judge, reviewed_namesakes(session, name, judge.record, case.corpus, day))
    return Said(now, before, passed, costs, by, [*looks, now[0]], labelled, kept, fresh, other)


def _costs(
    session: Session, case: ReviewCase, now: Sequence[dict[str, list[JudgeResult]]]
) -> list[float | None]:
    """Return US dollars a judgement, by judge."""
    costs: list[float | None] = []
    for judge, results in zip(case.judges, now, strict=True):
        made = [result for some in results.values() for result in some]
        paid = cost_of(session, [call for result in made for call in result.call_ids])
        is_priced = judge.asks_model and made and not paid.unknown
        costs.append(paid.usd / len(made) if is_priced else None)
    return costs


def _row(session: Session, finding: ReviewFinding) -> dict[str, Any]:
    other = finding.alternative
    return {
        "judge_id": save_judge(session, finding.case.judge.record),
        "alternative_id": save_judge(session, other.record) if other else None,
        "corpus": finding.case.corpus,
        "decision": finding.case.decision,
        "figures": {
            "verdict": finding.verdict.words if finding.verdict is not None else None,
            "name": finding.case.judge.name,
            "judge": _named(finding.case.judge),
            "alternative": _named(other) if other else None,
            "since": finding.since.isoformat() if finding.since else None,
            "checks": [check_values(check) for check in finding.checks],
            "figures": [asdict(figure) for figure in finding.figures],
            "judgements": dict(finding.statuses),
            "missing": finding.missing,
            "usd_a_judgement": finding.cost,
            "other_judge": finding.other.value if finding.other else None,
            "moved": finding.movement.figures() if finding.movement else None,
            "fresh": asdict(finding.fresh) if finding.fresh else None,
        },
        "recommendation": finding.recommendation,
        "reason": finding.reason,
        "simulated": finding.simulated,
    }


def _named(judge: Judge) -> str:
    return f"{judge.name}, {judge.answered_by}"


def save_decision(
    session: Session,
    review: str,
    day: date,
    judge: str,
    decision: ReviewDecision,
    person: str,
    reason: str = "",
    **where: str,
) -> list[ReviewRow]:
    """Store what a person decided about a judge in use after a review; returns the day's reviews.

    `where` says where it was decided, such as the flow run. Raises `ConfigError` if the review of
    that day has no such judge.
    """
    in_use = {
        str(row.config["name"]): row
        for row in reviews_of(session, day)
        if row.review == review and not row.is_alternative
    }
    if judge not in in_use:
        known = f"Use {', '.join(in_use)}." if in_use else "Run the review first."
        raise ConfigError(
            f"The review {review} of {day} has no judge {judge!r} in use.",
            f"{did_you_mean(judge, in_use)}{known}",
        )
    row = in_use[judge]
    details = {"day": day.isoformat(), "recommendation": row.recommendation, **where}
    save_review(session, review, row.judge_id, decision, person, reason, details)
    return reviews_of(session, day)
