"""Which stored experiment has a recipe; rows from before recipes get theirs from their calls."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Session

from judge_gym.design.experiment import Experiment
from judge_gym.design.strategies import resolve
from judge_gym.design.strategies.rubrics import Rubrics
from judge_gym.records.recipes import (
    CLEANER,
    LIBRARY,
    RUBRIC_TEMPLATES,
    UTILITY_MODEL,
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
from judge_gym.store.rubrics import SHAM, generated_key

Recipes = Mapping[str, Recipe]
"""Key of a point of the design space → the recipe of its experiment now."""
_Evidence = dict[str, set[str]]
"""Part of a recipe → the values that stored rows show."""


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


@dataclass(frozen=True)
class Identities:
    """What the experiments of a sweep are stored as."""

    by_point: Mapping[str, Identity]
    derived: Mapping[int, Recipe]
    """Stored experiment from before recipes → the recipe that its calls show."""


def identities(session: Session, experiments: Iterable[Experiment], recipes: Recipes) -> Identities:
    """Return what these experiments are stored as under these recipes; writes nothing."""
    by_point = {experiment.key: experiment for experiment in experiments}
    rows = rows_by_point(session, by_point)
    rubrics = _rubric_evidence(session, by_point.values())
    derived = _derived(session, by_point, rows, recipes, rubrics)
    scopes = _Scopes(session, by_point.values(), derived, rubrics)
    stored = {
        point: next((row for row in group if _recipe(row, derived) == recipes[point]), None)
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
            identity = replace(
                identity, changed=changes(_recipe(last, derived), recipe), cells=cells[last.id]
            )
        identities[point] = identity
    return Identities(identities, derived)


def _recipe(row: t.Experiment, derived: Mapping[int, Recipe]) -> Recipe | None:
    return derived.get(row.id) if row.recipe is None else row.recipe


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

    def __init__(
        self,
        session: Session,
        experiments: Collection[Experiment],
        derived: Mapping[int, Recipe],
        evidence: Mapping[tuple[Any, ...], _Evidence],
    ) -> None:
        self._evidence = evidence
        self._taken: dict[Any, dict[str, str]] = {}
        """Owner and subject → recipe of its rubrics → the column `rubric_recipe`."""
        subjects = {_subject(experiment) for experiment in experiments}
        of_subject = (t.Experiment.concept, t.Experiment.country, t.Experiment.scale_size)
        columns = (t.Experiment.id, rubric_owner(), *of_subject, t.Experiment.recipe)
        for id_, name, *subject, recipe, stored in session.execute(
            sa.select(*columns, t.Experiment.rubric_recipe).where(
                sa.tuple_(*of_subject).in_(subjects)
            )
        ):
            known = recipe or derived.get(id_)
            if known and (made_with := rubric_recipe(known)):
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
        if "" in taken.values():
            return made_with
        found = self._evidence[place]
        differs = any(values != {recipe[name]} for name, values in found.items())
        return made_with if differs else ""


def _owner(experiment: Experiment) -> str:
    return resolve(experiment).of(Rubrics).owner


def _subject(experiment: Experiment) -> tuple[str, str, int]:
    return experiment.concept, experiment.country, experiment.scale_size


def _owner_and_subject(experiment: Experiment) -> tuple[Any, ...]:
    return _owner(experiment), *_subject(experiment)


def _derived(
    session: Session,
    experiments: Mapping[str, Experiment],
    rows: Mapping[str, Sequence[t.Experiment]],
    recipes: Recipes,
    rubrics: Mapping[tuple[Any, ...], _Evidence],
) -> dict[int, Recipe]:
    """Return id → the recipe of stored experiments without one, as far as their calls show it.

    What no call shows any more counts as it is now.
    """
    unknown = {
        row.id: (point, row) for point, group in rows.items() for row in group if row.recipe is None
    }
    if not unknown:
        return {}
    own: defaultdict[int, _Evidence] = defaultdict(lambda: defaultdict(set))
    for id_, template, hash_ in session.execute(
        sa.select(t.Call.experiment_id, t.Call.template, t.Call.template_hash)
        .where(among(t.Call.experiment_id, unknown))
        .distinct()
    ):
        own[id_][template].add(hash_)
    views = _view_evidence(session, {row.window_id for _, row in unknown.values()})
    recipes_of = {}
    for id_, (point, row) in unknown.items():
        experiment = experiments[point]
        found = [own[id_], rubrics[_owner_and_subject(experiment)]]
        found += [
            evidence
            for view in view_recipes(recipes[point])
            if (
                evidence := views.get((row.window_id, view, (row.view_recipes or {}).get(view, "")))
            )
        ]
        recipes_of[id_] = _with_evidence(recipes[point], found)
    return recipes_of


def _with_evidence(recipe: Recipe, found: Iterable[_Evidence]) -> Recipe:
    merged: _Evidence = defaultdict(set)
    for evidence in found:
        for name, values in evidence.items():
            if name in recipe or name == "clean":
                merged[name] |= values
    known = recipe | {name: "+".join(sorted(values)) for name, values in merged.items()}
    if known.get(CLEANER) == LIBRARY:
        known.pop("clean", None)
    return known


def _view_evidence(
    session: Session, window_ids: Collection[int]
) -> dict[tuple[int, str, str], _Evidence]:
    """Return (window, view, recipe column) → what its rows were made with."""
    found: dict[tuple[int, str, str], _Evidence] = {}
    columns = (t.Document.window_id, t.View.view, t.View.recipe)
    for *place, method, template, hash_ in session.execute(
        sa.select(*columns, t.View.method, t.Call.template, t.Call.template_hash)
        .join(t.View, t.View.document_id == t.Document.id)
        .outerjoin(t.Call, t.Call.id == t.View.call_id)
        .where(t.Document.window_id.in_(window_ids), t.View.method != "none")
        .distinct()
    ):
        window_id, view, recipe = place
        evidence = found.setdefault((window_id, view, recipe), defaultdict(set))
        if view == "cleaned":
            evidence[CLEANER].add(LIBRARY if method == LIBRARY else "llm")
        if method != LIBRARY:
            evidence[UTILITY_MODEL].add(method)
            if template:
                evidence[template].add(hash_)
    return found


def _rubric_evidence(
    session: Session, experiments: Iterable[Experiment]
) -> defaultdict[tuple[Any, ...], _Evidence]:
    """Return owner and subject → what the first rubrics there, and their marks, were made with."""
    places: dict[str, set[tuple[Any, ...]]] = defaultdict(set)
    for experiment in experiments:
        if owner := _owner(experiment):
            place = _owner_and_subject(experiment)
            places[generated_key(owner, *_subject(experiment))].add(place)
            second = (SHAM, experiment.temperature)
            places[generated_key(owner, *_subject(experiment), *second)].add(place)
    keys = [
        f"{kind}{key}{end}"
        for key in places
        for kind, ends in (("rubric/", ("/0", "/1", "/2")), ("critic/", ("",)))
        for end in ends
    ]
    found: defaultdict[tuple[Any, ...], _Evidence] = defaultdict(lambda: defaultdict(set))
    columns = (t.Call.key, t.Call.template, t.Call.template_hash, t.Call.model)
    for call_key, template, hash_, model in session.execute(
        sa.select(*columns).where(among(t.Call.key, keys), t.Call.template.in_(RUBRIC_TEMPLATES))
    ):
        for place in places[call_key.split("/")[1]]:
            found[place][template].add(hash_)
            if template == "critic":
                found[place][UTILITY_MODEL].add(model)
    return found


def adopt(session: Session, derived: Mapping[int, Recipe]) -> None:
    """Store the recipes of experiments from before recipes, and those of the views they read."""
    by_window: dict[int, dict[str, str]] = defaultdict(dict)
    for row in session.scalars(sa.select(t.Experiment).where(among(t.Experiment.id, derived))):
        row.recipe = derived[row.id]
        by_window[row.window_id] |= view_recipes(row.recipe)
    session.flush()
    other = sa.orm.aliased(t.View)
    for window_id, recipes in by_window.items():
        of_window = sa.select(t.Document.id).where(t.Document.window_id == window_id)
        for view, recipe in recipes.items():
            there = sa.exists().where(
                other.document_id == t.View.document_id, other.view == view, other.recipe == recipe
            )
            session.execute(
                sa.update(t.View)
                .where(t.View.document_id.in_(of_window), t.View.view == view, t.View.recipe == "")
                .where(~there)
                .values(recipe=recipe)
            )
        # Other sweeps' experiments read the same views.
        reads = sa.literal(recipes, JSONB).op("||")(t.Experiment.view_recipes)
        session.execute(
            sa.update(t.Experiment)
            .where(
                t.Experiment.window_id == window_id,
                t.Experiment.recipe.is_(None) | among(t.Experiment.id, derived),
            )
            .values(view_recipes=reads)
        )
