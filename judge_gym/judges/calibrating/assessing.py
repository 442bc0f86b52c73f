"""What a judge can tell apart, from what it said of the originals and of their variants."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from judge_gym.calibration.checks import Check, Result, pending
from judge_gym.calibration.comparisons import between_checks
from judge_gym.calibration.design import CalibrationDesign
from judge_gym.calibration.distribution import distribution_checks, held_back, repetition_checks
from judge_gym.calibration.monotonicity import (
    Effect,
    SeverityCurve,
    curve_checks,
    effect_checks,
    severity_means,
)
from judge_gym.calibration.verdict import (
    AGREEMENT,
    READABLE,
    CalibrationDecision,
    CalibrationVerdict,
    agreement_check,
    beside_people_check,
    decide,
    readable_check,
)
from judge_gym.judges import Judge, JudgeResult
from judge_gym.judges.calibrating.judging import readable_of
from judge_gym.judges.calibrating.texts import Changed, Texts
from judge_gym.judges.reason_critic import Criticism
from judge_gym.metrics.cells import FloatArray, IntArray
from judge_gym.metrics.estimate import Estimate, rescaled
from judge_gym.metrics.expert_labels import (
    IsotonicCurve,
    Labelled,
    Screened,
    isotonic_calibration,
    prediction_powered_mean,
    rogan_gladen,
)
from judge_gym.metrics.points import HIGHEST, Scores, to_points
from judge_gym.metrics.stratified_labels import NEXT_LABELS, NextLabels, next_labels
from judge_gym.model_names import Answered
from judge_gym.planted.editing import Expectation
from judge_gym.records.items import Item
from judge_gym.seeds import derive_seed

SHOWN_CASES = 20
_FIRST = ("band", "discrimination")
Results = Mapping[str, Sequence[JudgeResult]]
"""Item key → what the judge said of it."""


@dataclass(frozen=True)
class SurprisingScore:
    """A variant whose score is not what was expected: `surprise` points on the wrong side."""

    perturbation: str
    expectation: Expectation
    severity: float
    original: Item
    changed: Changed
    before: float
    after: float
    surprise: float


@dataclass(frozen=True)
class Contradiction:
    """A judgement whose reason says another score or verdict than it gave."""

    result: JudgeResult
    why: str
    found_by: str = "a rule"


@dataclass(frozen=True, eq=False)
class Assessment:
    """What is said of one judge. Scores are in points of 100 on the judge's own scale.

    `checks` begin with whether answers can be read, and whether they agree with people's labels
    where there are any. `curves` are perturbation → severity → mean points; `truth` what labels
    make of the judge's scores, empty without any. `statuses` counts judgements however they ended.
    `decision` names served models that differ from the model asked for.
    """

    judge: Judge
    answered: Answered
    decision: CalibrationDecision
    checks: list[Check]
    scores: Scores
    curves: dict[str, list[tuple[float, Estimate]]]
    cases: list[SurprisingScore]
    truth: list[Estimate]
    calibrated: IsotonicCurve | None
    next_labels: NextLabels | None
    statuses: Counter[str]
    call_ids: list[int]
    simulated: bool
    contradictions: list[Contradiction]
    """Found by the rule, then by the critic."""
    criticism: Criticism | None = None
    """What the critic that the judge's file names has read; None without one."""

    @property
    def by_rule(self) -> int:
        """How many contradictions the rule found."""
        return sum(one.found_by == Contradiction.found_by for one in self.contradictions)

    def count(self, result: Result) -> int:
        """Return how many checks ended so."""
        return sum(check.result is result for check in self.checks)


def assess(
    judge: Judge,
    texts: Texts,
    results: Results,
    design: CalibrationDesign,
    answered: Answered | None = None,
    criticism: Criticism | None = None,
) -> Assessment:
    """Return everything that is said of one judge; the same results give the same figures.

    `answered` says who answered, by default the model asked for.
    """
    answered = answered or Answered(judge.answered_by)
    judged = _judged(judge, texts, results, design)
    checks = _checks(judge, texts, results, design, judged)
    truth, calibrated = _truth(judged.labelled, judged.steps)
    flat = [result for some in results.values() for result in some]
    decision = decide(judge.name, checks, design.decide, len(flat), len(results) * design.repeats)
    if note := answered.note():
        decision = replace(decision, why=f"{decision.why} {note}.")
    return Assessment(
        judge=judge,
        answered=answered,
        decision=decision,
        checks=checks,
        scores=judged.scores,
        curves={
            curve.perturbation: list(
                zip(curve.severities.tolist(), severity_means(curve), strict=True)
            )
            for curve in judged.curves
        },
        cases=_cases(texts, judged.means, design),
        truth=truth,
        calibrated=calibrated,
        next_labels=_next_labels(judged.labelled, judged.steps),
        statuses=Counter(result.status for result in flat),
        call_ids=[call for result in flat for call in result.call_ids],
        simulated=any(result.simulated for result in flat),
        contradictions=[
            *(
                Contradiction(result, why)
                for result in flat
                if (why := judge.contradiction(result))
            ),
            *(
                Contradiction(result, why, one.model)
                for one in ([criticism] if criticism else [])
                for result, why in one.contradictions
            ),
        ],
        criticism=criticism,
    )


@dataclass(frozen=True, eq=False)
class _Judged:
    """A judge's points of 100 of the texts, and labels beside them.

    `means` are by item key, `steps` how many scores the judge's scale has.
    """

    scores: Scores
    means: Mapping[str, float]
    curves: list[SeverityCurve]
    labelled: Labelled
    people: tuple[FloatArray, FloatArray]
    """People's labels of the texts, people x texts, and the judge's scores, NaN without one."""
    times: IntArray
    """How many answers each of these labels stands for."""
    unscored: IntArray
    """The same of the texts with a label that were judged and have no score."""
    steps: int


def _judged(judge: Judge, texts: Texts, results: Results, design: CalibrationDesign) -> _Judged:
    points = {key: points_of(judge, some) for key, some in results.items()}
    means = {key: float(np.mean(given)) for key, given in points.items() if given}
    known = [item for item in texts.originals if item.truth is not None and results[item.key]]
    return _Judged(
        scores=_scores([points[item.key] for item in texts.originals]),
        means=means,
        curves=[_curve(texts, means, design, name) for name in _names(design)],
        labelled=_labelled(judge, texts, means, design),
        people=_people(texts, means),
        times=texts.times([item for item in known if item.key in means]),
        unscored=texts.times([item for item in known if item.key not in means]),
        steps=_steps(judge, texts, results),
    )


def _checks(
    judge: Judge, texts: Texts, results: Results, design: CalibrationDesign, judged: _Judged
) -> list[Check]:
    """Return every check of one judge, in the order in which they are shown."""
    rng = np.random.default_rng(derive_seed("calibration", design.name, judge.key))
    margins, rule, labelled = design.margins, design.decide, judged.labelled
    effects = [_effect(texts, judged.means, design, name) for name in _names(design)]
    spread = distribution_checks(
        judged.scores, margins, rng, steps=judged.steps, labels=labelled.expert
    )
    has_labels = any(item.truth is not None for item in texts.originals)
    checks = (
        _readable(judge, [results[key] for key in results], rule.readable),
        *(
            [
                agreement_check(
                    labelled.expert,
                    labelled.judge,
                    rule.agreement,
                    margins.near,
                    verdicts=judge.decides,
                    unscored=judged.unscored,
                    times=judged.times,
                )
            ]
            if has_labels
            else []
        ),
        *(
            [beside_people_check(*judged.people, rule.below_people)]
            if len(texts.people) > 1
            else []
        ),
        *held_back(effect_checks(effects, margins, rng), spread, margins),
        *curve_checks(judged.curves),
        *spread,
        *repetition_checks(judged.scores, margins, rng, rule.self_agreement),
    )
    return [_awaiting(check, texts, results, design) for check in checks]


def refused_of(assessments: Sequence[Assessment]) -> list[str]:
    """Return the names of the judges that are not to be used."""
    verdict = CalibrationVerdict.DO_NOT_USE
    return [one.judge.name for one in assessments if one.decision.verdict is verdict]


def assess_together(
    judges: Sequence[Judge],
    texts: Texts,
    results: Sequence[Results],
    design: CalibrationDesign,
    refused: Sequence[str] = (),
) -> list[Check]:
    """Return what two or more judges say of each other, on the originals.

    `refused` are names of judges not to be used: they are no second opinion. As of a verdict,
    nothing is decided until all judgements exist.
    """
    if len(judges) < 2:
        return []
    rng = np.random.default_rng(derive_seed("calibration together", design.name))
    table = np.array(
        [
            [
                _mean(points_of(judge, by_item[item.key]))
                for judge, by_item in zip(judges, results, strict=True)
            ]
            for item in texts.originals
        ]
    )
    truth = np.array(
        [known_points(judges[0], item, design.label_scale) for item in texts.originals]
    )
    names = [judge.name for judge in judges]
    given = None if np.isnan(truth).all() else truth
    originals = {item.key for item in texts.originals}
    made = sum(len(by_item[key]) for by_item in results for key in originals)
    expected = len(judges) * len(originals) * design.repeats
    checks = between_checks(names, table, given, design.margins, rng, refused)
    if made < expected:
        checks = [
            check
            if check.result is Result.NOT_APPLICABLE
            else replace(check, result=Result.CANNOT_TELL)
            for check in checks
        ]
    return [pending(check, made, expected) for check in checks]


def _awaiting(check: Check, texts: Texts, results: Results, design: CalibrationDesign) -> Check:
    """Return the check, as open where judgements of the texts that it needs are missing.

    A perturbation needs the originals that it changed, too; a trend all its severities.
    """
    if check.name == READABLE:
        keys = set(results)
    elif not check.perturbation:
        keys = {item.key for item in texts.originals}
    else:
        is_trend = check.expectation is None
        keys = {
            key
            for (name, severity), changed in texts.changed.items()
            if name == check.perturbation and (is_trend or severity == design.severities[-1])
            for text in changed
            for key in (texts.originals[text.original].key, text.item.key)
        }
    return pending(check, sum(len(results[key]) for key in keys), len(keys) * design.repeats)


def recommended(
    assessments: Sequence[Assessment], costs: Sequence[float]
) -> tuple[int | None, str]:
    """Return the place of the judge to use, None where none is, and why in a sentence.

    By their decisions. Of equal decisions come first: who has judged as much as the others; who
    does not agree with people clearly less than another, by intervals; telling texts apart; fewest
    checks that fail; fewest that are open; closest to people's labels; cheapest, where a cost of
    NaN, which is not known, is taken for dear.
    """
    most = max(assessment.statuses.total() for assessment in assessments)
    agreed = [_agreement_of(assessment) for assessment in assessments]
    reached = max(
        (estimate.lower for estimate in agreed if estimate and estimate.lower is not None),
        default=-1.0,
    )

    def standing(place: int) -> tuple[int, bool, bool, bool, int, int, float, float]:
        assessment, agreement = assessments[place], agreed[place]
        less = assessment.statuses.total() < most
        behind = bool(agreement and agreement.upper is not None and agreement.upper < reached)
        agrees = (agreement.estimate if agreement else None) or 0.0
        tells = all(c.result is not Result.FAILS for c in assessment.checks if c.name in _FIRST)
        fails, still_open = assessment.count(Result.FAILS), assessment.count(Result.CANNOT_TELL)
        cost = float(np.nan_to_num(costs[place], nan=np.inf))
        verdict = assessment.decision.verdict
        return verdict, less, behind, not tells, fails, still_open, -agrees, cost

    best = min(range(len(assessments)), key=standing)
    decision = assessments[best].decision
    if decision.recommends or len(assessments) == 1:
        return best if decision.recommends else None, decision.why
    return None, f"None of these {len(assessments)} judges is recommended. {decision.why}"


def _agreement_of(assessment: Assessment) -> Estimate | None:
    return next((check.estimate for check in assessment.checks if check.name == AGREEMENT), None)


def _names(design: CalibrationDesign) -> list[tuple[str, Expectation]]:
    return [(perturbation.name, design.expectation(perturbation)) for perturbation in design.chosen]


def _effect(
    texts: Texts,
    means: Mapping[str, float],
    design: CalibrationDesign,
    named: tuple[str, Expectation],
) -> Effect:
    """Return the effect at the highest severity."""
    name, expectation = named
    pairs = _pairs(texts, means, texts.changed[name, design.severities[-1]])
    before = np.array([original for original, _ in pairs], dtype=np.float64)
    after = np.array([other for _, other in pairs], dtype=np.float64)
    changed = len(texts.changed[name, design.severities[-1]])
    return Effect(name, expectation, before, after, texts.not_applicable[name], changed)


def _curve(
    texts: Texts,
    means: Mapping[str, float],
    design: CalibrationDesign,
    named: tuple[str, Expectation],
) -> SeverityCurve:
    """Return the mean points of the items that have a score at every severity.

    Of those, the items whose texts all differ: the same text twice is no larger dose.
    """
    name, expectation = named
    graded = [s for s in design.severities if (name, s) in texts.changed]
    keys = {place: [item.key] for place, item in enumerate(texts.originals)}
    for severity in graded:
        for text in texts.changed[name, severity]:
            keys[text.original].append(text.item.key)
    scored = [
        some for some in keys.values() if len(some) == 1 + len(graded) and means.keys() >= {*some}
    ]
    complete = [[means[key] for key in some] for some in scored if len({*some}) == len(some)]
    points = np.array(complete, dtype=np.float64).reshape(len(complete), 1 + len(graded))
    severities = np.array([0.0, *graded])
    return SeverityCurve(name, expectation, severities, points, len(scored) - len(complete))


def _pairs(
    texts: Texts, means: Mapping[str, float], changed: Sequence[Changed]
) -> list[tuple[float, float]]:
    return [
        (means[texts.originals[text.original].key], means[text.item.key])
        for text in changed
        if texts.originals[text.original].key in means and text.item.key in means
    ]


def _cases(
    texts: Texts, means: Mapping[str, float], design: CalibrationDesign
) -> list[SurprisingScore]:
    """Return the most surprising variants, the worst first; one an item and perturbation."""
    shifts = []
    severity = design.severities[-1]
    for name, expectation in _names(design):
        for text in texts.changed[name, severity]:
            original = texts.originals[text.original]
            before, after = means.get(original.key), means.get(text.item.key)
            if before is None or after is None:
                continue
            moved = after - before
            surprise = {Expectation.DROP: moved, Expectation.RISE: -moved}.get(
                expectation, abs(moved)
            )
            shifts.append(
                SurprisingScore(
                    name, expectation, severity, original, text, before, after, surprise
                )
            )
    return sorted(shifts, key=lambda case: -case.surprise)[:SHOWN_CASES]


def _labelled(
    judge: Judge, texts: Texts, means: Mapping[str, float], design: CalibrationDesign
) -> Labelled:
    """Return labels, the judge's points of the same texts, and its points of all others."""
    rows = [
        (means[item.key], known_points(judge, item, design.label_scale))
        for item in texts.originals
        if item.key in means
    ]
    judged, truths = np.array(rows, dtype=np.float64).reshape(len(rows), 2).T
    given = ~np.isnan(truths)
    return Labelled(truths[given], judged[given], judged[~given])


def _people(texts: Texts, means: Mapping[str, float]) -> tuple[FloatArray, FloatArray]:
    judged = np.array([means.get(item.key, np.nan) for item in texts.originals], dtype=np.float64)
    return texts.people, judged


def _truth(labelled: Labelled, steps: int) -> tuple[list[Estimate], IsotonicCurve | None]:
    """Return the corrected mean and the curve to the labels, where there are any.

    Of two verdicts the mean is the share of the better one in percent, so the correction by
    sensitivity and specificity stands beside it.
    """
    labels, judged, others = labelled.expert, labelled.judge, labelled.judge_alone
    if not len(labels):
        return [], None
    corrected = [prediction_powered_mean(labels, judged, others, bounds=(0.0, HIGHEST))]
    if steps == 2:
        corrected.append(_of_verdicts(labels / HIGHEST, judged / HIGHEST, others / HIGHEST))
    return corrected, isotonic_calibration(labels, judged)


def _of_verdicts(labels: FloatArray, judged: FloatArray, others: FloatArray) -> Estimate:
    """Return the share by sensitivity and specificity, in points."""
    truly, not_truly = labels > 0.5, labels < 0.5
    share = rogan_gladen(
        Screened(
            positive=float(others.sum()),
            tested=len(others),
            hits=float(judged[truly].sum()),
            truly=int(truly.sum()),
            passes=float((1 - judged[not_truly]).sum()),
            not_truly=int(not_truly.sum()),
        )
    )
    return replace(rescaled(share, HIGHEST), unit="")


MOST_STRATA = 11
"""Most groups of scores among which the next labels are divided."""


def _next_labels(labelled: Labelled, steps: int) -> NextLabels | None:
    """Return which texts to label next, by the judge's score to the nearest step."""
    step = HIGHEST / (min(max(steps, 2), MOST_STRATA) - 1)
    judged, others = (
        np.round(scores / step) * step for scores in (labelled.judge, labelled.judge_alone)
    )
    return next_labels(Labelled(labelled.expert, judged, others), NEXT_LABELS)


def _readable(judge: Judge, results: Sequence[Sequence[JudgeResult]], least: float) -> Check:
    of_all = readable_of(judge, [result for some in results for result in some])
    answers = replace(of_all, judge=judge.name)  # what answers it stands beside
    readable = np.array(
        [sum(result.failure is None for result in some) for some in results], dtype=np.int64
    )
    counts = np.array([len(some) for some in results], dtype=np.int64)
    return readable_check(readable, counts, answers, least)


def _steps(judge: Judge, texts: Texts, results: Results) -> int:
    """Return how many scores the judge's scale has, as it is used: many once one lies between."""
    if judge.decides and len(judge.verdict_scores) in (0, 2):
        return 2
    given = [result.score for item in texts.originals for result in results[item.key]]
    lowest, highest = judge.score_range
    whole = all(score is None or score == round(score) for score in given)
    return round(highest - lowest) + 1 if whole else int(HIGHEST)


def known_points(judge: Judge, item: Item, scale: tuple[float, float] | None = None) -> float:
    """Return the label of an item in points; NaN without one, `ConfigError` for no label of its.

    A number is on `scale`, or else on the judge's own.
    """
    if scale is not None and isinstance(item.truth, float | int):
        return float(to_points(np.array([float(item.truth)]), *scale)[0])
    label = judge.label(item)
    if label is None:
        return float("nan")
    return float(to_points(np.array([label]), *judge.score_range)[0])


def points_of(judge: Judge, results: Sequence[JudgeResult]) -> list[float]:
    """Return the scores among the results in points of 100, whatever the judge's scale."""
    given = np.array(
        [result.score for result in results if result.score is not None], dtype=np.float64
    )
    points: list[float] = to_points(given, *judge.score_range).tolist()
    return points


def _scores(runs: Sequence[Sequence[float]]) -> Scores:
    item = np.repeat(np.arange(len(runs)), [len(run) for run in runs])
    points: FloatArray = np.array([p for run in runs for p in run], dtype=np.float64)
    judge = np.zeros(len(item), dtype=np.int64)
    return Scores(judge=judge, item=item, points=points, n_judges=1, n_items=len(runs))


def _mean(points: Sequence[float]) -> float:
    return float(np.mean(points)) if points else float("nan")
