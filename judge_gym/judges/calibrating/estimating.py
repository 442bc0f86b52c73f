"""From what is stored to everything that is estimated of a calibration."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain

import numpy as np
from sqlalchemy.orm import Session

from judge_gym.asking.budgeting import budget_warning, spender_of
from judge_gym.calibration.checks import Check
from judge_gym.calibration.design import CalibrationDesign
from judge_gym.calibration.escalating import MeasuredJudge, PolicyFigures, policies
from judge_gym.design.experiment import family_of
from judge_gym.errors import StoreError
from judge_gym.judges import Judge, ModelJudge
from judge_gym.judges.calibrating.assessing import (
    Assessment,
    Results,
    assess,
    assess_together,
    known_points,
    points_of,
    recommended,
    refused_of,
)
from judge_gym.judges.calibrating.judging import (
    criticism_of,
    load_judges,
    load_originals,
    load_texts,
    results_of,
)
from judge_gym.judges.calibrating.texts import Texts
from judge_gym.judges.files import JudgeSource
from judge_gym.metrics.cells import FloatArray
from judge_gym.metrics.points import bin_of
from judge_gym.runtime import Runtime
from judge_gym.store.judges import answered, item_costs, replace_checks


@dataclass(frozen=True)
class CalibrationFindings:
    """Everything that is estimated of a calibration, of what is judged so far.

    `assessments` and `costs` (US dollars, NaN where a price is unknown) are by judge, `together`
    are checks between judges. `chosen` is the index of the recommended judge, None without one;
    `why` says why. `written` is when it was estimated.
    """

    design: CalibrationDesign
    texts: Texts
    assessments: Sequence[Assessment]
    together: Sequence[Check]
    policies: Sequence[PolicyFigures]
    costs: Sequence[float]
    chosen: int | None
    why: str
    written: datetime
    stopped: Sequence[str] = ()
    """The messages of budgets that do not suffice for the judgements that are missing."""

    @property
    def simulated(self) -> bool:
        """Whether a score is of a simulated judge."""
        return any(assessment.simulated for assessment in self.assessments)

    @property
    def expected(self) -> int:
        """How many judgements a complete calibration has."""
        return len(self.texts.items) * self.design.repeats * len(self.assessments)

    @property
    def missing(self) -> int:
        """How many of them are not there."""
        return self.expected - sum(assessment.statuses.total() for assessment in self.assessments)

    @property
    def refused(self) -> Sequence[str]:
        """The names of judges that are not to be used: no way to ask has them."""
        return refused_of(self.assessments)

    @property
    def related(self) -> Sequence[str]:
        """The names of judges of the same family as the model that changed texts."""
        perturber = self.design.perturber
        if perturber is None:
            return ()
        family = family_of(perturber.model)
        return [
            assessment.judge.name
            for assessment in self.assessments
            if any(
                isinstance(leaf, ModelJudge) and family_of(leaf.model) == family
                for leaf in assessment.judge.leaves
            )
        ]


def read_findings(
    runtime: Runtime, design: CalibrationDesign, sources: Sequence[JudgeSource] | None = None
) -> CalibrationFindings:
    """Estimate a calibration from the judgements that are stored.

    `sources` are judges in place of those of the design. Raises `StoreError` when there are none.
    """
    judges = load_judges(design, sources)
    originals = load_originals(design, judges)
    with runtime.session() as session:
        texts = load_texts(session, design, originals)
        results = [results_of(session, judge, texts.items, design.repeats) for judge in judges]
        assessments = [
            assess(
                judge,
                texts,
                of_judge,
                design,
                answered(session, judge.record, of_judge.values()),
                criticism_of(session, judge, chain.from_iterable(of_judge.values())),
            )
            for judge, of_judge in zip(judges, results, strict=True)
        ]
        costs = [
            item_costs(session, judge.record, of_judge)
            for judge, of_judge in zip(judges, results, strict=True)
        ]
        stopped = [
            _budget_stop(session, assessment, len(texts.items) * design.repeats)
            for assessment in assessments
        ]
    if not any(assessment.statuses for assessment in assessments):
        raise StoreError(f"Nothing is judged of calibration {design.name}.", "Run it first.")
    totals = [sum(by_item.values()) for by_item in costs]
    refused = refused_of(assessments)
    offered = [place for place, judge in enumerate(judges) if judge.name not in refused]
    chosen, why = recommended(assessments, totals)
    return CalibrationFindings(
        design=design,
        texts=texts,
        assessments=assessments,
        together=assess_together(judges, texts, results, design, refused),
        policies=escalation(
            [judges[place] for place in offered], texts,
            [results[place] for place in offered],
            [costs[place] for place in offered], design,
        ),
        costs=totals,
        chosen=chosen,
        why=why,
        written=datetime.now(UTC),
        stopped=[message for message in stopped if message],
    )  # fmt: skip


def _budget_stop(session: Session, assessment: Assessment, expected: int) -> str:
    """Return why the budget of a judge does not suffice for what is missing; empty if it does."""
    missing = expected - assessment.statuses.total()
    warnings = (
        budget_warning(session, spender_of(leaf), missing * leaf.calls_per_item, None)
        for leaf in assessment.judge.leaves
        if isinstance(leaf, ModelJudge)
    )
    return next(filter(None, warnings), "")


def store_checks(runtime: Runtime, findings: CalibrationFindings) -> None:
    """Store the checks as rows, in place of those of the same judges and texts."""
    corpus = findings.texts.originals[0].corpus
    with runtime.session() as session:
        for assessment in findings.assessments:
            replace_checks(
                session,
                assessment.judge.record,
                corpus,
                findings.design.name,
                assessment.checks,
                simulated=assessment.simulated,
            )


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
    means lie in different bins of 20 points. Empty without two judges or two such texts, and while
    judgements of texts whose score is known are missing.
    """
    if len(judges) < 2:
        return []
    truth = [known_points(judges[0], item, design.label_scale) for item in texts.originals]
    points = [[points_of(judge, by_item[item.key]) for item in texts.originals]
              for judge, by_item in zip(judges, results, strict=True)]  # fmt: skip
    shared = [
        place
        for place, label in enumerate(truth)
        if not np.isnan(label) and all(given[place] for given in points)
    ]
    made = all(
        len(by_item[item.key]) >= design.repeats
        for item, label in zip(texts.originals, truth, strict=True)
        for by_item in results
        if not np.isnan(label)
    )
    if len(shared) < 2 or not made:
        return []
    truths = np.array([truth[place] for place in shared])
    keys = [texts.originals[place].key for place in shared]
    options = [
        _asked(
            judge, [given[place] for place in shared], truths,
            [cost[key] for key in keys], design.margins.near,
        )
        for judge, given, cost in zip(judges, points, costs, strict=True)
    ]  # fmt: skip
    # What is not known is taken for dear.
    first, *others = sorted(
        options, key=lambda option: float(np.nan_to_num(option.cost, nan=np.inf).sum())
    )
    second = max(others, key=lambda option: float(option.right.mean()))
    return policies(first, second, [other for other in others if other is not second])


def _asked(
    judge: Judge,
    runs: Sequence[Sequence[float]],
    truths: FloatArray,
    cost: Sequence[float],
    near: float,
) -> MeasuredJudge:
    means = np.array([np.mean(run) for run in runs])
    return MeasuredJudge(
        judge=judge.name,
        family=family_of(judge.model) if isinstance(judge, ModelJudge) else judge.answered_by,
        answer=bin_of(means).astype(np.float64),
        right=np.abs(means - truths) <= near,
        cost=np.array(cost),
        doubt=np.array([np.std(run) for run in runs]),
    )
