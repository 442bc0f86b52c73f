"""Freezing a sweep: what its design is, and whether it is still what was frozen."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy.orm import Session

from judge_gym.design.axes import axes, level_of, written
from judge_gym.design.experiment import Experiment
from judge_gym.design.frozen import Registration, changes, frozen_file, load_frozen
from judge_gym.design.plans import AnalysisPlan, Margin, PlannedContrast
from judge_gym.design.sweep import Sweep
from judge_gym.errors import ConfigError
from judge_gym.metrics.hypotheses import (
    HYPOTHESES,
    VALIDITY_CHECKS,
    Hypothesis,
    contrast_hypothesis,
)
from judge_gym.metrics.margins import Direction
from judge_gym.records.recipes import Recipe
from judge_gym.seeds import sha256
from judge_gym.store.results import registration_of

_NO_DESIGN: Any = {"name": True, "shareable": True, "licence": True, "source": {"path"}}
"""Fields of a window that change neither evidence nor figures."""


def design_of(sweep: Sweep, recipes: Mapping[str, Recipe]) -> dict[str, Any]:
    """Return the design of a sweep as data: equal for files that ask and decide the same.

    `recipes` are those of its points.
    """
    experiments = list(sweep.experiments())
    points = sorted((experiment.key, experiment.replicates) for experiment in experiments)
    return {
        "windows": {
            name: window.model_dump(mode="json", exclude=_NO_DESIGN)
            for name, window in sweep.windows.items()
        },
        "judges": sorted({experiment.model for experiment in experiments}),
        "concepts": sorted({experiment.concept for experiment in experiments}),
        "tasks": sorted({experiment.task_type for experiment in experiments}),
        "axes": _levels(experiments),
        "rubrics": dict(_rubrics(experiments)),
        "actors": dict(_actors(experiments)),
        "replicates": sorted({experiment.replicates for experiment in experiments}),
        "experiments": len(experiments),
        "experiments_sha256": sha256("points", points),
        "recipe": _recipe(recipes),
        "swap": sweep.swap.model_dump(mode="json") if sweep.swap else None,
        **({"rubric_embeddings": sweep.rubric_embeddings} if sweep.rubric_embeddings else {}),
        "score_critic": sweep.score_critic,
        "on_unsupported": sweep.on_unsupported,
        "budget": sweep.budget.model_dump(mode="json") if sweep.budget else None,
        "plan": sweep.plan.content if sweep.plan else None,
    }


def _levels(experiments: Sequence[Experiment]) -> dict[str, list[str]]:
    """Return axis → its levels, of those that are varied or not at their default."""
    levels = {}
    for axis in axes():
        found = sorted({written(level_of(experiment, axis.name)) for experiment in experiments})
        if found != [axis.default] and axis.name != "replicates":
            levels[axis.name] = found
    return levels


def _rubrics(experiments: Sequence[Experiment]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the file of each provided rubric with its stages."""
    for experiment in experiments:
        if (rubric := experiment.rubric.rubric) and experiment.rubric.name:
            stages = enumerate(rubric.stages, 1)
            yield (
                experiment.rubric.name,
                {f"stages.{number}": stage.model_dump(mode="json") for number, stage in stages},
            )


def _actors(experiments: Sequence[Experiment]) -> Iterator[tuple[str, Any]]:
    """Yield the name of each mapping of actors with its pairs."""
    for experiment in experiments:
        if mapping := experiment.actors.mapping:
            yield mapping.name, mapping.model_dump(mode="json", exclude={"name"})


def _recipe(recipes: Mapping[str, Recipe]) -> dict[str, list[str]]:
    """Return template or setting → its hashes or values: a concept's words are in the hash."""
    parts: dict[str, set[str]] = defaultdict(set)
    for recipe in recipes.values():
        for name, value in recipe.items():
            parts[name].add(value)
    return {name: sorted(values) for name, values in sorted(parts.items())}


def estimands(plan: AnalysisPlan) -> list[dict[str, Any]]:
    """Return the figures that decide a plan's hypotheses, each with its claim and margin."""
    known = {one.key: one for one in (*HYPOTHESES, *VALIDITY_CHECKS)}
    of_hypotheses = [
        {
            **_estimand(known[given.hypothesis], given),
            "confirmatory": given.hypothesis in plan.confirmatory,
            "primary": [one.scope for one in plan.primary if one.hypothesis == given.hypothesis],
        }
        for given in plan.margins
    ]
    of_contrasts = [
        {
            **_estimand(hypothesis_of(key, given), given),
            "confirmatory": True,
            "primary": [{"axis": given.axis, "levels": given.levels, **given.scope}],
        }
        for key, given in plan.keyed_contrasts.items()
    ]
    return [*of_hypotheses, *of_contrasts]


def _estimand(hypothesis: Hypothesis, given: Margin | PlannedContrast) -> dict[str, Any]:
    return {
        "hypothesis": hypothesis.key,
        "statement": hypothesis.statement,
        "estimand": hypothesis.estimand,
        "metric": hypothesis.metric,
        "direction": hypothesis.direction.value,
        "margin": given.margin,
        "why": given.why,
    }


def hypothesis_of(key: str, given: PlannedContrast) -> Hypothesis:
    """Return the claim of a planned contrast of this key."""
    direction = Direction(given.direction)
    return contrast_hypothesis(key, given.axis, given.written_levels, direction, given.margin)


def registration(
    session: Session, sweep: Sweep, recipes: Mapping[str, Recipe]
) -> Registration | None:
    """Return the frozen plan beside a sweep's file, with what changed since; None without one.

    A plan that was stored with the sweep and is gone, or was edited, has changed.
    """
    stored = registration_of(session, sweep.name)
    file = frozen_file(sweep.path)
    if not file.exists():
        return stored and replace(stored, changed=(f"the frozen plan {file.name} is missing",))
    try:
        plan = load_frozen(file)
    except ConfigError as error:
        now = datetime.now(UTC)
        lost = stored or Registration("", now, now)
        return replace(lost, changed=(error.message.rstrip(".").replace(str(file), file.name),))
    known = stored and stored.sha256 == plan.sha256
    other = [] if plan.sweep == sweep.name else [f"sweep: {plan.sweep} became {sweep.name}"]
    return Registration(
        sha256=plan.sha256,
        frozen_at=plan.frozen_at,
        stored_at=stored.stored_at if stored and known else datetime.now(UTC),
        judgements_before=plan.judgements_before,
        changed=(*other, *changes(plan.design, design_of(sweep, recipes))),
    )
