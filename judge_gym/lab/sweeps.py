"""Preparing a sweep: check that it can run, store it, and say what its workflows need."""

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from functools import partial
from itertools import chain
from typing import Any

from sqlalchemy.orm import Session

from judge_gym.asking.budgeting import SweepBudget, check_priced
from judge_gym.counting import counted
from judge_gym.design.experiment import EvidenceView, Experiment
from judge_gym.design.plans import SwapPlan
from judge_gym.design.strategies import resolve
from judge_gym.design.strategies.sampling import AXES, Sampling
from judge_gym.design.sweep import Sweep
from judge_gym.design.sweep_files import portable_files
from judge_gym.errors import ConfigError, did_you_mean
from judge_gym.lab import score_critics
from judge_gym.lab.embedding import EmbeddedBundles, embedding_models, plans_to_embed
from judge_gym.lab.evidence import edited_views, longest_answer, utility_of, views_needed
from judge_gym.lab.freezing import registration
from judge_gym.lab.rubrics import LONGEST_ANSWER, requests_of
from judge_gym.llm import capabilities
from judge_gym.llm.providers import Provider, Providers, load_providers
from judge_gym.model_names import is_simulated_model
from judge_gym.questions.score_critic import score_critic
from judge_gym.records.calls import Parameters
from judge_gym.records.recipes import Change, Recipe, recipe_of
from judge_gym.runtime import Runtime
from judge_gym.settings import Settings
from judge_gym.store import experiments as store
from judge_gym.store.cleaning import forget_failures
from judge_gym.store.recipes import Identity, identities
from judge_gym.store.results import register_frozen, register_plan
from judge_gym.store.selecting import Selection
from judge_gym.store.windows import load_window, window_names

_log = logging.getLogger(__name__)
LEAVING_LOG = f"{__name__}.leaving"
"""The logger that says what leaves a stored sweep; a command that printed it turns it off."""
SIMULATED_UTILITY = "sim/utility-1"
_PLAIN = Sampling(temperature=0, top_p=1, max_tokens=LONGEST_ANSWER)


@dataclass(frozen=True)
class RegisteredSweep:
    """What the workflows of a stored sweep work on."""

    name: str
    tags: list[str]
    windows: list[int]
    views: list[EvidenceView]
    utility_model: str
    swap: SwapPlan | None
    rubric_embeddings: str
    """The model whose embeddings compare rubrics; empty for none."""
    score_critic: str
    """The model that marks the reasoning of samples; empty for none."""
    budget: SweepBudget | None
    bundles: list[EmbeddedBundles]
    """The plans of bundles that compare embeddings."""


def prepare(runtime: Runtime, sweep: Sweep, *, retry_failed: bool = False) -> RegisteredSweep:
    """Store a sweep and return what to run; raises `ConfigError` before anything is spent.

    With `retry_failed`, what is kept as failed is forgotten, so that it is missing again.
    """
    experiments = list(sweep.experiments())
    check_models(sweep, models_of(experiments), runtime.providers.of)
    models = models_used(runtime.settings, sweep, experiments)
    check_models(sweep, models, lambda model: runtime.providers.check({model}))
    for lost in unapplied(runtime.providers, runtime.settings, sweep, experiments):
        # A seed is no axis: nobody has asked for it.
        level = logging.WARNING if lost.axis in AXES else logging.DEBUG
        _log.log(level, "%s", lost.note)
    check_budget(runtime.providers, runtime.settings, sweep, experiments)
    with runtime.session() as session:
        if left := store.leaving(session, sweep.name, sweep.own):
            logging.getLogger(LEAVING_LOG).warning("%s", left)
        run = register(session, runtime.settings, sweep)
        if retry_failed:
            experiments_of_run = store.experiments_of_sweep(session, run.name)
            forget_failures(session, Selection(list(experiments_of_run), sweep=run.name))
    return run


def register(session: Session, settings: Settings, sweep: Sweep) -> RegisteredSweep:
    """Store a sweep and return what to run, without checking that it can."""
    experiments = list(sweep.experiments())
    recipes = recipes_of(settings, sweep, experiments)
    tags = store.register_sweep(
        session,
        sweep.name,
        sweep.description,
        stored_plan(sweep),
        experiments,
        sweep.on_unsupported,
        recipes,
        score_critic(sweep.score_critic) if sweep.score_critic else None,
        sweep.definition,
        portable_files(sweep.path, sweep.definition, sweep.name),
    )
    windows = store.windows_of(session, store.experiments_by_tag(session, tags))
    by_key = {load_window(session, window).key: window for window in windows}
    register_plan(session, sweep.name, sweep.plan)
    register_frozen(session, sweep.name, registration(session, sweep, recipes))
    return RegisteredSweep(
        name=sweep.name,
        tags=tags,
        windows=list(windows),
        views=views_needed(experiments),
        utility_model=utility_model(settings, sweep, experiments),
        swap=sweep.swap,
        rubric_embeddings=sweep.rubric_embeddings,
        score_critic=sweep.score_critic,
        budget=_budget(sweep),
        bundles=[
            EmbeddedBundles(window=by_key[key], plan=plan)
            for key, plan in plans_to_embed(experiments)
        ],
    )


def recipes_of(
    settings: Settings, sweep: Sweep, experiments: Sequence[Experiment]
) -> dict[str, Recipe]:
    """Return point of the design space → the recipe of its experiment as things are now."""
    utility = utility_of(settings, utility_model(settings, sweep, experiments))
    return {experiment.key: recipe_of(experiment, utility) for experiment in experiments}


def identities_of(session: Session, settings: Settings, sweep: Sweep) -> dict[str, Identity]:
    """Return point → what a sweep's experiment is or will be stored as; writes nothing."""
    experiments = list(sweep.experiments())
    recipes = recipes_of(settings, sweep, experiments)
    return identities(session, experiments, recipes)


def check_templates_kept(sweep: Sweep, stored: Iterable[Identity]) -> None:
    """Raise `ConfigError` if judgements of a sweep were made by another recipe."""
    if changed := changed_parts(stored):
        listed = "; ".join(
            f"{change}: {counted(cells, 'cell')}" for change, cells in changed.items()
        )
        raise ConfigError(
            f"{sweep.path}: {listed}. Nothing was asked.",
            "Restore it, or leave out --keep-templates to ask these cells again as new ones.",
        )


def changed_parts(stored: Iterable[Identity]) -> dict[Change, int]:
    """Return part of a recipe that changed → cells that are asked again for that."""
    cells: Counter[Change] = Counter()
    for identity in stored:
        for change in identity.changed:
            cells[change] += identity.cells
    return dict(sorted(cells.items()))


def change_notes(stored: Iterable[Identity]) -> list[str]:
    """Return what changed in recipes, a sentence for each part."""
    return [
        f"{change}: {counted(cells, 'cell')} (items of an experiment) "
        f"{'is' if cells == 1 else 'are'} judged again; the old answers stay under the old recipe."
        for change, cells in changed_parts(stored).items()
    ]


def renamed_windows(session: Session, sweep: Sweep) -> list[str]:
    """Return which windows are stored under other names than the sweep's, a sentence each."""
    names = window_names(session, [window.key for window in sweep.windows.values()])
    return [
        f"Window {name} is stored as {names[window.key]}. A run renames it, for every sweep that "
        "has it."
        for name, window in sweep.windows.items()
        if names.get(window.key, name) != name
    ]


def stored_plan(sweep: Sweep) -> dict[str, Any] | None:
    """Return the swap plan as the database keeps it."""
    return sweep.swap.model_dump(mode="json") if sweep.swap else None


def _budget(sweep: Sweep) -> SweepBudget | None:
    if sweep.budget is None:
        return None
    return SweepBudget(sweep=sweep.name, file=sweep.path, limits=sweep.budget)


def check_budget(
    providers: Providers, settings: Settings, sweep: Sweep, experiments: Sequence[Experiment]
) -> None:
    """Raise `ConfigError` when the cost is bounded and the price of a called model is unknown."""
    if budget := _budget(sweep):
        check_priced(providers, budget.spender(models_used(settings, sweep, experiments)))


async def check_keys(runtime: Runtime, sweep: Sweep) -> None:
    """Raise `ConfigError` when a model that the sweep asks has no provider or no key."""
    experiments = asking_all(sweep)
    for model in models_used(runtime.settings, sweep, experiments):
        await runtime.keys.of(runtime.providers.of(model))


def unapplied(
    providers: Providers, settings: Settings, sweep: Sweep, experiments: Sequence[Experiment]
) -> list[capabilities.Unsupported]:
    """Return which parameters models will not apply; sends nothing.

    Raises `ConfigError` for a value of an axis that a judge does not apply, unless the sweep marks
    such values, and for values of which a model takes only one.
    """
    by_model: dict[str, set[Sampling]] = defaultdict(set)
    for experiment in experiments:
        by_model[experiment.model].add(resolve(experiment).of(Sampling))
    if sweep.on_unsupported == "error":
        _check_axes(providers, sweep, by_model)
    sham = sweep.swap is not None and sweep.swap.sham
    requests = [*requests_of(experiments), *(requests_of(experiments, sham=True) if sham else ())]
    for request in requests:
        by_model[request.owner_model].add(replace(_PLAIN, temperature=request.temperature))
    # Rubrics are rated and evidence is edited by the same model.
    edited = edited_views(settings, experiments)
    longest = [longest_answer(view, settings.summary_words) for view in edited]
    for max_tokens in [*longest, *([LONGEST_ANSWER] if requests else ())]:
        utility = utility_model(settings, sweep, experiments)
        by_model[utility].add(replace(_PLAIN, max_tokens=max_tokens))
    if sweep.score_critic:
        by_model[sweep.score_critic].add(replace(_PLAIN, max_tokens=score_critics.LONGEST_ANSWER))
    return list(_unsupported(providers, sweep, by_model))


def _check_axes(
    providers: Providers, sweep: Sweep, judges: Mapping[str, Iterable[Sampling]]
) -> None:
    lost = [one for one in _unsupported(providers, sweep, judges) if one.axis in AXES]
    if lost:
        settings = dict.fromkeys(filter(None, map(_setting, lost)))
        raise ConfigError(
            f"{sweep.path}: {' '.join(map(str, lost))}",
            f"Write {', '.join(settings) or 'values that they apply'}, in a block of their own if "
            "other models take the values there. Or add `on_unsupported: mark` to the file: the "
            "experiments run, are marked, and are left out of contrasts on the axis. "
            f"`judge-gym models show MODEL` prints what a model applies, {providers.file} "
            "corrects it.",
        )


def _setting(lost: capabilities.Unsupported) -> str | None:
    """Return what to write for a model that does not apply a value."""
    if lost.default is not None:
        return f"`{lost.axis}: {capabilities.as_text(lost.default)}` for {lost.model}"
    return f"`reasoning_effort: none` for {lost.model}" if lost.only_at_none else None


def _unsupported(
    providers: Providers, sweep: Sweep, by_model: Mapping[str, Iterable[Sampling]]
) -> Iterator[capabilities.Unsupported]:
    for model, samplings in sorted(by_model.items()):
        asked = [Parameters(**asdict(sampling), seed=0).asked() for sampling in samplings]
        taken = capabilities.taken_by(providers, model)
        try:
            yield from capabilities.unsupported(model, asked, taken)
        except ConfigError as error:
            raise ConfigError(f"{sweep.path}: {error.message}", error.remedy) from error


def model_warnings(providers: Providers, models: Sequence[str]) -> Iterator[str]:
    """Yield warnings about models that are in no list, retired or about to be."""
    for model in models:
        taken = capabilities.taken_by(providers, model)
        if warning := capabilities.retirement(model, taken, date.today()):
            yield warning
        if warning := capabilities.unlisted(providers, model):
            yield warning


def unwritten_rivals(sweep: Sweep) -> Iterator[str]:
    """Yield warnings about rivals of swap pairs whose rubrics no block of the sweep has written."""
    if sweep.swap is None or not isinstance(sweep.swap.pairs, tuple):
        return
    writers = list(dict.fromkeys(chain.from_iterable(sweep.swappable())))
    for rival in dict.fromkeys(rival for _, rival in sweep.swap.pairs):
        if rival not in writers:
            yield (
                f"swap.pairs: no block has rival {rival!r} write a rubric; the swap fails unless "
                f"another sweep has stored one. {did_you_mean(rival, writers)}"
            ).strip()


def check_models(sweep: Sweep, models: Iterable[str], check: Callable[[str], object]) -> None:
    """Give models to `check`; a `ConfigError` that it raises gets the model's place in the file."""
    for model in sorted(models):
        try:
            check(model)
        except ConfigError as error:
            place = sweep.model_places.get(model)
            if place is None:
                raise
            where = f"{place.file}, line {place.line}: {place.key}: "
            raise ConfigError(where + error.message, error.remedy) from error


def providers_of(settings: Settings, sweep: Sweep) -> list[Provider]:
    """Return the providers of all models that a sweep asks, by name.

    Raises `ConfigError` for a model that no provider serves, or when no utility model is named.
    """
    providers = load_providers(settings.providers_file)
    experiments = asking_all(sweep)
    check = partial(capabilities.check_named, providers)
    check_models(sweep, models_of(experiments), check)
    models = models_used(settings, sweep, experiments)
    check_models(sweep, models, check)
    used = {providers.of(model).name for model in models}
    return [providers.by_name[name] for name in sorted(used)]


def asking_all(sweep: Sweep) -> list[Experiment]:
    """Return experiments of a sweep that ask each of its models between them."""
    groups = sweep.alike(("model", "rubric", "evidence_view", "bundles"))
    return [group.experiment for group in groups]


def models_of(experiments: Sequence[Experiment]) -> set[str]:
    """Return every model that judges or writes a rubric in these experiments."""
    return {experiment.model for experiment in experiments} | {
        experiment.rubric.model for experiment in experiments if experiment.rubric.model
    }


def models_used(settings: Settings, sweep: Sweep, experiments: Sequence[Experiment]) -> list[str]:
    """Return the models that get calls.

    Judges, writers of rubrics, critic, utility model and models of embeddings.
    """
    models = models_of(experiments) | embedding_models(experiments)
    models |= {sweep.rubric_embeddings, sweep.score_critic} - {""}
    if is_utility_used(settings, experiments):
        models.add(utility_model(settings, sweep, experiments))
    return sorted(models)


def is_utility_used(settings: Settings, experiments: Sequence[Experiment]) -> bool:
    """Whether evidence has to be edited or a rubric rated."""
    return bool(edited_views(settings, experiments) or requests_of(experiments))


def utility_model(settings: Settings, sweep: Sweep, experiments: Sequence[Experiment]) -> str:
    """Return the model that edits evidence and rates rubrics.

    The sweep's own, else the setting, else the simulator's when every judge is simulated, else any
    judge if nothing has to be edited or rated. Raises `ConfigError` when there is none.
    """
    chosen = sweep.utility_model or settings.utility_model
    if chosen:
        return chosen
    if all(map(is_simulated_model, models_of(experiments))):
        return SIMULATED_UTILITY
    if not is_utility_used(settings, experiments):
        return min(models_of(experiments))
    raise ConfigError(
        f"Sweep {sweep.name} names no utility_model, which edits evidence and rates rubrics.",
        "Add `utility_model: provider/model` to the file or set JUDGE_GYM_UTILITY_MODEL; best a "
        "family that is not among the judges.",
    )
