"""Scored samples with what was shown and answered: what probes and critics ask about."""

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy.orm import Session

from judge_gym.design.experiment import Experiment
from judge_gym.lab.judging import score_key
from judge_gym.questions.prober import ScoredSample
from judge_gym.records.shown import shown_to
from judge_gym.store import samples as store
from judge_gym.store.experiments import experiments_by_id, marked_experiments
from judge_gym.store.rubrics import stored_rubric


@dataclass(frozen=True)
class ScoredUnit:
    """Everything a question about one sample needs."""

    sample_id: int
    experiment_id: int
    experiment: Experiment
    score_key: str
    scored: ScoredSample
    replicate: int
    simulated: bool
    """Whether the simulator made the sample or its evidence."""
    marked: bool
    """Whether it runs although its model does not apply some of its axes."""

    @property
    def is_gone(self) -> bool:
        """Whether the call of the sample was cleaned away."""
        return not (self.scored.messages or self.scored.answer)

    @property
    def prompt_is_gone(self) -> bool:
        """Whether its prompt was pruned, or its call cleaned away."""
        return not self.scored.messages


def scored_units(session: Session, sample_ids: Collection[int]) -> dict[int, ScoredUnit]:
    """Return these samples by id."""
    samples = store.samples_by_id(session, sample_ids)
    arms = store.arms_by_id(session, {sample.arm_id for sample in samples.values()})
    experiments = experiments_by_id(session, {arm.experiment_id for arm, _ in arms.values()})
    items = store.item_keys(session, {sample.item_id for sample in samples.values()})
    shown = {
        view: store.shown_documents(session, items, *view)
        for view in {experiment.view for experiment in experiments.values()}
    }
    marked = marked_experiments(session, experiments)
    units = {}
    for sample_id, sample in samples.items():
        arm, rubric = arms[sample.arm_id]
        experiment = experiments[arm.experiment_id]
        item = items[sample.item_id]
        units[sample_id] = ScoredUnit(
            sample_id=sample_id,
            experiment_id=arm.experiment_id,
            experiment=experiment,
            score_key=score_key(arm.experiment_key, rubric.key, arm.arm, item, sample.replicate),
            scored=ScoredSample(
                rubric=stored_rubric(rubric),
                documents=shown_to(experiment, shown[experiment.view][sample.item_id]),
                presentation=sample.presentation,
                stages=sample.stages,
                messages=sample.messages,
                answer=sample.answer,
                span=sample.span,
            ),
            replicate=sample.replicate,
            simulated=sample.simulated,
            marked=arm.experiment_id in marked,
        )
    return units
