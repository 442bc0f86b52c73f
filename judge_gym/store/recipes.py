"""Which stored experiment of a point has a recipe."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.design.experiment import Experiment
from judge_gym.design.strategies import resolve
from judge_gym.design.strategies.rubrics import Rubrics
from judge_gym.records.recipes import (
    Change,
    Recipe,
    changes,
    recipe_digest,
    rubric_recipe,
    view_recipes,
)
from judge_gym.seeds import digest
from judge_gym.store import tables as t
from judge_gym.store.bulk import among

Recipes = Mapping[str, Recipe]
"""Key of a point of the design space → the recipe of its experiment now."""


def view_recipe(view: Any) -> sa.ColumnElement[str]:
    """Return the recipe of the views of a kind that an experiment reads."""
    return sa.func.coalesce(t.Experiment.view_recipes[view].astext, "")


def rubric_owner() -> sa.ColumnElement[str]:
    """Return the model whose rubric an experiment applies: its own unless it names another."""
    named = sa.func.nullif(t.Experiment.config["rubric"]["model"].astext, "")
    return sa.func.coalesce(named, t.Experiment.model)


def point_key() -> sa.ColumnElement[str]:
    """Return the key of an experiment's point of the design space."""
    return sa.func.coalesce(t.Experiment.point, t.Experiment.key)


@dataclass(frozen=True)
class Identity:
    """What an experiment of a sweep is stored as, or will be."""

    key: str
    point: str | None
    """None if it is the first experiment of its point."""
    name: str
    recipe: Recipe | None
    view_recipes: Mapping[str, str]
    """View → the recipe under which its rows are stored."""
    rubric_recipe: str
    changed: tuple[Change, ...] = ()
    """Why it has no judgements yet, while another experiment of its point has."""
    cells: int = 0
    """Items with judgements, arm by arm, that are asked again for that."""

    def of(self, experiment: Experiment) -> Experiment:
        """Return the experiment as it is or will be stored."""
        return experiment.stored_as(self.name, self.rubric_recipe, self.view_recipes)


def identities(
    session: Session, experiments: Iterable[Experiment], recipes: Recipes
) -> dict[str, Identity]:
    """Return key of a point → what its experiment is stored as under its recipe; writes nothing."""
    by_point = {experiment.key: experiment for experiment in experiments}
    rows = rows_by_point(session, by_point)
    scopes = _Scopes(session, by_point.values())
    stored = {
        point: next((row for row in group if row.recipe == recipes[point]), None)
        for point, group in rows.items()
    }
    doubtful = {
        row.id
        for point, group in rows.items()
        if len(group) > 1 or stored[point] is None
        for row in group
    }
    cells = _cells(session, doubtful)
    identities: dict[str, Identity] = {}
    for point, experiment in by_point.items():
        recipe, row, group = recipes[point], stored.get(point), rows.get(point, [])
        identity = (
            _new(experiment, recipe, group, scopes.rubric_recipe(experiment, recipe))
            if row is None
            else stored_as(row, experiment.name, group)
        )
        judged = [one for one in group if one is not row and cells.get(one.id)]
        if judged and not (row and cells.get(row.id)):
            last = judged[-1]
            identity = replace(identity, changed=changes(last.recipe, recipe), cells=cells[last.id])
        identities[point] = identity
    return identities


def _new(
    experiment: Experiment, recipe: Recipe, group: Sequence[t.Experiment], rubrics: str
) -> Identity:
    """Return the identity of an experiment that is not stored yet."""
    point, mark = experiment.key, recipe_digest(recipe)
    same_name = _is_name_of(experiment.name, group)
    return Identity(
        key=digest("experiment under a recipe", point, mark) if group else point,
        point=point if group else None,
        name=_marked(experiment.name, mark) if same_name else experiment.name,
        recipe=recipe,
        view_recipes=view_recipes(recipe),
        rubric_recipe=rubrics,
    )


def _marked(name: str, mark: str) -> str:
    """Return the name of a later experiment of a point; a tag has at most 120 characters."""
    return f"{name[:111]}.{mark[:8]}"


def _is_name_of(name: str, group: Sequence[t.Experiment]) -> bool:
    """Whether a sweep calls the point of these experiments so, or one of them."""
    return any(
        name == row.tag or (row.point and _marked(name, row.tag[-8:]) == row.tag) for row in group
    )


def stored_as(row: t.Experiment, name: str, group: Sequence[t.Experiment]) -> Identity:
    """Return the identity of a stored experiment; `name` is what its sweep calls the point."""
    return Identity(
        key=row.key,
        point=row.point,
        # Another name for the point is an error, which the caller finds.
        name=row.tag if _is_name_of(name, group) else name,
        recipe=row.recipe,
        view_recipes=row.view_recipes,
        rubric_recipe=row.rubric_recipe,
    )


def rows_by_point(
    session: Session, points: Collection[str]
) -> defaultdict[str, list[t.Experiment]]:
    """Return point → its stored experiments, the first one first."""
    rows: defaultdict[str, list[t.Experiment]] = defaultdict(list)
    for row in session.scalars(
        sa.select(t.Experiment)
        .where(among(t.Experiment.key, points) | among(t.Experiment.point, points))
        .order_by(t.Experiment.id)
    ):
        rows[row.point or row.key].append(row)
    return rows


def _cells(session: Session, ids: Collection[int]) -> dict[int, int]:
    """Return experiment id → its items with judgements, arm by arm."""
    counted = (
        sa.select(t.Arm.experiment_id, t.Sample.arm_id, t.Sample.item_id)
        .join(t.Sample, t.Sample.arm_id == t.Arm.id)
        .where(among(t.Arm.experiment_id, ids))
        .distinct()
        .subquery()
    )
    rows = session.execute(
        sa.select(counted.c.experiment_id, sa.func.count()).group_by(counted.c.experiment_id)
    )
    return dict(rows.tuples().all())


class _Scopes:
    """The rubrics of other experiments of the same owner and subject."""

    def __init__(self, session: Session, experiments: Collection[Experiment]) -> None:
        self._taken: dict[Any, dict[str, str]] = {}
        """Owner and subject → recipe of its rubrics → the column `rubric_recipe`."""
        subjects = {_subject(experiment) for experiment in experiments}
        of_subject = (t.Experiment.concept, t.Experiment.country, t.Experiment.scale_size)
        columns = (rubric_owner(), *of_subject, t.Experiment.recipe, t.Experiment.rubric_recipe)
        for name, *subject, recipe, stored in session.execute(
            sa.select(*columns).where(sa.tuple_(*of_subject).in_(subjects))
        ):
            if recipe and (made_with := rubric_recipe(recipe)):
                taken = self._taken.setdefault((name, *subject), {})
                taken.setdefault(made_with, stored)

    def rubric_recipe(self, experiment: Experiment, recipe: Recipe) -> str:
        """Return the `rubric_recipe` of a new experiment: empty while no other rubric is there."""
        made_with = rubric_recipe(recipe)
        if not made_with:
            return ""
        place = _owner_and_subject(experiment)
        taken = self._taken.get(place, {})
        if made_with in taken:
            return taken[made_with]
        return made_with if "" in taken.values() else ""


def _owner(experiment: Experiment) -> str:
    return resolve(experiment).of(Rubrics).owner


def _subject(experiment: Experiment) -> tuple[str, str, int]:
    return experiment.concept, experiment.country, experiment.scale_size


def _owner_and_subject(experiment: Experiment) -> tuple[Any, ...]:
    return _owner(experiment), *_subject(experiment)
