"""The plan of a sweep before it runs: calls per workflow, their estimated use, and calls done."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy.orm import Session

from judge_gym.asking.estimating import Estimate, PerCall, assumptions, estimate, per_call
from judge_gym.design.experiment import Experiment
from judge_gym.design.plans import MostDivergent, SwapPlan
from judge_gym.design.strategies import resolve
from judge_gym.design.strategies.bundling import Bundling
from judge_gym.design.strategies.sampling import Sampling
from judge_gym.design.sweep import Sweep
from judge_gym.lab.evidence import AGENTS, longest_answer, views_needed
from judge_gym.lab.examples import Examples, Subject, ViewRequest
from judge_gym.lab.rubrics import LONGEST_ANSWER, request_key, requests_of
from judge_gym.lab.sweeps import unapplied, utility_model
from judge_gym.llm.capabilities import taken_by
from judge_gym.llm.providers import Providers
from judge_gym.settings import Settings, settings
from judge_gym.store.calls import past_answers
from judge_gym.store.progress import judgements_by_model
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
    whole: Estimate
    """The estimated use of all calls, done or not."""
    left: Estimate
    """The estimated use of the calls left."""

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
    """Parameters that models will not apply; sentences."""
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

    @property
    def line(self) -> tuple[str, str, str]:
        return self.workflow, self.what, self.model.partition("/")[0]


@dataclass
class _Amount:
    at_most: int = 0
    done: int = 0
    subjects: list[Subject] = field(default_factory=list)
    longest_answer: int = 0

    @property
    def to_do(self) -> int:
        return max(0, self.at_most - self.done)

    def add(self, count: int, subject: Subject, longest: int) -> None:
        self.at_most += count
        self.subjects.append(subject)
        self.longest_answer = max(self.longest_answer, longest)


_Amounts = dict[_Kind, _Amount]


def plan_sweep(session: Session, sweep: Sweep, providers: Providers) -> Plan:
    """Return the sweep's calls at most, their estimated use, and how many are done.

    A call is done if its row is stored, whatever the outcome: stored failures count, and so do
    samples whose call was cleaned away. A window that is not collected yet counts as full, and
    every judgement counts as scored.
    """
    configured = settings()
    experiments = list(sweep.experiments())
    utility = utility_model(configured, sweep, experiments)
    documents = _documents(session, experiments)
    amounts = {
        **_views(session, experiments, documents, utility),
        **_rubrics(session, experiments, sweep.swap, utility),
        **_judgements(session, experiments, sweep.swap, documents),
    }
    past = past_answers(session, {kind.model for kind in amounts})
    examples = Examples(session, configured.summary_words)
    each = {
        kind: per_call(
            providers,
            kind.model,
            kind.agent,
            examples.of(kind.agent, amount.subjects),
            amount.longest_answer,
            past,
        )
        for kind, amount in amounts.items()
    }
    return Plan(
        lines=list(_lines(configured, providers, amounts, each)),
        unpriced=sorted({kind.model for kind in amounts if each[kind].price is None}),
        unapplied=unapplied(providers, experiments, utility),
        assumptions=assumptions(
            [(kind.model, kind.agent) for kind in amounts],
            past,
            thinking={
                kind.model: taken_by(providers, kind.model).thinking_tokens for kind in amounts
            },
            stood_in=examples.stood_in,
        ),
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
        provider = providers.by_name[line[2]]
        yield PlanLine(
            *line,
            at_most=sum(amount.at_most for amount, _ in chosen),
            done=sum(amount.done for amount, _ in chosen),
            whole=estimate(configured, provider, [(one.at_most, per) for one, per in chosen]),
            left=estimate(configured, provider, [(one.to_do, per) for one, per in chosen]),
        )


def swapped_arms(experiments: Sequence[Experiment], plan: SwapPlan | None) -> Mapping[str, int]:
    """Return experiment key → how many swap and sham arms it gets at most."""
    arms: dict[str, int] = defaultdict(int)
    if plan is None:
        return arms
    own = [one for one in experiments if one.rubric.kind == "own"]
    groups: dict[str, list[Experiment]] = defaultdict(list)
    for one in own:
        groups[one.peers_key].append(one)
    for group in groups.values():
        for one in group:
            if isinstance(plan.pairs, MostDivergent):
                rivals = min(len(group) - 1, plan.pairs.most_divergent)
            elif plan.pairs == "all":
                rivals = len(group) - 1
            else:
                rivals = sum(judge in (one.model, one.family) for judge, _ in plan.pairs)
            arms[one.key] = rivals + plan.sham
    return arms


def _documents(session: Session, experiments: Sequence[Experiment]) -> dict[str, int]:
    limits = {one.window.key: one.window.max_documents for one in experiments}
    return {**limits, **collected_documents(session, limits)}


def _views(
    session: Session,
    experiments: Sequence[Experiment],
    documents: Mapping[str, int],
    utility: str,
) -> _Amounts:
    by_window: dict[str, list[Experiment]] = defaultdict(list)
    for one in experiments:
        by_window[one.window.key].append(one)
    amounts: _Amounts = defaultdict(_Amount)
    for key, group in by_window.items():
        for view in views_needed(group):
            if view == "cleaned" and settings().cleaner == "library":
                continue
            amount = amounts[_Kind("w1-evidence", "views", AGENTS[view], utility)]
            longest = longest_answer(view, settings().summary_words)
            amount.add(documents[key], ViewRequest(key, view), longest)
            amount.done += count_views(session, key, view)
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
_ORDER = {
    what: place
    for place, what in enumerate(
        ("views", "rubrics", "marks", *(what for what, _ in _JUDGING.values()))
    )
}


def _judgements(
    session: Session,
    experiments: Sequence[Experiment],
    plan: SwapPlan | None,
    documents: Mapping[str, int],
) -> _Amounts:
    swaps = swapped_arms(experiments, plan)
    amounts: _Amounts = defaultdict(_Amount)
    for experiment in experiments:
        strategies = resolve(experiment)
        items = documents[experiment.window.key] // strategies.of(Bundling).size
        own = items * experiment.replicates
        swapped = own * swaps[experiment.key]
        # One sample in ten is probed twice.
        counts = (own, swapped, round((own + swapped) * 1.1))
        longest = strategies.of(Sampling).max_tokens
        for (workflow, (what, agent)), count in zip(_JUDGING.items(), counts, strict=True):
            if count:
                kind = _Kind(workflow, what, agent, experiment.model, experiment.scale_size)
                amounts[kind].add(count, experiment, longest)
    done = judgements_by_model(session, [one.key for one in experiments])
    for kind, amount in amounts.items():
        amount.done = done.get((kind.workflow, kind.model, kind.scale_size), 0)
    return amounts
