"""W3: judge every frozen item under the experiment's own rubric."""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from judge_gym.errors import JudgeGymError
from judge_gym.store.experiments import experiments_by_tag
from judge_gym.store.items import LackingViewError, freeze_items
from judge_gym.store.progress import not_scored, refused_rubrics
from judge_gym.store.rubrics import add_arm, applied_key, rubric_by_key
from judge_gym.store.samples import Missing, missing_samples


def plan_scoring(
    session: Session, tags: Sequence[str], sweep: str | None = None
) -> tuple[Missing, list[str]]:
    """Freeze items, plan the own arms, and return what is missing.

    `sweep` limits it to the replicates that its file declares.

    Experiments whose rubric a person has refused are left out. The second value says, a line each,
    which others cannot be scored for want of a usable rubric or of items; they do not hold up the
    rest. Raises `JudgeGymError` when none can be scored.
    """
    unusable = []
    ready = []
    experiments = experiments_by_tag(session, tags)
    refused = refused_rubrics(session, list(experiments))
    left_out = not_scored(refused)
    for experiment_id, experiment in experiments.items():
        if experiment_id in left_out:
            continue
        rubric = rubric_by_key(session, applied_key(experiment))
        if rubric is None or rubric.status != "ready":
            why = f"{rubric.status}: {rubric.failure}" if rubric else "not written yet"
            unusable.append(f"{experiment.name}: its rubric is {why}")
            continue
        try:
            frozen = freeze_items(session, experiment_id, experiment)
        except LackingViewError as error:
            unusable.append(f"{experiment.name}: {error.message}")
            continue
        if not frozen:
            size = experiment.documents_together
            kind = "document" if size == 1 else f"bundle of {size} documents"
            unusable.append(f"{experiment.name}: its window gives no {kind}")
            continue
        add_arm(session, experiment_id, "own", rubric)
        ready.append(experiment_id)
    if not ready:
        unusable += [f"{one.person} has refused the rubric of {one.owner}" for one in refused]
        raise JudgeGymError(
            f"No experiment can be scored: {'; '.join(unusable[:3])}.",
            "Run w1-evidence and w2-rubric first.",
        )
    return missing_samples(session, ready, ["own"], sweep), unusable
