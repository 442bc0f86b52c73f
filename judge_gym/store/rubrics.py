"""Rubrics and the arms that apply them."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from judge_gym.design.experiment import Experiment
from judge_gym.design.rubric import Rubric
from judge_gym.design.strategies import resolve
from judge_gym.design.strategies.rubrics import Rubrics
from judge_gym.seeds import digest
from judge_gym.store import tables as t
from judge_gym.store.bulk import among

SHAM = 2
"""The variant number of a sham: the judge's rubric drawn again, from the same prompt."""
DRAW_TEMPERATURE = 1.0
"""The temperature of the draws of `rubric_draw` after the first, whatever the judge's own is: the
same draws serve all judgements, so they are crossed with every other axis."""


@dataclass(frozen=True)
class StoredRubric:
    """A rubric as it is stored; `stages` are set when, and only when, its status is `ready`."""

    id: int
    key: str
    owner_model: str
    """The model that wrote it; empty when it was provided."""
    owner_family: str
    scale_size: int
    status: str
    failure: str | None
    stages: list[Any] | None
    reasoning: str | None


def generated_key(
    owner_model: str,
    concept: str,
    country: str,
    scale: int,
    variant: int = 0,
    temperature: float = 0.0,
    recipe: str = "",
) -> str:
    """Return the natural key of a rubric that a model writes."""
    drawn = (temperature,) if temperature else ()
    made = ("made with", recipe) if recipe else ()
    return digest("generated rubric", owner_model, concept, country, scale, variant, *drawn, *made)


def variant_of(draw: int) -> int:
    """Return the variant number of a draw of `rubric_draw`."""
    return SHAM + draw if draw else 0


def temperature_of(draw: int) -> float:
    """Return the temperature at which a draw of `rubric_draw` is written."""
    return DRAW_TEMPERATURE if draw else 0.0


def drawn_key(
    owner_model: str, concept: str, country: str, scale: int, draw: int, recipe: str
) -> str:
    """Return the natural key of a draw of a model's rubric."""
    subject = (owner_model, concept, country, scale)
    return generated_key(*subject, variant_of(draw), temperature_of(draw), recipe)


def provided_key(rubric: Rubric, concept: str, country: str) -> str:
    """Return the natural key of a rubric that a file provides."""
    return digest("provided rubric", rubric.key, concept, country)


def applied_key(experiment: Experiment) -> str:
    """Return the natural key of the rubric that an experiment's own arm applies."""
    rubric = resolve(experiment).of(Rubrics)
    concept, country = experiment.concept, experiment.country
    if rubric.provided is not None:
        return provided_key(rubric.provided, concept, country)
    subject = (concept, country, experiment.scale_size)
    return drawn_key(rubric.owner, *subject, rubric.draw, experiment.rubric_recipe)


def sham_key(experiment: Experiment) -> str:
    """Return the natural key of the second rubric that a judge writes for a sham swap."""
    of = (experiment.model, experiment.concept, experiment.country, experiment.scale_size)
    return generated_key(*of, SHAM, experiment.temperature, experiment.rubric_recipe)


def rubric_ids(session: Session, keys: Iterable[str]) -> dict[str, int]:
    """Return key → id of the rubrics that exist, usable or not."""
    rows = session.execute(sa.select(t.Rubric.key, t.Rubric.id).where(among(t.Rubric.key, keys)))
    return dict(rows.tuples().all())


def rubric_by_key(session: Session, key: str) -> StoredRubric | None:
    """Return the rubric with this natural key, usable or not; None when it is not written yet."""
    row = session.scalars(sa.select(t.Rubric).where(t.Rubric.key == key)).one_or_none()
    return None if row is None else rubric_record(row)


def rubrics_of_rivals(
    session: Session, experiment: Experiment, left_out: Collection[str]
) -> list[StoredRubric]:
    """Return the usable rubrics that other models wrote for an experiment's subject, by model.

    Of the experiment's draw, without the keys of `left_out`.
    """
    rows = session.scalars(
        sa.select(t.Rubric)
        .where(
            t.Rubric.concept == experiment.concept,
            t.Rubric.country == experiment.country,
            t.Rubric.scale_size == experiment.scale_size,
            t.Rubric.owner_model != experiment.model,
            t.Rubric.source == "generated",
            t.Rubric.variant == variant_of(experiment.rubric_draw),
            t.Rubric.status == "ready",
            t.Rubric.key.not_in(left_out),
        )
        .order_by(t.Rubric.owner_model)
    )
    return [rubric_record(row) for row in rows]


def rubric_record(row: t.Rubric) -> StoredRubric:
    """Return the record of a row."""
    return StoredRubric(*(getattr(row, field.name) for field in fields(StoredRubric)))


def save_provided(session: Session, rubric: Rubric, concept: str, country: str) -> None:
    """Store a provided rubric; it needs no critic, so it has no marks."""
    session.execute(
        insert(t.Rubric)
        .values(
            key=provided_key(rubric, concept, country),
            source="provided",
            owner_model="",
            owner_family="",
            concept=concept,
            country=country,
            scale_size=rubric.scale_size,
            variant=0,
            status="ready",
            stages=[stage.model_dump(mode="json") for stage in rubric.stages],
            reasoning=rubric.reasoning,
        )
        .on_conflict_do_nothing()
    )


def add_arm(
    session: Session,
    experiment_id: int,
    arm: str,
    rubric: StoredRubric,
    held_out: Sequence[int] = (),
) -> None:
    """Plan an arm: the experiment judged under `rubric`; an arm that exists is kept."""
    session.execute(
        insert(t.Arm)
        .values(
            experiment_id=experiment_id,
            arm=arm,
            rubric_id=rubric.id,
            scale_size=rubric.scale_size,
            held_out_items=list(held_out),
        )
        .on_conflict_do_nothing()
    )


def own_arm(session: Session, experiment_id: int) -> int:
    """Return the id of the only arm of an experiment."""
    return session.scalars(sa.select(t.Arm.id).where(t.Arm.experiment_id == experiment_id)).one()


def stored_rubric(record: StoredRubric) -> Rubric:
    """Return the rubric of a record that is ready."""
    return Rubric.model_validate({"stages": record.stages, "reasoning": record.reasoning})


def ready_rubric(session: Session, key: str) -> Rubric | None:
    """Return the rubric with this natural key when it can be used."""
    record = rubric_by_key(session, key)
    return stored_rubric(record) if record and record.status == "ready" else None
