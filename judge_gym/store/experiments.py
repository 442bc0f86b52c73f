"""Experiments and the sweeps that they belong to."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from judge_gym.counting import counted
from judge_gym.design.experiment import Experiment
from judge_gym.design.plans import DesignChange
from judge_gym.design.strategies import sampling
from judge_gym.design.sweep import OnUnsupported
from judge_gym.errors import StoreError, listing
from judge_gym.records.calls import IMPORTED
from judge_gym.records.judgements import ScoreCritic
from judge_gym.records.recipes import rubric_recipe
from judge_gym.store import tables as t
from judge_gym.store.bulk import among
from judge_gym.store.engine import named
from judge_gym.store.recipes import (
    Identity,
    Recipes,
    identities,
    point_key,
    rows_by_point,
    rubric_owner,
    stored_as,
)
from judge_gym.store.rubrics import drawn_key
from judge_gym.store.units import JUDGEMENT, declared_replicates, in_sweep
from judge_gym.store.windows import register_window


def register_experiment(
    session: Session, experiment: Experiment, identity: Identity | None = None
) -> int:
    """Return the id of `experiment`, storing it and its window when they are new.

    Without an identity it is the newest of its point. The larger number of replicates is stored.
    Raises `StoreError` when the tag names another point, or the point has another tag.
    """
    identity = identity or _newest(session, experiment)
    values = {
        "key": identity.key,
        "point": identity.point,
        "tag": identity.name,
        "recipe": identity.recipe,
        "view_recipes": dict(identity.view_recipes),
        "rubric_recipe": identity.rubric_recipe,
        "task_type": experiment.task_type,
        "concept": experiment.concept,
        "country": experiment.country,
        "window_id": register_window(session, experiment.window),
        "model": experiment.model,
        "family": experiment.family,
        "scale_size": experiment.scale_size,
        "replicates": experiment.replicates,
        "config": experiment.stored_config(),
    }
    session.execute(insert(t.Experiment).values(values).on_conflict_do_nothing())
    stored = session.scalars(
        sa.select(t.Experiment).where(
            (t.Experiment.key == identity.key) | (t.Experiment.tag == identity.name)
        )
    ).all()
    if len(stored) != 1 or stored[0].key != identity.key or stored[0].tag != identity.name:
        others = ", ".join(sorted(f"{row.tag} ({row.key})" for row in stored))
        raise StoreError(
            f"Experiment {identity.name} ({identity.key}) clashes with {others}: a tag names "
            "one point of the design space and a point has one tag.",
            "Change or remove the tag.",
        )
    stored[0].replicates = max(stored[0].replicates, experiment.replicates)
    return stored[0].id


def _newest(session: Session, experiment: Experiment) -> Identity:
    group = rows_by_point(session, [experiment.key])[experiment.key]
    if not group:
        return Identity(experiment.key, None, experiment.name, None, {}, "")
    named = [row for row in group if row.tag == experiment.name]
    return stored_as((named or group)[-1], experiment.name, group)


def register_sweep(
    session: Session,
    name: str,
    description: str,
    swap: dict[str, Any] | None,
    experiments: Iterable[Experiment],
    on_unsupported: OnUnsupported = "error",
    recipes: Recipes | None = None,
    score_critic: ScoreCritic | None = None,
    definition: Mapping[str, Any] | None = None,
    files: Mapping[str, str] | None = None,
) -> list[str]:
    """Store a sweep and its experiments; returns their tags in the sweep's order.

    `definition` is what the sweep's file or definition says.

    With `recipes`, each is the experiment of its point that has this recipe, a new one if there
    is none. `files` are the texts of the sweep's file and of those that it names, by name.
    """
    experiments = list(experiments)
    stored_under: Mapping[str, Identity] = {}
    if recipes is not None:
        stored_under = identities(session, experiments, recipes)
    values = {
        "description": description,
        "swap": swap,
        "on_unsupported": on_unsupported,
        "score_critic": asdict(score_critic) if score_critic else None,
        "definition": definition,
        "files": dict(files or {}),
    }
    _note_redesign(session, name, experiments, swap)
    statement = insert(t.Sweep).values(name=name, **values)
    sweep_id = session.scalars(
        statement.on_conflict_do_update(index_elements=["name"], set_=values).returning(t.Sweep.id)
    ).one()
    # The sweep is the file as it is now; experiments that it no longer names stay stored.
    removed = sa.delete(t.SweepExperiment).where(t.SweepExperiment.sweep_id == sweep_id)
    before = set(session.scalars(removed.returning(t.SweepExperiment.experiment_id)))
    now, tags = set(), []
    for experiment in experiments:
        identity = stored_under.get(experiment.key) or _newest(session, experiment)
        experiment_id = register_experiment(session, experiment, identity)
        session.add(
            t.SweepExperiment(
                sweep_id=sweep_id, experiment_id=experiment_id, replicates=experiment.replicates
            )
        )
        now.add(experiment_id)
        tags.append(identity.name)
    _remember_former(session, sweep_id, before - now, now)
    return tags


def judgements_before_redesign(
    session: Session, name: str, experiments: Iterable[Experiment], swap: dict[str, Any] | None
) -> int:
    """Return how many judgements a stored sweep has, of which this is another design; else 0.

    The design is the points, their replicates and the swap; a recipe is no part of it.
    """
    row = session.scalars(sa.select(t.Sweep).where(t.Sweep.name == name)).one_or_none()
    if row is None:
        return 0
    before = session.execute(
        sa.select(point_key(), t.SweepExperiment.replicates)
        .join(t.Experiment, t.Experiment.id == t.SweepExperiment.experiment_id)
        .where(t.SweepExperiment.sweep_id == row.id)
    )
    now = {(one.key, one.replicates) for one in experiments}
    if row.swap == swap and set(before.tuples()) == now:
        return 0
    judged = JUDGEMENT.rows(sa.func.count()).where(
        in_sweep(t.Experiment.id, name), t.Sample.status != "failed"
    )
    return session.scalar(judged) or 0


def _note_redesign(
    session: Session, name: str, experiments: Iterable[Experiment], swap: dict[str, Any] | None
) -> None:
    """Store that a sweep with judgements gets another design, unless an earlier change is."""
    if judgements := judgements_before_redesign(session, name, experiments, swap):
        change = DesignChange(datetime.now(UTC), judgements)
        session.execute(
            sa.update(t.Sweep)
            .where(t.Sweep.name == name, t.Sweep.redesigned.is_(None))
            .values(redesigned=change.as_json())
        )


def _remember_former(session: Session, sweep_id: int, left: set[int], now: set[int]) -> None:
    """Store which experiments have left a sweep; those that it has now are not among them."""
    former = t.FormerSweepExperiment
    if left:
        rows = [{"sweep_id": sweep_id, "experiment_id": id_} for id_ in sorted(left)]
        session.execute(insert(former).on_conflict_do_nothing(), rows)
    session.execute(
        sa.delete(former).where(former.sweep_id == sweep_id, among(former.experiment_id, now))
    )


@dataclass(frozen=True)
class Leaving:
    """What a stored sweep loses when another file of its name is stored; the rows stay stored."""

    sweep: str
    experiments: int
    calls: int
    """Calls made for these experiments, imported answers included."""
    judgements: int

    @property
    def loses_work(self) -> bool:
        """Whether any call or judgement leaves the sweep."""
        return bool(self.calls or self.judgements)

    def __str__(self) -> str:
        leave = "leaves" if self.experiments == 1 else "leave"
        return (
            f"Sweep {self.sweep} exists with other experiments: "
            f"{counted(self.experiments, 'experiment')} with {counted(self.calls, 'call')} and "
            f"{counted(self.judgements, 'judgement')} {leave} it. They stay in the database, "
            "without a sweep, and their calls still count in its budget. To keep the old sweep, "
            "give this one another name."
        )


def leaving(session: Session, sweep: str, stays: Callable[[Experiment], object]) -> Leaving | None:
    """Return what leaves a stored sweep if only what `stays` is in it; None if nothing leaves."""
    rows = session.scalars(sa.select(t.Experiment).where(in_sweep(t.Experiment.id, sweep)))
    ids = [row.id for row in rows if not stays(stored_experiment(row))]
    if not ids:
        return None
    made = (t.Call.attempts > 0) | (t.Call.route == IMPORTED)
    counts = (
        sa.select(sa.func.count()).where(among(t.Call.experiment_id, ids), made),
        JUDGEMENT.rows(sa.func.count()).where(among(t.Experiment.id, ids)),
    )
    calls, judgements = (session.scalar(count) or 0 for count in counts)
    return Leaving(sweep, len(ids), calls, judgements)


def judgements_of_points(session: Session, points: Iterable[str]) -> int:
    """Return how many judgements there are of these points; a failed call has made none."""
    query = JUDGEMENT.rows(sa.func.count())
    return session.scalar(query.where(among(point_key(), points), t.Sample.status != "failed")) or 0


def registered_plan(session: Session, name: str) -> dict[str, Any] | None:
    """Return the swap plan a sweep was last stored with; None also when there is no such sweep."""
    return session.scalar(sa.select(t.Sweep.swap).where(t.Sweep.name == name))


def marked_experiments(session: Session, ids: Iterable[int]) -> set[int]:
    """Return those of these experiments that run although a model does not apply their axes."""
    marking = (
        sa.select(t.SweepExperiment.experiment_id)
        .join(t.Sweep, t.Sweep.id == t.SweepExperiment.sweep_id)
        .where(among(t.SweepExperiment.experiment_id, ids), t.Sweep.on_unsupported == "mark")
    )
    return set(session.scalars(marking))


def sweep_description(session: Session, name: str) -> str:
    """Return the description a sweep was last stored with."""
    return session.scalars(sa.select(t.Sweep.description).where(t.Sweep.name == name)).one()


def experiments_by_tag(session: Session, tags: Sequence[str]) -> dict[int, Experiment]:
    """Return the experiments with these tags by id; raises `StoreError` naming unknown tags."""
    rows = session.scalars(
        sa.select(t.Experiment).where(among(t.Experiment.tag, tags)).order_by(t.Experiment.id)
    ).all()
    if unknown := sorted(set(tags) - {row.tag for row in rows}):
        stored_tags = session.scalars(sa.select(t.Experiment.tag).order_by(t.Experiment.id)).all()
        raise StoreError(
            f"There is no experiment {', '.join(unknown)}.",
            listing(stored_tags, "judge-gym analyse experiments list", unknown[0]),
        )
    return {row.id: stored_experiment(row) for row in rows}


def experiments_of_sweep(session: Session, sweep: str) -> dict[int, Experiment]:
    """Return a sweep's experiments by id, with the replicates that its file declares.

    Raises `StoreError` when there is no such sweep.
    """
    experiments = experiments_by_tag(session, sweep_tags(session, sweep))
    declared = declared_replicates(sweep)
    rows = session.execute(sa.select(declared.c.experiment_id, declared.c.replicates))
    return {
        experiment_id: experiments[experiment_id].model_copy(update={"replicates": replicates})
        for experiment_id, replicates in sorted(rows.tuples())
    }


def experiments_reading(session: Session, windows: Collection[str]) -> list[Experiment]:
    """Return the stored experiments on windows with these keys."""
    rows = session.scalars(
        sa.select(t.Experiment)
        .join(t.Window, t.Window.id == t.Experiment.window_id)
        .where(t.Window.key.in_(windows))
        .order_by(t.Experiment.id)
    )
    return list(map(stored_experiment, rows))


def former_experiments(session: Session, sweep: str) -> list[Experiment]:
    """Return the experiments that a sweep had before its file or a recipe changed."""
    rows = session.scalars(
        sa.select(t.Experiment)
        .where(in_sweep(t.Experiment.id, sweep, t.FormerSweepExperiment))
        .order_by(t.Experiment.id)
    )
    return [stored_experiment(row) for row in rows]


def experiment_tag(session: Session, name: str) -> str:
    """Return the tag of an experiment given by tag or number; an unknown name stays as it is."""
    tag = sa.select(t.Experiment.tag)
    if session.scalar(tag.where(t.Experiment.tag == name)) or not name.isdecimal():
        return name
    return session.scalar(tag.where(t.Experiment.id == int(name))) or name


def experiments_by_id(session: Session, ids: Iterable[int]) -> dict[int, Experiment]:
    """Return the experiments with these ids."""
    rows = session.scalars(sa.select(t.Experiment).where(among(t.Experiment.id, ids)))
    return {row.id: stored_experiment(row) for row in rows}


def rubric_keys_of_other_recipes(session: Session, experiment_id: int) -> set[str]:
    """Return the keys of rubrics for an experiment's subject that only other recipes made.

    Empty when its own recipe is not known.
    """
    mine = session.get_one(t.Experiment, experiment_id)
    if mine.recipe is None:
        return set()
    subject = (mine.concept, mine.country, mine.scale_size)
    draw = mine.config.get("rubric_draw", 0)
    columns = (t.Experiment.concept, t.Experiment.country, t.Experiment.scale_size)
    by_recipe: defaultdict[str, set[str]] = defaultdict(set)
    for name, recipe, mark in session.execute(
        sa.select(rubric_owner(), t.Experiment.recipe, t.Experiment.rubric_recipe)
        .where(sa.tuple_(*columns).in_([subject]), t.Experiment.recipe.is_not(None))
        .distinct()
    ):
        if made_with := rubric_recipe(recipe):
            by_recipe[made_with].add(drawn_key(name, *subject, draw, mark))
    same = by_recipe.pop(rubric_recipe(mine.recipe), set())
    return set().union(*by_recipe.values()) - same


def stored_experiment(row: t.Experiment) -> Experiment:
    """Return the experiment of a row, with the stored tag, rubrics and number of replicates."""
    experiment = Experiment.model_validate({**row.config, "replicates": row.replicates})
    return experiment.stored_as(row.tag, row.rubric_recipe, row.view_recipes)


def database_of(session: Session) -> str:
    """Return a sentence that names the database of a session."""
    return named(session.connection().engine.url)


def sweep_tags(session: Session, name: str) -> list[str]:
    """Return the tags of a sweep's experiments; raises `StoreError` when there is no such sweep."""
    tags = session.scalars(
        sa.select(t.Experiment.tag).where(in_sweep(t.Experiment.id, name)).order_by(t.Experiment.id)
    ).all()
    if not tags:
        sweeps = session.scalars(sa.select(t.Sweep.name).order_by(t.Sweep.name)).all()
        raise StoreError(
            f"There is no sweep {name!r}.",
            f"{listing(sweeps, 'judge-gym sweep status', name)} {database_of(session)}",
        )
    return list(tags)


def windows_of(session: Session, experiment_ids: Iterable[int]) -> dict[int, list[int]]:
    """Return window id → ids of the given experiments that read it."""
    by_window: dict[int, list[int]] = {}
    rows = session.execute(
        sa.select(t.Experiment.window_id, t.Experiment.id)
        .where(among(t.Experiment.id, experiment_ids))
        .order_by(t.Experiment.id)
    )
    for window_id, experiment_id in rows:
        by_window.setdefault(window_id, []).append(experiment_id)
    return by_window


def sweep_names(session: Session) -> list[str]:
    """Return the names of all sweeps, the newest first."""
    return list(session.scalars(sa.select(t.Sweep.name).order_by(t.Sweep.id.desc())))


def was_run_here(session: Session, sweep: str, imported_provider: str) -> bool:
    """Whether a sweep of this name has a judge of another provider than `imported_provider`."""
    imported = t.Experiment.model.startswith(f"{imported_provider}/")
    run_here = sa.exists().where(in_sweep(t.Experiment.id, sweep), ~imported)
    return bool(session.scalar(sa.select(run_here)))


def not_applied(session: Session, ids: Iterable[int]) -> dict[int, tuple[str, ...]]:
    """Return experiment id → axes whose value the model did not apply in some call."""
    name = sa.func.jsonb_array_elements_text(t.Call.not_applied).table_valued("value")
    rows = session.execute(
        sa.select(t.Call.experiment_id, name.c.value)
        .join(name, sa.true())
        .where(t.Call.not_applied != sa.literal_column("'[]'::jsonb"))  # as its index
        .where(among(t.Call.experiment_id, ids), name.c.value.in_(sampling.AXES))
        .distinct()
        .order_by(name.c.value)
    )
    parameters: dict[int, tuple[str, ...]] = {}
    for experiment_id, parameter in rows:
        parameters[experiment_id] = (*parameters.get(experiment_id, ()), parameter)
    return parameters


@dataclass(frozen=True)
class ExperimentLine:
    """An experiment as `analyse experiments list` shows it."""

    id: int
    tag: str
    task_type: str
    concept: str
    model: str


def experiment_lines(
    session: Session,
    *,
    sweep: str | None = None,
    task_type: str | None = None,
    concept: str | None = None,
    model: str | None = None,
) -> list[ExperimentLine]:
    """Return the experiments that fit every given filter."""
    query = sa.select(t.Experiment).order_by(t.Experiment.id)
    if sweep is not None:
        query = query.where(in_sweep(t.Experiment.id, sweep))
    for column, value in (
        (t.Experiment.task_type, task_type),
        (t.Experiment.concept, concept),
        (t.Experiment.model, model),
    ):
        if value is not None:
            query = query.where(column == value)
    return [
        ExperimentLine(row.id, row.tag, row.task_type, row.concept, row.model)
        for row in session.scalars(query)
    ]


def count_outcomes(session: Session, experiment_id: int) -> list[tuple[str, str, int]]:
    """Return (arm, sample status, count) of an experiment."""
    rows = session.execute(
        sa.select(t.Arm.arm, t.Sample.status, sa.func.count())
        .join(t.Sample, t.Sample.arm_id == t.Arm.id)
        .where(t.Arm.experiment_id == experiment_id)
        .group_by(t.Arm.arm, t.Sample.status)
        .order_by(t.Arm.arm, t.Sample.status)
    )
    return [(arm, status, count) for arm, status, count in rows]
