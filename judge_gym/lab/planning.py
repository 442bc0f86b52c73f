"""The plan of a sweep before it runs: calls per workflow, their estimated use, and calls done."""

import shlex
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy.orm import Session

from judge_gym.asking.estimating import (
    PerCall,
    UsageEstimate,
    assumptions,
    estimate,
    most_used,
    per_call,
)
from judge_gym.counting import counted
from judge_gym.design.experiment import Experiment
from judge_gym.design.plan_scopes import check_primary_scopes
from judge_gym.design.strategies.sampling import AXES as SAMPLING
from judge_gym.design.sweep import Alike, Sweep
from judge_gym.design.sweep_blocks import DIMENSIONS
from judge_gym.evidence.documents import Collected
from judge_gym.lab.amounts import (
    ORDER,
    Amounts,
    Kind,
    embeddings_to_make,
    items_of,
    judgements_to_make,
    rubrics_to_write,
    swapped_arms,
    views_to_make,
)
from judge_gym.lab.bounds import PromptBounds
from judge_gym.lab.evidence import (
    check_not_empty,
    losses,
    preview,
)
from judge_gym.lab.evidence_notes import evidence_notes
from judge_gym.lab.examples import Examples
from judge_gym.lab.power.comparisons import replicate_warnings, rubric_warnings
from judge_gym.lab.power.contrasts import ContrastPower, contrast_powers
from judge_gym.lab.sweeps import (
    change_notes,
    check_budget,
    check_templates_kept,
    model_warnings,
    models_used,
    recipes_of,
    renamed_windows,
    stored_plan,
    unapplied,
    unwritten_rivals,
    utility_model,
)
from judge_gym.lab.texts import WindowTexts
from judge_gym.llm.capabilities import taken_by
from judge_gym.llm.hourly import bound_warnings
from judge_gym.llm.keys import refusals
from judge_gym.llm.providers import Providers
from judge_gym.model_names import is_simulated_provider
from judge_gym.settings import Settings, settings
from judge_gym.store.calls import Past, PastKey, past_answers
from judge_gym.store.experiments import (
    experiments_reading,
    judgements_before_redesign,
    judgements_of_points,
)
from judge_gym.store.recipes import identities
from judge_gym.store.results import planned
from judge_gym.store.windows import collected_documents


@dataclass(frozen=True)
class PlanLine:
    """One workflow's calls to one provider."""

    workflow: str
    what: str
    provider: str
    calls: int
    """Calls of the whole sweep, done or not, if no answer has to be requested again."""
    at_most: int
    """Requests that are answered at most: an empty or cut answer is requested once more, and a
    rubric with faults again."""
    done: int
    whole: UsageEstimate
    """The use of `at_most` requests, if every answer is as long as its limit allows."""
    left: UsageEstimate
    """The expected use of the calls left."""
    failed: int
    """Calls that `retry_failed` makes again, at most: of failed judgements with their probes, and
    of failed probes."""
    retry: UsageEstimate
    """The expected use of making those again."""

    @property
    def to_do(self) -> int:
        """Calls left: samples that are not scored need no probe."""
        return max(0, self.calls - self.done)


@dataclass(frozen=True)
class Plan:
    """The lines in the order of the workflows, and their assumptions."""

    lines: list[PlanLine]
    is_bound: bool
    """Whether no line will use more than its `whole`; not so where evidence is assumed."""
    unpriced: list[str]
    """Models without a known price."""
    unapplied: list[str]
    """Parameters that models will not apply, and models that take no seed; sentences."""
    warnings: list[str]
    """Faulty documents, claims that too few replicates cannot test, models that are retired or
    in no list, bounds per hour that will be reached; sentences."""
    facets: list[str]
    """What the levels of wordings and rubric draws after the first cost; sentences."""
    waits: list[str]
    """Where a run waits for a person; sentences."""
    changed: list[str]
    """Parts of recipes that changed since the judgements that are there; sentences."""
    assumptions: list[str]
    """Assumptions made where evidence, rubrics or a history are missing; sentences."""
    contrasts: list[ContrastPower]
    """What the planned contrasts would find."""


_JUDGED_ALIKE = (
    "temperature", "top_p", "logprobs", "randomize_labels", "shuffle_order", "prompt_order",
)  # fmt: skip
"""Dimensions that change neither how many calls there are nor how long they get."""
_JUDGING_DIMENSIONS = tuple(name for name in DIMENSIONS if name not in _JUDGED_ALIKE)
_SAMPLING_DIMENSIONS = ("model", *SAMPLING)
_RUBRIC_DIMENSIONS = (
    "concept", "window", "model", "task_type", "scale_size", "rubric", "rubric_draw", "temperature"
)  # fmt: skip


_History = Mapping[PastKey, Past]


def plan_sweep(
    session: Session, sweep: Sweep, providers: Providers, *, keep_templates: bool = False
) -> Plan:
    """Return the sweep's calls at most, their estimated use, and how many are done.

    A call is done if its row is stored, whatever the outcome: stored failures count, and so do
    samples whose call was cleaned away. Files of windows that are not collected yet are read, and
    other such windows count as full. Every judgement to come counts as scored. Raises
    `ConfigError` for a file that cannot be used or run, and with `keep_templates` if judgements
    were made by another recipe.

    Of experiments that are not stored and differ in what no call shows, one is looked at.
    """
    configured = settings()
    check_primary_scopes(sweep)
    stored = _stored(session, sweep)
    groups = sweep.alike(_JUDGING_DIMENSIONS, stored)
    experiments = _looked_at(sweep, groups)
    check_budget(providers, configured, sweep, experiments)
    utility = utility_model(configured, sweep, experiments)
    recipes = recipes_of(configured, sweep, experiments)
    known = identities(session, experiments, recipes)
    if keep_templates:
        check_templates_kept(sweep, known.values())
    experiments = [known[one.key].of(one) for one in experiments]
    groups = [replace(one, experiment=known[one.experiment.key].of(one.experiment))
              for one in groups]  # fmt: skip
    documents, previews, dropped = _documents(session, experiments)
    judged = {known[one.key].key: one.replicates for one in stored}
    texts = WindowTexts(session, configured, previews)
    bounds = PromptBounds(session, texts, providers, utility)
    bounds.look_up_rubrics([group.experiment for group in groups], sweep.swap)
    amounts = {
        **views_to_make(session, experiments, documents, bounds),
        **embeddings_to_make(session, experiments, documents, bounds),
        **rubrics_to_write(session, experiments, sweep.swap, bounds, sweep.rubric_embeddings),
        **judgements_to_make(session, sweep, groups, documents, known, judged, bounds),
    }
    past = past_answers(session, {kind.model for kind in amounts})
    examples = Examples(session, texts)
    each = _each_call(providers, amounts, examples, past)
    lines = list(_lines(configured, providers, amounts, each))
    models = models_used(configured, sweep, experiments)
    return Plan(
        lines=lines,
        is_bound=bounds.known,
        unpriced=sorted({kind.model for kind in amounts if each[kind].price is None}),
        unapplied=[lost.note for lost in unapplied(providers, configured, sweep, experiments)],
        facets=list(_facets(sweep, groups, documents)),
        waits=list(_waits(sweep)),
        changed=change_notes(known.values()),
        warnings=[
            *dropped,
            *evidence_notes(session, [one.window for one in experiments], configured, previews),
            *_warnings(session, sweep, stored, providers, models, lines),
        ],
        assumptions=_assumptions(providers, amounts, past, examples),
        contrasts=contrast_powers(sweep),
    )


def _warnings(
    session: Session,
    sweep: Sweep,
    stored: Sequence[Experiment],
    providers: Providers,
    models: Sequence[str],
    lines: Iterable[PlanLine],
) -> Iterator[str]:
    """Yield what to be careful about apart from evidence: the design, models and bounds."""
    yield from replicate_warnings(sweep)
    yield from rubric_warnings(sweep)
    yield from _late_plan(session, sweep, stored)
    yield from model_warnings(providers, models)
    yield from refusals(providers, models)
    yield from unwritten_rivals(sweep)
    yield from renamed_windows(session, sweep)
    yield from _hourly_warnings(session, providers, lines)


def _late_plan(session: Session, sweep: Sweep, stored: Sequence[Experiment]) -> Iterator[str]:
    """Yield that the plan comes after judgements, where it does: it then confirms nothing."""
    if sweep.plan is None:
        return
    known = planned(session, sweep.name)
    if known.plan == sweep.plan:
        if not known.standing.confirmatory:
            yield f"The plan confirms nothing. Its outcomes are {known.standing.reason}."
        elif judged := judgements_before_redesign(
            session, sweep.name, sweep.experiments(), stored_plan(sweep)
        ):
            yield (
                f"The design differs from that of {counted(judged, 'judgement')}. After a run, the "
                "report says so beside the outcomes of the plan."
            )
    elif judged := judgements_of_points(session, [one.key for one in stored]):
        exist = "exists" if judged == 1 else "exist"
        yield (
            f"The plan {sweep.plan.name} is new or changed, and {counted(judged, 'judgement')} "
            f"{exist}: its outcomes will be exploratory."
        )


def _waits(sweep: Sweep) -> Iterator[str]:
    if sweep.approve_over_usd is not None:
        yield (
            "A run waits for a person's approval where it is expected to cost more than "
            f"{sweep.approve_over_usd:g} USD that nobody has approved (approve_over_usd)."
        )
    if any(True for _ in sweep.paused()):
        yield (
            "A run waits after w2-rubric until a person has read the rubrics (pause_after): "
            f"judge-gym sweep rubrics {shlex.quote(sweep.name)}."
        )


def _looked_at(sweep: Sweep, groups: Iterable[Alike]) -> list[Experiment]:
    """Return an experiment of each of these groups, and of each that differs before judging."""
    others = map(sweep.alike, (_SAMPLING_DIMENSIONS, _RUBRIC_DIMENSIONS))
    looked_at = {one.experiment.key: one.experiment for some in (groups, *others) for one in some}
    return list(looked_at.values())


def _stored(session: Session, sweep: Sweep) -> list[Experiment]:
    """Return the experiments of a sweep that are stored, as the sweep has them."""
    windows = [window.key for window in sweep.windows.values()]
    found = (sweep.own(stored) for stored in experiments_reading(session, windows))
    return list({one.key: one for one in found if one}.values())


def _each_call(
    providers: Providers, amounts: Amounts, examples: Examples, past: _History
) -> dict[Kind, PerCall]:
    """Return what a call of each kind is expected to use."""
    return {
        kind: per_call(
            providers,
            kind.model,
            kind.agent,
            examples.of(kind.agent, amount.subjects),
            amount.longest_answers / max(1, amount.calls),
            past,
            kind.effort,
        )
        for kind, amount in amounts.items()
    }


def _hourly_warnings(
    session: Session, providers: Providers, lines: Iterable[PlanLine]
) -> Iterator[str]:
    """Yield the bounds per hour that what is left to do will reach; simulated calls have none."""
    real = [line for line in lines if not is_simulated_provider(line.provider)]
    calls = sum(line.to_do for line in real)
    return bound_warnings(session, providers, calls, sum(line.left.cost_usd or 0 for line in real))


def _assumptions(
    providers: Providers, kinds: Collection[Kind], past: _History, examples: Examples
) -> list[str]:
    thinking: dict[str, int] = {}
    for kind in kinds:
        room = taken_by(providers, kind.model).room(kind.effort)
        thinking[kind.model] = max(room, thinking.get(kind.model, 0))
    return assumptions(
        [(kind.model, kind.agent, kind.effort) for kind in kinds],
        past,
        thinking=thinking,
        evidence=examples.texts.assumed_evidence,
        made=examples.texts.assumed_views or examples.assumed_rubrics,
    )


def _facets(sweep: Sweep, groups: Sequence[Alike], documents: Mapping[str, int]) -> Iterator[str]:
    judgements = {
        group.experiment: group.count
        * items_of(group.experiment, documents)
        * group.experiment.replicates
        * (1 + swapped_arms(group, sweep.swap))
        for group in groups
    }
    for facet, levels in sweep.facets.items():
        first, named = levels[0], ", ".join(map(str, levels))
        more = sum(count for one, count in judgements.items() if getattr(one, facet) != first)
        yield (
            f"{facet} has {len(levels)} levels ({named}): {more:,} of "
            f"{counted(sum(judgements.values()), 'judgement')} are of others than {first}."
        )


def _lines(
    configured: Settings, providers: Providers, amounts: Amounts, each: Mapping[Kind, PerCall]
) -> Iterator[PlanLine]:
    by_line: dict[tuple[str, str, str], list[Kind]] = defaultdict(list)
    # Sort a workflow's providers by name.
    for kind in sorted(amounts, key=lambda kind: (kind.workflow, ORDER[kind.what], kind.line)):
        by_line[kind.line].append(kind)
    for line, kinds in by_line.items():
        chosen = [(amounts[kind], each[kind]) for kind in kinds]
        provider = providers.by_name[line[2]]
        yield PlanLine(
            *line,
            calls=sum(amount.calls for amount, _ in chosen),
            at_most=sum(amount.at_most for amount, _ in chosen),
            done=sum(amount.done for amount, _ in chosen),
            whole=most_used(
                configured,
                provider,
                [
                    (amount.at_most, replace(per, prompt_tokens=prompt, answer_tokens=answer))
                    for amount, per in chosen
                    for prompt, answer in [amount.longest]
                ],
            ),
            left=estimate(configured, provider, [(line.to_do, per) for line, per in chosen]),
            failed=sum(amount.failed for amount, _ in chosen),
            retry=estimate(configured, provider, [(line.failed, per) for line, per in chosen]),
        )


def _documents(
    session: Session, experiments: Sequence[Experiment]
) -> tuple[dict[str, int], dict[str, Collected], list[str]]:
    """Return window key → documents, what files give, and sentences on documents dropped."""
    windows = {experiment.window.key: experiment.window for experiment in experiments}
    documents = collected_documents(session, windows)
    previews = {}
    for key in windows.keys() - documents.keys():
        window = windows[key]
        if collected := preview(window, settings()):
            check_not_empty(window, collected)
            previews[key] = collected
        documents[key] = len(collected.documents) if collected else window.max_documents
    dropped = [losses(windows[key], collected) for key, collected in previews.items()]
    return documents, previews, sorted(filter(None, dropped))
