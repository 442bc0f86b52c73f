"""How many answers of each judge are readable, counted from rows."""

from collections.abc import Collection, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.answers.readability import Answers, answers_by_judge
from judge_gym.store import tables as t

_COUNT = sa.func.count()


def of_samples(session: Session, tags: Collection[str], arms: Collection[str]) -> list[Answers]:
    """Count the judgements in these arms of the experiments with these tags."""
    query = (
        sa.select(t.Experiment.model, t.Sample.failure, _COUNT)
        .join(t.Arm, t.Arm.experiment_id == t.Experiment.id)
        .join(t.Sample, t.Sample.arm_id == t.Arm.id)
        .where(t.Experiment.tag.in_(tags), t.Arm.arm.in_(arms))
    )
    return _counted(session, query)


def of_probes(session: Session, tags: Collection[str]) -> list[Answers]:
    """Count the probes of every arm."""
    query = (
        sa.select(t.Experiment.model, t.Probe.failure, _COUNT)
        .join(t.Arm, t.Arm.experiment_id == t.Experiment.id)
        .join(t.Sample, t.Sample.arm_id == t.Arm.id)
        .join(t.Probe, t.Probe.sample_id == t.Sample.id)
        .where(t.Experiment.tag.in_(tags))
    )
    return _counted(session, query)


def of_views(session: Session, windows: Collection[int], views: Collection[str]) -> list[Answers]:
    """Count the views that models made, each kind of view by itself.

    Views that failed because the view before them failed were not requested; they do not count.
    """
    query = (
        sa.select(
            t.View.method + sa.literal(" (") + t.View.view + " views)", t.View.failure, _COUNT
        )
        .join(t.Document, t.Document.id == t.View.document_id)
        .where(
            t.Document.window_id.in_(windows),
            t.View.view.in_(views),
            t.View.method.not_in(("none", "library")),
        )
    )
    return _counted(session, query)


def of_generated_rubrics(session: Session, keys: Collection[str]) -> list[Answers]:
    """Count the rubrics with these keys that models wrote, and the marks that critics gave.

    A rubric that is refused for its marks was readable.
    """
    generated = t.Rubric.key.in_(keys) & (t.Rubric.source == "generated")
    failure = sa.case((t.Rubric.status == "failed", t.Rubric.failure))
    written = sa.select(t.Rubric.owner_model + sa.literal(" (rubrics)"), failure, _COUNT)
    marked = sa.select(
        t.Rubric.critic_model + sa.literal(" (marks of rubrics)"), t.Rubric.critic_failure, _COUNT
    ).where(t.Rubric.critic_model.is_not(None))
    return [one for query in (written, marked) for one in _counted(session, query.where(generated))]


def of_rewritings(session: Session, keys: Sequence[str]) -> list[Answers]:
    """Count the texts with these keys that models changed."""
    changed = sa.select(
        t.PerturbedText.model + sa.literal(" (changed texts)"), t.PerturbedText.failure, _COUNT
    )
    chosen = t.PerturbedText.key == sa.any_(sa.literal(list(keys), sa.ARRAY(sa.Text)))
    return _counted(session, changed.where(chosen))


def _counted(session: Session, query: sa.Select[Any]) -> list[Answers]:
    judge, failure, _ = query.selected_columns
    rows = session.execute(query.group_by(judge, failure)).tuples().all()
    return answers_by_judge(rows)
