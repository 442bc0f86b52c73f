"""How many answers of each judge are readable, counted from rows."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.answers.readability import Answers, answers_by_judge
from judge_gym.store import tables as t
from judge_gym.store.bulk import among
from judge_gym.store.experiments import within

_COUNT = sa.func.count()


def judgement_answers(
    session: Session, tags: Collection[str], arms: Collection[str], sweep: str | None = None
) -> list[Answers]:
    """Count the judgements in these arms of the experiments with these tags.

    Only the replicates that `sweep` declares; without it, all.
    """
    query = (
        sa.select(t.Experiment.model, t.Sample.failure, _COUNT)
        .join(t.Arm, t.Arm.experiment_id == t.Experiment.id)
        .join(t.Sample, t.Sample.arm_id == t.Arm.id)
        .where(t.Experiment.tag.in_(tags), t.Arm.arm.in_(arms))
    )
    return _counted(session, within(query, sweep))


def scores_by_judge(
    session: Session, tags: Collection[str], arms: Collection[str], sweep: str | None = None
) -> dict[str, int]:
    """Return judge → scored judgements among those that `judgement_answers` counts."""
    query = (
        sa.select(t.Experiment.model, _COUNT)
        .join(t.Arm, t.Arm.experiment_id == t.Experiment.id)
        .join(t.Sample, t.Sample.arm_id == t.Arm.id)
        .where(t.Experiment.tag.in_(tags), t.Arm.arm.in_(arms), t.Sample.status == "scored")
        .group_by(t.Experiment.model)
    )
    return dict(session.execute(within(query, sweep)).tuples().all())


def probe_answers(
    session: Session, tags: Collection[str], sweep: str | None = None
) -> list[Answers]:
    """Count the probes of every arm, as `judgement_answers` counts judgements."""
    query = (
        sa.select(t.Experiment.model, t.Probe.failure, _COUNT)
        .join(t.Arm, t.Arm.experiment_id == t.Experiment.id)
        .join(t.Sample, t.Sample.arm_id == t.Arm.id)
        .join(t.Probe, t.Probe.sample_id == t.Sample.id)
        .where(t.Experiment.tag.in_(tags))
    )
    return _counted(session, within(query, sweep))


def mark_answers(
    session: Session, tags: Collection[str], critic_model: str, sweep: str | None = None
) -> list[Answers]:
    """Count the marks that a critic gave of the reasoning of these experiments' samples."""
    query = (
        sa.select(
            t.ScoreMark.critic_model + sa.literal(" (marks of reasoning)"),
            t.ScoreMark.failure,
            _COUNT,
        )
        .join(t.Sample, t.Sample.id == t.ScoreMark.sample_id)
        .join(t.Arm, t.Arm.id == t.Sample.arm_id)
        .join(t.Experiment, t.Experiment.id == t.Arm.experiment_id)
        .where(
            t.Experiment.tag.in_(tags),
            t.ScoreMark.critic_model == critic_model,
            t.ScoreMark.status != "no_reasoning",
        )
    )
    return _counted(session, within(query, sweep))


def view_answers(
    session: Session, windows: Collection[int], recipes: Mapping[str, str]
) -> list[Answers]:
    """Count the views that models made by these recipes, each kind of view by itself.

    Views that failed because the view before them failed were not requested; they do not count.
    """
    query = (
        sa.select(
            t.View.method + sa.literal(" (") + t.View.view + " views)", t.View.failure, _COUNT
        )
        .join(t.Document, t.Document.id == t.View.document_id)
        .where(
            t.Document.window_id.in_(windows),
            sa.tuple_(t.View.view, t.View.recipe).in_(list(recipes.items())),
            t.View.method.not_in(("none", "library")),
        )
    )
    return _counted(session, query)


def rubric_answers(session: Session, keys: Collection[str]) -> list[Answers]:
    """Count the rubrics with these keys that models wrote, and the marks that critics gave.

    A rubric that is refused for its marks was readable.
    """
    generated = t.Rubric.key.in_(keys) & (t.Rubric.source == "generated")
    failure = sa.case((t.Rubric.status == "failed", t.Rubric.failure))
    written = sa.select(t.Rubric.owner_model + sa.literal(" (rubrics)"), failure, _COUNT)
    marked = sa.select(
        t.Rubric.critic_model + sa.literal(" (marks of rubrics)"), t.Rubric.critic_failure, _COUNT
    ).where(t.Rubric.critic_model.is_not(None))
    return [
        answers
        for query in (written, marked)
        for answers in _counted(session, query.where(generated))
    ]


def rewriting_answers(session: Session, keys: Sequence[str]) -> list[Answers]:
    """Count the texts with these keys that models changed."""
    changed = sa.select(
        t.PerturbedText.model + sa.literal(" (changed texts)"), t.PerturbedText.failure, _COUNT
    )
    chosen = among(t.PerturbedText.key, keys)
    return _counted(session, changed.where(chosen))


def _counted(session: Session, query: sa.Select[Any]) -> list[Answers]:
    judge, failure, _ = query.selected_columns
    rows = session.execute(query.group_by(judge, failure)).tuples().all()
    return answers_by_judge(rows)
