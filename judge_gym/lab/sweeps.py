"""Preparing a sweep: check that it can run, store it, and say what its workflows need."""

import logging
from collections import defaultdict
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy.orm import Session

from judge_gym.asking.budgeting import SweepBudget, check_priced
from judge_gym.design.experiment import EvidenceView, Experiment
from judge_gym.design.plans import SwapPlan
from judge_gym.design.strategies import resolve
from judge_gym.design.strategies.sampling import Sampling
from judge_gym.design.sweep import Sweep
from judge_gym.errors import ConfigError
from judge_gym.lab.evidence import views_needed
from judge_gym.lab.rubrics import LONGEST_ANSWER
from judge_gym.llm import capabilities
from judge_gym.llm.providers import Providers
from judge_gym.model_names import is_simulated_model
from judge_gym.runtime import Runtime
from judge_gym.settings import Settings
from judge_gym.store import experiments as store
from judge_gym.store.cleaning import forget_failures
from judge_gym.store.results import register_plan
from judge_gym.store.selecting import Selection

_log = logging.getLogger(__name__)
SIMULATED_UTILITY = "sim/utility-1"
_PLAIN = Sampling(temperature=0, top_p=1, max_tokens=LONGEST_ANSWER)


@dataclass(frozen=True)
class SweepRun:
    """What the workflows of a stored sweep work on."""

    name: str
    tags: list[str]
    windows: list[int]
    views: list[EvidenceView]
    utility_model: str
    swap: SwapPlan | None
    budget: SweepBudget | None


def prepare(runtime: Runtime, sweep: Sweep, *, retry_failed: bool = False) -> SweepRun:
    """Store a sweep and return what to run; raises `ConfigError` before anything is spent.

    With `retry_failed`, what is kept as failed is forgotten, so that it is missing again.
    """
    experiments = list(sweep.experiments())
    runtime.providers.check(models_of(experiments))
    model = utility_model(runtime.settings, sweep, experiments)
    runtime.providers.check({model})
    for sentence in unapplied(runtime.providers, experiments, model):
        _log.warning("Not applied: %s", sentence)
    if budget := _budget(sweep):
        check_priced(runtime.providers, budget.spender([*models_of(experiments), model]))
    with runtime.session() as session:
        run = register(session, runtime.settings, sweep)
        if retry_failed:
            forget_failures(session, Selection(list(store.experiments_by_tag(session, run.tags))))
    return run


def register(session: Session, settings: Settings, sweep: Sweep) -> SweepRun:
    """Store a sweep and return what to run, without checking that it can."""
    experiments = list(sweep.experiments())
    tags = store.register_sweep(
        session, sweep.name, sweep.description, stored_plan(sweep), experiments
    )
    register_plan(session, sweep.name, sweep.plan)
    return SweepRun(
        name=sweep.name,
        tags=tags,
        windows=list(store.windows_of(session, store.experiments_by_tag(session, tags))),
        views=views_needed(experiments),
        utility_model=utility_model(settings, sweep, experiments),
        swap=sweep.swap,
        budget=_budget(sweep),
    )


def stored_plan(sweep: Sweep) -> dict[str, Any] | None:
    """Return the swap plan as the database keeps it."""
    return sweep.swap.model_dump(mode="json") if sweep.swap else None


def _budget(sweep: Sweep) -> SweepBudget | None:
    if sweep.budget is None:
        return None
    return SweepBudget(sweep=sweep.name, file=sweep.path, limits=sweep.budget)


async def check_keys(runtime: Runtime, sweep: Sweep) -> None:
    """Raise `ConfigError` when a model that the sweep asks has no provider or no key."""
    experiments = list(sweep.experiments())
    asked = models_of(experiments) | {utility_model(runtime.settings, sweep, experiments)}
    for model in sorted(asked):
        await runtime.keys.of(runtime.providers.of(model))


def unapplied(providers: Providers, experiments: list[Experiment], utility: str) -> list[str]:
    """Return which sampling parameters models will not apply, as sentences; sends nothing.

    Raises `ConfigError` for values of which a model takes only one.
    """
    asked: dict[str, set[Sampling]] = defaultdict(set)
    for one in experiments:
        asked[one.model].add(resolve(one).of(Sampling))
        # Rubrics are written and evidence is edited at temperature 0.
        asked[one.rubric.model or one.model].add(_PLAIN)
    asked[utility].add(_PLAIN)
    told: list[str] = []
    for model, samplings in sorted(asked.items()):
        parameters = [asdict(one) | {"seed": 0} for one in samplings]
        told += capabilities.unapplied(model, parameters, capabilities.taken_by(providers, model))
    return told


def models_of(experiments: list[Experiment]) -> set[str]:
    """Return every model that judges or writes a rubric in these experiments."""
    return {one.model for one in experiments} | {
        one.rubric.model for one in experiments if one.rubric.model
    }


def utility_model(settings: Settings, sweep: Sweep, experiments: list[Experiment]) -> str:
    """Return the model that edits evidence and rates rubrics.

    The sweep's own, else the setting, else the simulator's when every judge is simulated.
    Raises `ConfigError` when there is none.
    """
    chosen = sweep.utility_model or settings.utility_model
    if chosen:
        return chosen
    if all(map(is_simulated_model, models_of(experiments))):
        return SIMULATED_UTILITY
    raise ConfigError(
        f"Sweep {sweep.name} names no utility_model, which edits evidence and rates rubrics.",
        "Add `utility_model: provider/model` to the file or set JUDGE_GYM_UTILITY_MODEL; best a "
        "family that is not among the judges.",
    )
