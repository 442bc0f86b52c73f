"""The plan of a sweep before it runs: calls per workflow, their estimated use, and calls done."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlalchemy.orm import Session

from judge_gym.asking.estimating import PerCall, UsageEstimate, assumptions, estimate, per_call
from judge_gym.counting import counted
from judge_gym.design.experiment import Effort, Experiment
from judge_gym.design.names import CRITIC, PROBE, SCORING, SWAP
from judge_gym.design.plans import MostDivergent, SwapPlan
from judge_gym.design.strategies import resolve
from judge_gym.design.strategies.bundling import Bundling
from judge_gym.design.strategies.sampling import AXES as SAMPLING
from judge_gym.design.strategies.sampling import Sampling
from judge_gym.design.sweep import Alike, Sweep
from judge_gym.design.sweep_blocks import DIMENSIONS
from judge_gym.lab import score_critics
from judge_gym.lab.evidence import (
    AGENTS,
    check_not_empty,
    edited_views,
    longest_answer,
    losses,
    preview,
    recipes_of_views,
)
from judge_gym.lab.examples import Examples, Subject, ViewRequest
from judge_gym.lab.power.comparisons import replicate_warnings
from judge_gym.lab.rubrics import LONGEST_ANSWER, request_key, requests_of
from judge_gym.lab.sweeps import (
    change_notes,
    check_budget,
    check_templates_kept,
    model_warnings,
    models_used,
    recipes_of,
    renamed_windows,
    unapplied,
    unwritten_rivals,
    utility_model,
)
from judge_gym.llm.capabilities import taken_by
from judge_gym.llm.hourly import bound_warnings
from judge_gym.llm.providers import Providers
from judge_gym.model_names import is_simulated_provider
from judge_gym.questions.score_critic import score_critic
from judge_gym.settings import Settings, settings
from judge_gym.store.calls import Past, PastKey, past_answers
from judge_gym.store.experiments import experiments_reading
from judge_gym.store.progress import Judged, judgements_by_kind, marks_by, samples_and_probes
from judge_gym.store.recipes import Identity, identities
from judge_gym.store.rubrics import rubric_ids
from judge_gym.store.windows import collected_documents, count_views


@dataclass(frozen=True)
class PlanLine:
    """One workflow's calls to one provider.

    `at_most` counts first attempts; retries add calls, also those of refused rubrics.
    """

    workflow: str
    what: str
    provider: str
    at_most: int
    done: int
    whole: UsageEstimate
    """The use of all calls, done or not, if every answer is as long as its limit allows."""
    left: UsageEstimate
    """The expected use of the calls left."""
    failed: int
    """Calls that `retry_failed` makes again, at most: of failed judgements with their probes, and
    of failed probes."""
    retry: UsageEstimate
    """The expected use of making those again."""

    @property
    def to_do(self) -> int:
        """Calls left, at most: samples that were not scored need no probe."""
        return max(0, self.at_most - self.done)


@dataclass(frozen=True)
class Plan:
    """The lines in the order of the workflows, and their assumptions."""

    lines: list[PlanLine]
    unpriced: list[str]
    """Models without a known price."""
    unapplied: list[str]
    """Parameters that models will not apply, and models that take no seed; sentences."""
    warnings: list[str]
    """Faulty documents, claims that too few replicates cannot test, models that are retired or
    in no list, bounds per hour that will be reached; sentences."""
    facets: list[str]
    """What the levels of wordings and rubric draws after the first cost; sentences."""
    changed: list[str]
    """Parts of recipes that changed since the judgements that are there; sentences."""
    assumptions: list[str]
    """Assumptions made where evidence, rubrics or a history are missing; sentences."""


@dataclass(frozen=True)
class _Kind:
    """Calls with the same expected use."""

    workflow: str
    what: str
    agent: str
    model: str
    scale_size: int = 0
    effort: Effort | None = None

    @property
    def line(self) -> tuple[str, str, str]:
        return self.workflow, self.what, self.model.partition("/")[0]


@dataclass
class _Amount:
    at_most: int = 0
    done: int = 0
    subjects: list[Subject] = field(default_factory=list)
    longest_answers: int = 0
    """The longest answers of all calls together, in tokens."""
    failed: int = 0

    @property
    def to_do(self) -> int:
        return max(0, self.at_most - self.done)

    def add(self, count: int, subject: Subject, longest: int) -> None:
        self.at_most += count
        self.subjects.append(subject)
        self.longest_answers += count * longest


_JUDGED_ALIKE = (
    "temperature", "top_p", "logprobs", "randomize_labels", "shuffle_order", "prompt_order",
    "actors",
)  # fmt: skip
"""Dimensions that change neither how many calls there are nor how long they get."""
_JUDGING_DIMENSIONS = tuple(name for name in DIMENSIONS if name not in _JUDGED_ALIKE)
_SAMPLING_DIMENSIONS = ("model", *SAMPLING)
_RUBRIC_DIMENSIONS = (
    "concept", "window", "model", "task_type", "scale_size", "rubric", "rubric_draw", "temperature"
)  # fmt: skip

_Amounts = dict[_Kind, _Amount]
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
    stored = _stored(session, sweep)
    groups = sweep.alike(_JUDGING_DIMENSIONS, stored)
    looked_at = {
        group.experiment.key: group.experiment
        for some in (groups, *map(sweep.alike, (_SAMPLING_DIMENSIONS, _RUBRIC_DIMENSIONS)))
        for group in some
    }
    experiments = list(looked_at.values())
    check_budget(providers, configured, sweep, experiments)
    utility = utility_model(configured, sweep, experiments)
    recipes = recipes_of(configured, sweep, experiments)
    known = identities(session, experiments, recipes).by_point
    if keep_templates:
        check_templates_kept(sweep, known.values())
    experiments = [known[one.key].of(one) for one in experiments]
    groups = [replace(one, experiment=known[one.experiment.key].of(one.experiment))
              for one in groups]  # fmt: skip
    documents, dropped = _documents(session, experiments)
    judged = {known[one.key].key: one.replicates for one in stored}
    amounts = {
        **_views(session, experiments, documents, utility, known),
        **_rubrics(session, experiments, sweep.swap, utility),
        **_judgements(session, sweep, groups, documents, known, judged),
    }
    past = past_answers(session, {kind.model for kind in amounts})
    examples = Examples(session, configured.summary_words)
    each = _each_call(providers, amounts, examples, past)
    lines = list(_lines(configured, providers, amounts, each))
    return Plan(
        lines=lines,
        unpriced=sorted({kind.model for kind in amounts if each[kind].price is None}),
        unapplied=[lost.note for lost in unapplied(providers, configured, sweep, experiments)],
        facets=list(_facets(sweep, groups, documents)),
        changed=change_notes(known.values()),
        warnings=[
            *dropped,
            *replicate_warnings(sweep),
            *model_warnings(providers, models_used(configured, sweep, experiments)),
            *unwritten_rivals(sweep),
            *renamed_windows(session, sweep),
            *_hourly_warnings(session, providers, lines),
        ],
        assumptions=_assumptions(providers, amounts, past, examples),
    )


def _stored(session: Session, sweep: Sweep) -> list[Experiment]:
    """Return the experiments of a sweep that are stored, as the sweep has them."""
    windows = [window.key for window in sweep.windows.values()]
    found = (sweep.own(stored) for stored in experiments_reading(session, windows))
    return list({one.key: one for one in found if one}.values())


def _each_call(
    providers: Providers, amounts: _Amounts, examples: Examples, past: _History
) -> dict[_Kind, PerCall]:
    """Return what a call of each kind is expected to use."""
    return {
        kind: per_call(
            providers,
            kind.model,
            kind.agent,
            examples.of(kind.agent, amount.subjects),
            amount.longest_answers / max(1, amount.at_most),
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
    providers: Providers, kinds: Collection[_Kind], past: _History, examples: Examples
) -> list[str]:
    thinking: dict[str, int] = {}
    for kind in kinds:
        room = taken_by(providers, kind.model).room(kind.effort)
        thinking[kind.model] = max(room, thinking.get(kind.model, 0))
    return assumptions(
        [(kind.model, kind.agent, kind.effort) for kind in kinds],
        past,
        thinking=thinking,
        stood_in=examples.stood_in,
    )


def _facets(sweep: Sweep, groups: Sequence[Alike], documents: Mapping[str, int]) -> Iterator[str]:
    judgements = {
        group.experiment: group.count
        * _items(group.experiment, documents)
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
    configured: Settings, providers: Providers, amounts: _Amounts, each: Mapping[_Kind, PerCall]
) -> Iterator[PlanLine]:
    by_line: dict[tuple[str, str, str], list[_Kind]] = defaultdict(list)
    # Sort a workflow's providers by name.
    for kind in sorted(amounts, key=lambda kind: (kind.workflow, _ORDER[kind.what], kind.line)):
        by_line[kind.line].append(kind)
    for line, kinds in by_line.items():
        chosen = [(amounts[kind], each[kind]) for kind in kinds]
        longest = [
            (amount.at_most, replace(per, answer_tokens=per.answer_limit)) for amount, per in chosen
        ]
        provider = providers.by_name[line[2]]
        yield PlanLine(
            *line,
            at_most=sum(amount.at_most for amount, _ in chosen),
            done=sum(amount.done for amount, _ in chosen),
            whole=estimate(configured, provider, longest),
            left=estimate(configured, provider, [(line.to_do, per) for line, per in chosen]),
            failed=sum(amount.failed for amount, _ in chosen),
            retry=estimate(configured, provider, [(line.failed, per) for line, per in chosen]),
        )


def swapped_arms(group: Alike, plan: SwapPlan | None) -> int:
    """Return how many swap and sham arms each of these experiments gets at most."""
    judge = group.experiment
    if plan is None or judge.rubric.kind != "own":
        return 0
    if isinstance(plan.pairs, MostDivergent):
        rivals = min(group.peers - 1, plan.pairs.most_divergent)
    elif plan.pairs == "all":
        rivals = group.peers - 1
    else:
        rivals = sum(named in (judge.model, judge.family) for named, _ in plan.pairs)
    return rivals + plan.sham


def _items(experiment: Experiment, documents: Mapping[str, int]) -> int:
    return documents[experiment.window.key] // resolve(experiment).of(Bundling).size


def _documents(
    session: Session, experiments: Sequence[Experiment]
) -> tuple[dict[str, int], list[str]]:
    """Return window key → documents, and sentences on documents that windows will drop."""
    windows = {experiment.window.key: experiment.window for experiment in experiments}
    documents = collected_documents(session, windows)
    dropped = []
    for key in windows.keys() - documents.keys():
        window = windows[key]
        collected = preview(window, settings())
        if collected:
            check_not_empty(window, collected)
        documents[key] = len(collected.documents) if collected else window.max_documents
        dropped.append(losses(window, collected) if collected else "")
    return documents, sorted(filter(None, dropped))


def _views(
    session: Session,
    experiments: Sequence[Experiment],
    documents: Mapping[str, int],
    utility: str,
    known: Mapping[str, Identity],
) -> _Amounts:
    recipes = recipes_of_views(settings(), utility)
    by_window: dict[str, list[Experiment]] = defaultdict(list)
    for experiment in experiments:
        by_window[experiment.window.key].append(experiment)
    amounts: _Amounts = defaultdict(_Amount)
    for key, group in by_window.items():
        # Views from before recipes belong to those of their experiments, unless these changed.
        unchanged = not any(known[one.key].changed for one in group)
        legacy = {""} if unchanged else set()
        for view in edited_views(settings(), group):
            amount = amounts[_Kind("w1-evidence", "views", AGENTS[view], utility)]
            longest = longest_answer(view, settings().summary_words)
            amount.add(documents[key], ViewRequest(key, view), longest)
            amount.done += count_views(session, key, view, {recipes[view], *legacy})
    return amounts


def _rubrics(
    session: Session, experiments: Sequence[Experiment], plan: SwapPlan | None, utility: str
) -> _Amounts:
    """One call to write each rubric, one to rate it."""
    sham = plan is not None and plan.sham
    requests = {
        request_key(request): request
        for variant in ((False, True) if sham else (False,))
        for request in requests_of(experiments, sham=variant)
    }
    written = rubric_ids(session, requests)
    amounts: _Amounts = defaultdict(_Amount)
    for key, request in requests.items():
        for what, agent, model in (
            ("rubrics", "rubricer", request.owner_model),
            ("marks", "critic", utility),
        ):
            amount = amounts[_Kind("w2-rubric", what, agent, model, request.scale_size)]
            amount.add(1, request, LONGEST_ANSWER)
            amount.done += key in written
    return amounts


_JUDGING = {
    "w3-scoring": ("judgements", "scorer"),
    "w4-swap": ("swaps and shams", "scorer"),
    "w5-probe": ("probes", "prober"),
}
_JUDGED = (SCORING, SWAP)
_MARKS = "marks of reasoning"
_ORDER = {
    what: place
    for place, what in enumerate(
        (
            "views",
            "rubrics",
            "marks",
            *(what for what, _ in _JUDGING.values()),
            _MARKS,
        )
    )
}


def _judgements(
    session: Session,
    sweep: Sweep,
    groups: Sequence[Alike],
    documents: Mapping[str, int],
    known: Mapping[str, Identity],
    replicates: Mapping[str, int],
) -> _Amounts:
    """Count calls of groups; `replicates` are those of the stored experiments."""
    judged = samples_and_probes(session, replicates)
    amounts: _Amounts = defaultdict(_Amount)
    for group in groups:
        experiment = group.experiment
        own = group.count * _items(experiment, documents) * experiment.replicates
        swapped = own * swapped_arms(group, sweep.swap)
        stored = judged.get(known[experiment.key].key, Judged())
        to_come = max(0, own + swapped - stored.samples)
        # One sample in ten is probed twice.
        probes = stored.probes + round(to_come * 1.1)
        counts = (own, swapped, probes)
        sampling = resolve(experiment).of(Sampling)
        for (workflow, (what, agent)), count in zip(_JUDGING.items(), counts, strict=True):
            if count:
                kind = _Kind(
                    workflow,
                    what,
                    agent,
                    experiment.model,
                    experiment.scale_size,
                    sampling.reasoning_effort,
                )
                amounts[kind].add(count, experiment, sampling.max_tokens)
        if sweep.score_critic and (count := stored.scored + to_come):
            kind = _Kind(CRITIC, _MARKS, "score_critic", sweep.score_critic)
            amounts[kind].add(count, experiment, score_critics.LONGEST_ANSWER)
    _count_judged(session, amounts, replicates)
    return amounts


def _count_judged(session: Session, amounts: _Amounts, replicates: Mapping[str, int]) -> None:
    """Set how many judgements and marks of each kind are done, and how many of them failed."""
    done = judgements_by_kind(session, replicates)
    failed = judgements_by_kind(session, replicates, failed=True)
    for kind, amount in amounts.items():
        if kind.workflow == CRITIC:
            critic = score_critic(kind.model)
            amount.done = marks_by(session, replicates, critic)
            amount.failed = marks_by(session, replicates, critic, failed=True)
            continue
        of_model = (kind.model, kind.scale_size, kind.effort)
        amount.done = done.get((kind.workflow, *of_model), 0)
        amount.failed = failed.get((kind.workflow, *of_model), 0)
        if kind.workflow == PROBE:
            judged_again = (failed.get((name, *of_model), 0) for name in _JUDGED)
            amount.failed += round(sum(judged_again) * 1.1)
