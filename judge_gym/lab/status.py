"""How far a sweep is: what people, `--json` and other programs are told, from one place."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from judge_gym.counting import cost_in_words, counted, experiments_in_words
from judge_gym.design.names import CRITIC, PROBE
from judge_gym.errors import StoreError
from judge_gym.llm.pricing import price_of
from judge_gym.llm.providers import load_providers
from judge_gym.model_names import is_simulated_model
from judge_gym.settings import settings
from judge_gym.store.batches import waiting
from judge_gym.store.calls import TruncatedPrompts, unread_prompts
from judge_gym.store.cleaning import EmptyAnswers, StoredFailures, empty_answers, kept_failures
from judge_gym.store.experiments import experiments_of_sweep
from judge_gym.store.locks import is_in_progress, is_locked
from judge_gym.store.progress import (
    RECENT,
    Activity,
    LoweredLimit,
    RefusedModel,
    RefusedRubric,
    SentCall,
    WorkflowProgress,
    activity,
    experiment_progress,
    lowered_limits,
    paces,
    refusals,
    refused_rubrics,
    sent_calls,
    summed_progress,
    sweep_progress,
)
from judge_gym.store.results import is_analysed
from judge_gym.store.score_marks import critic_of_sweep
from judge_gym.store.selecting import Selection
from judge_gym.store.spending import Spent, calls_of, spending_scope, spent
from judge_gym.store.sweep_runs import LastRun, last_run
from judge_gym.store.windows import WindowLine, window_lines

ENOUGH = 10
"""Calls that must have ended lately before their rate says when the rest will have."""
HOW_ESTIMATED = (
    "what is left of each workflow, one call each, at the rate of its slowest provider over "
    f"{RECENT // timedelta(minutes=1)} minutes"
)


@dataclass(frozen=True)
class WorkflowStatus:
    """`WorkflowProgress`, its state in a word, and how many calls wait in batches."""

    workflow: str
    state: str
    """As in `WorkflowProgress`; what is unfinished is `running` only during a run, else
    `waiting` for batches or `stopped`."""
    done: int
    total: int | None
    failed: int
    """All failures of it that are listed, those that the next run asks again included."""
    refused: int
    """As in `WorkflowProgress`; not among `failed`."""
    wait_in_batches: int


@dataclass(frozen=True)
class Expected:
    """When a sweep will be done; `at` is None when that cannot be said, and `why` says why."""

    at: datetime | None
    left: int
    at_least: bool
    """Whether more work will follow from what is not done yet."""
    why: str


@dataclass(frozen=True)
class UnknownOutcomes:
    """Calls whose run ended before their answer: it may have been billed, and is not stored."""

    calls: int
    """As often as each was sent so."""
    sent_again: int
    """Of `calls`, those that another sending has followed."""
    cost_usd: float
    """The most that they can have cost, without the unpriced ones."""
    unpriced: int
    """Calls of models without a known price."""
    open_costs: int = field(default=0, compare=False)
    """Calls that no other sending has followed and that may have cost something."""


@dataclass(frozen=True)
class Status:
    """One sweep at one moment."""

    sweep: str
    at: datetime
    in_progress: bool
    """Whether a run is at work on it, by the locks that end with its process."""
    cancelled: bool
    """Whether calls of it were cancelled and not asked since."""
    simulated: bool
    """Whether all judges are simulated by name, or a simulator gave every answer so far."""
    experiments: int
    first_draws: int
    """Experiments without further draws of their rubrics."""
    windows: Sequence[WindowLine]
    workflows: Sequence[WorkflowStatus]
    providers: Sequence[Activity]
    lowered_limits: Sequence[LoweredLimit]
    spent: Spent
    failures: Sequence[StoredFailures]
    """Kept as failed, to be asked again by `judge-gym sweep retry`."""
    empty: Sequence[EmptyAnswers]
    """Answers without text among these failures, by judge."""
    unread: Sequence[TruncatedPrompts]
    """Prompts that providers did not read to the end."""
    refusals: Sequence[RefusedModel]
    """Failed for a reason that their whole model shares; asked again by the next run."""
    refused_rubrics: Sequence[RefusedRubric]
    """Rubrics that a person has read and refused: their experiments are not scored."""
    unknown: UnknownOutcomes
    """Left by killed runs."""
    expected: Expected
    analysed: bool
    """Whether there are figures of all its judgements and probes."""
    last_run: LastRun | None
    """The newest run of the whole sweep; None before the first."""

    @property
    def experiments_text(self) -> str:
        """How many experiments there are, and with all draws of their rubrics where these vary."""
        return experiments_in_words(self.first_draws, self.experiments)

    @property
    def cost_in_words(self) -> str:
        """The cost so far: "0.0123 USD, and 2 calls of unknown price"."""
        if self.simulated:
            return cost_in_words(0.0, self.unknown.calls, simulated=True)
        # Budgets count a sending that its run has left once it is known that none will answer.
        at_most_usd = 0.0 if self.left_open else self.spent.at_most_usd
        return cost_in_words(self.spent.cost_usd, self.unknown_costs, at_most_usd)

    @property
    def left_open(self) -> int:
        """Calls whose run ended before their answer and that were not sent again."""
        return self.unknown.calls - self.unknown.sent_again

    @property
    def unknown_costs(self) -> int:
        """Requests of unknown cost: the cost so far is a lower bound where there are some."""
        return self.spent.unpriced + self.unknown.open_costs

    @property
    def finished(self) -> bool:
        """Whether every workflow is complete, failures on record included."""
        return all(_is_over(part.state) for part in self.workflows)

    @property
    def lost(self) -> bool:
        """Whether the process of the newest run ended without storing why."""
        run = self.last_run
        return run is not None and run.ended_at is None and not (self.in_progress or self.finished)

    @property
    def state(self) -> str:
        """finished, in progress, analysis pending, waiting for batches, not started, cancelled.

        Otherwise it is stopped.
        """
        if self.finished and self.analysed:
            return "finished"
        if self.in_progress:
            return "in progress"
        if self.finished:
            return "analysis pending"
        if any(part.wait_in_batches for part in self.workflows):
            return "waiting for batches"
        if not self.spent.calls and not any(part.done for part in self.workflows):
            return "not started"
        return "cancelled" if self.cancelled else "stopped"


def sweep_status(session: Session, sweep: str, now: datetime | None = None) -> Status:
    """Return how far a stored sweep is; raises `StoreError` when there is none of this name."""
    now = now or datetime.now(UTC)
    experiments = experiments_of_sweep(session, sweep)
    scope = spending_scope(session, sweep)
    by_experiment = experiment_progress(session, list(experiments), sweep)
    progress = summed_progress(session, by_experiment, sweep)
    in_batches = waiting(session, scope)
    # What these sums do not count is not looked for: each search reads every call once more.
    usage = spent(session, scope)
    ended_lately = usage.last_ended is not None and usage.last_ended > now - RECENT
    lately = activity(session, scope, now) if usage.in_flight or ended_lately else []
    selection = Selection(list(experiments), sweep=sweep)
    kept = kept_failures(session, selection)
    refused = refusals(session, scope) if usage.refused else []
    # Calls tell of runs of single workflows, since other names can share their locks.
    locks = {"experiments": [experiment.tag for experiment in experiments.values()]}
    at_work = is_in_progress(session, sweep) or (bool(lately) and is_locked(session, locks))
    if not at_work:  # calls of a killed run are still stored as sent
        lately = [replace(part, in_flight=0) for part in lately if part.ended]
    critic = critic_of_sweep(session, sweep)
    models = {key: experiment.model for key, experiment in experiments.items()}
    left = _left_by_provider(by_experiment, models, critic.model if critic else "")
    enough = sum(rate.ended for rate in lately) >= ENOUGH
    at = paces(session, scope, now) if enough else {}
    end = expected(progress, left, at, lately, sum(in_batches.values()), now)
    if not at_work and end.at is not None:
        end = replace(end, at=None, why="no run is in progress")
    return Status(
        sweep=sweep,
        at=now,
        in_progress=at_work,
        cancelled=usage.cancelled,
        simulated=all(map(is_simulated_model, models.values())) or usage.simulated,
        experiments=len(experiments),
        first_draws=sum(not experiment.rubric_draw for experiment in experiments.values()),
        windows=window_lines(session, experiment_ids=list(experiments)),
        workflows=_workflows(
            progress, _failures(progress, kept, refused), in_batches, at_work=at_work
        ),
        providers=lately,
        lowered_limits=lowered_limits(session, [rate.provider for rate in lately], now),
        spent=usage,
        failures=kept,
        empty=empty_answers(session, selection),
        unread=unread_prompts(session, calls_of(scope)) if usage.unread else [],
        refusals=refused,
        refused_rubrics=refused_rubrics(session, list(experiments)),
        unknown=_unknown(
            [
                *([] if at_work else sent_calls(session, scope, again=False)),
                *(sent_calls(session, scope, again=True) if usage.sent_again else []),
            ]
        ),
        expected=end,
        analysed=is_analysed(session, sweep),
        last_run=last_run(session, sweep),
    )


def _failures(
    progress: Mapping[str, WorkflowProgress],
    kept: Sequence[StoredFailures],
    refused: Sequence[RefusedModel],
) -> Counter[str]:
    """Return workflow → all failures of it that are listed."""
    failed = Counter({name: part.failed for name, part in progress.items()})
    failed |= _summed((failures.workflow, failures.count) for failures in kept)
    return failed + _summed((line.workflow, line.calls) for line in refused)


def _workflows(
    progress: Mapping[str, WorkflowProgress],
    failed: Mapping[str, int],
    in_batches: Mapping[str, int],
    *,
    at_work: bool,
) -> list[WorkflowStatus]:
    return [
        WorkflowStatus(
            name,
            _state(part.state, at_work=at_work, waits=bool(in_batches.get(name))),
            part.done,
            part.total,
            failed.get(name, 0),
            part.refused,
            in_batches.get(name, 0),
        )
        for name, part in progress.items()
    ]


def failed_work(session: Session, sweep: str, parts: Sequence[str] | None = None) -> str:
    """List a sweep's work that is stored as failed, of some parts or of all; empty without any.

    Returns "w3-scoring 4 (server), w5-probe 1 (timeout)".
    """
    experiments = experiments_of_sweep(session, sweep)
    return ", ".join(
        f"{failures.workflow} {failures.count:,} ({failures.failure})"
        for failures in kept_failures(session, Selection(list(experiments), sweep=sweep))
        if parts is None or failures.workflow in parts
    )


def progress_of(engine: Engine, sweep: str) -> dict[str, WorkflowProgress] | None:
    """Return the progress of a sweep's workflows; None while it is not stored yet."""
    with Session(engine) as session:
        try:
            experiments = experiments_of_sweep(session, sweep)
        except StoreError:
            return None
        return sweep_progress(session, list(experiments), sweep)


Left = Mapping[str, Mapping[str, int]]
"""Workflow → provider → calls left."""


def _left_by_provider(
    by_experiment: Mapping[int, Mapping[str, WorkflowProgress]],
    models: Mapping[int, str],
    critic: str,
) -> Left:
    """Return what is left of W3 to W6; the model of the critic makes all of W6."""
    left: dict[str, Counter[str]] = defaultdict(Counter)
    for experiment, parts in by_experiment.items():
        for workflow, part in parts.items():
            model = critic if workflow == CRITIC else models[experiment]
            missing = max(0, (part.total or 0) - part.done)
            left[workflow][model.partition("/")[0]] += missing
    return left


def expected(
    progress: Mapping[str, WorkflowProgress],
    by_provider: Left,
    paces: Mapping[str, float],
    lately: Sequence[Activity],
    in_batches: int,
    now: datetime,
) -> Expected:
    """Return when the work will be done, if it goes on at the pace of the last minutes.

    Providers work at once and workflows one after the other, so the slowest provider decides how
    long a workflow takes. `paces` are calls a minute.
    """
    left = sum(max(0, (part.total or 0) - part.done) for part in progress.values())
    at_least = any(
        not _is_over(part.state) for name, part in progress.items() if name != PROBE
    ) or any(part.total is None for part in progress.values())
    if not left and not at_least:
        return Expected(None, 0, False, "no calls are left")
    if in_batches:
        return Expected(None, left, at_least, f"in batches: {counted(in_batches, 'call')}")
    if sum(rate.ended for rate in lately) < ENOUGH:
        return Expected(None, left, at_least, "too few calls ended lately to tell")
    minutes = 0.0
    for workflow, part in progress.items():
        missing = by_provider.get(workflow)
        if missing is None:  # evidence and rubrics, which are few, by whatever provider
            missing_here = max(0, (part.total or 0) - part.done)
            minutes += missing_here / sum(rate.per_minute for rate in lately)
            continue
        if unknown := [name for name, calls in missing.items() if calls and name not in paces]:
            few = f"too few calls to {' and '.join(sorted(unknown))} ended to tell"
            return Expected(None, left, at_least, few)
        minutes += max((calls / paces[name] for name, calls in missing.items() if calls), default=0)
    return Expected(now + timedelta(minutes=minutes), left, at_least, HOW_ESTIMATED)


def _unknown(calls: Sequence[SentCall]) -> UnknownOutcomes:
    """Return what these calls can have cost at most: the prompt and the longest answer.

    Four characters a token, as budgets count.
    """
    if not calls:
        return UnknownOutcomes(0, 0, 0.0, 0)
    providers = load_providers(settings().providers_file)
    cost, unpriced, open_costs = 0.0, 0, 0
    for call in calls:
        known = call.model.partition("/")[0] in providers.by_name
        price = price_of(providers, call.model) if known else None
        at_most = price and price.cost_usd(call.characters / 4, call.output_limit)
        unpriced += at_most is None
        cost += at_most or 0.0
        open_costs += at_most != 0 and not call.again
    again = sum(call.again for call in calls)
    return UnknownOutcomes(len(calls), again, cost, unpriced, open_costs)


def _state(state: str, *, at_work: bool, waits: bool) -> str:
    if state != "running" or at_work:
        return state
    return "waiting" if waits else "stopped"


def _summed(counts: Iterable[tuple[str, int]]) -> Counter[str]:
    summed: Counter[str] = Counter()
    for workflow, count in counts:
        summed[workflow] += count
    return summed


def _is_over(state: str) -> bool:
    return state in ("complete", "complete with failures", "nothing to do")
