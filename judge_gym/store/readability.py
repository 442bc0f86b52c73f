"""How many answers of each judge are readable, counted from rows."""

from collections.abc import Collection, Mapping, Sequence

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.answers.readability import Answers
from judge_gym.store import tables as t
from judge_gym.store.bulk import among
from judge_gym.store.units import (
    JUDGEMENT,
    MARKING,
    PROBING,
    REWRITING,
    RUBRIC_RATING,
    RUBRIC_WRITING,
    VIEW,
)


def judgement_answers(
    session: Session, tags: Collection[str], arms: Collection[str], sweep: str | None = None
) -> list[Answers]:
    """Count the judgements in these arms of the experiments with these tags.

    Only the replicates that `sweep` declares; without it, all.
    """
    return JUDGEMENT.answers(session, *_in_arms(tags, arms), sweep=sweep)


def scores_by_judge(
    session: Session, tags: Collection[str], arms: Collection[str], sweep: str | None = None
) -> dict[str, int]:
    """Return judge → scored judgements among those that `judgement_answers` counts."""
    query = JUDGEMENT.rows(JUDGEMENT.answerer, sa.func.count(), sweep=sweep).where(
        *_in_arms(tags, arms), t.Sample.status == "scored"
    )
    return dict(session.execute(query.group_by(JUDGEMENT.answerer)).tuples().all())


def _in_arms(tags: Collection[str], arms: Collection[str]) -> tuple[sa.ColumnElement[bool], ...]:
    return t.Experiment.tag.in_(tags), t.Arm.arm.in_(arms)


def probe_answers(
    session: Session, tags: Collection[str], sweep: str | None = None
) -> list[Answers]:
    """Count the probes of every arm, as `judgement_answers` counts judgements."""
    return PROBING.answers(session, t.Experiment.tag.in_(tags), sweep=sweep)


def mark_answers(
    session: Session, tags: Collection[str], critic_model: str, sweep: str | None = None
) -> list[Answers]:
    """Count the marks that a critic gave of the reasoning of these experiments' samples."""
    return MARKING.answers(
        session,
        t.Experiment.tag.in_(tags),
        t.ScoreMark.critic_model == critic_model,
        t.ScoreMark.status != "no_reasoning",
        sweep=sweep,
    )


def view_answers(
    session: Session, windows: Collection[int], recipes: Mapping[str, str]
) -> list[Answers]:
    """Count the views that models made by these recipes, each kind of view by itself.

    Views that failed because the view before them failed were not requested; they do not count.
    """
    return VIEW.answers(
        session,
        t.Document.window_id.in_(windows),
        sa.tuple_(t.View.view, t.View.recipe).in_(list(recipes.items())),
        t.View.method.not_in(("none", "library")),
    )


def rubric_answers(session: Session, keys: Collection[str]) -> list[Answers]:
    """Count the rubrics with these keys that models wrote, and the marks that critics gave."""
    generated = t.Rubric.key.in_(keys) & (t.Rubric.source == "generated")
    return [
        *RUBRIC_WRITING.answers(session, generated),
        *RUBRIC_RATING.answers(session, generated, t.Rubric.critic_model.is_not(None)),
    ]


def rewriting_answers(session: Session, keys: Sequence[str]) -> list[Answers]:
    """Count the texts with these keys that models changed."""
    return REWRITING.answers(session, among(t.PerturbedText.key, keys))
