"""How many calls of each kind a sweep makes, and what they use at most."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy.orm import Session

from judge_gym.design.experiment import Effort, Experiment
from judge_gym.design.names import CRITIC, PROBE, SCORING, SWAP
from judge_gym.design.plans import MostDivergent, SwapPlan
from judge_gym.design.strategies import resolve
from judge_gym.design.strategies.bundling import Bundling
from judge_gym.design.strategies.sampling import Sampling
from judge_gym.design.sweep import Alike, Sweep
from judge_gym.lab import score_critics
from judge_gym.lab.bounds import PromptBounds, second_probes
from judge_gym.lab.embedding import plans_to_embed
from judge_gym.lab.evidence import (
    AGENTS,
    edited_views,
    longest_answer,
    recipes_of_views,
)
from judge_gym.lab.examples import Subject, ViewRequest
from judge_gym.lab.rubrics import LONGEST_ANSWER, request_key, requests_of
from judge_gym.questions.score_critic import score_critic
from judge_gym.records.calls import EMBEDDER
from judge_gym.settings import settings
from judge_gym.store.embeddings import (
    count_embeddings,
    rubric_texts_compared,
    rubric_texts_to_embed,
)
from judge_gym.store.progress import (
    SampleProgress,
    judgements_by_kind,
    marks_by,
    samples_and_probes,
)
from judge_gym.store.recipes import Identity
from judge_gym.store.rubrics import rubric_ids
from judge_gym.store.windows import count_views


@dataclass(frozen=True)
class Kind:
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


REQUESTS_A_CALL = 2
"""Answered requests of a call at most: the gateway asks once more for an empty or cut answer."""


@dataclass
class Amount:
    calls: int = 0
    done: int = 0
    subjects: list[Subject] = field(default_factory=list)
    longest_answers: float = 0
    """The longest answers of all calls together, in tokens."""
    failed: int = 0
    at_most: int = 0
    most_prompts: float = 0
    """Tokens of the prompts of `at_most` requests, at most; and of their answers."""
    most_answers: float = 0

    @property
    def to_do(self) -> int:
        return max(0, self.calls - self.done)

    def add(self, count: int, subject: Subject, longest: int) -> None:
        """Add calls with answers of at most `longest` tokens, without room for thinking."""
        self.calls += count
        self.subjects.append(subject)
        self.longest_answers += count * longest

    def bound(self, calls: int, prompt: float, answer_limit: float) -> None:
        """Add as many calls at most, with their tokens at most."""
        requests = REQUESTS_A_CALL * calls
        self.at_most += requests
        self.most_prompts += requests * prompt
        self.most_answers += requests * answer_limit

    @property
    def longest(self) -> tuple[float, float]:
        """Tokens of prompt and answer of a request, on average over `at_most`."""
        requests = max(1, self.at_most)
        return self.most_prompts / requests, self.most_answers / requests


Amounts = dict[Kind, Amount]


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


def items_of(experiment: Experiment, documents: Mapping[str, int]) -> int:
    return documents[experiment.window.key] // resolve(experiment).of(Bundling).size


def views_to_make(
    session: Session,
    experiments: Sequence[Experiment],
    documents: Mapping[str, int],
    bounds: PromptBounds,
) -> Amounts:
    utility = bounds.utility
    recipes = recipes_of_views(settings(), utility)
    by_window: dict[str, list[Experiment]] = defaultdict(list)
    for experiment in experiments:
        by_window[experiment.window.key].append(experiment)
    amounts: Amounts = defaultdict(Amount)
    for key, group in by_window.items():
        for view in edited_views(settings(), group):
            amount = amounts[Kind("w1-evidence", "views", AGENTS[view], utility)]
            longest = longest_answer(view, settings().summary_words)
            request = ViewRequest(key, view)
            amount.add(documents[key], request, longest)
            if documents[key]:
                limit = bounds.limit(utility, longest)
                amount.bound(documents[key], bounds.view(request), limit)
            amount.done += count_views(session, key, view, recipes[view])
    return amounts


def embeddings_to_make(
    session: Session,
    experiments: Sequence[Experiment],
    documents: Mapping[str, int],
    bounds: PromptBounds,
) -> Amounts:
    """One call for each text that plans of bundles compare by a model's embeddings."""
    texts = {(key, plan.view, plan.embeddings) for key, plan in plans_to_embed(experiments)}
    amounts: Amounts = defaultdict(Amount)
    for key, view, model in sorted(texts):
        amount = amounts[Kind("w1-evidence", "embeddings", EMBEDDER, model)]
        request = ViewRequest(key, view)
        amount.add(documents[key], request, 0)
        if documents[key]:
            amount.bound(documents[key], bounds.embedded(request), 0)
        amount.done += min(documents[key], count_embeddings(session, key, view, model))
    return amounts


def rubrics_to_write(
    session: Session,
    experiments: Sequence[Experiment],
    plan: SwapPlan | None,
    bounds: PromptBounds,
    embeddings: str = "",
) -> Amounts:
    """One call to write each rubric, one to rate it; a rubric with faults is written again.

    With a model of `embeddings` one for each of its texts, too: the whole, and each stage.
    """
    sham = plan is not None and plan.sham
    requests = {
        request_key(request): request
        for variant in ((False, True) if sham else (False,))
        for request in requests_of(experiments, sham=variant)
    }
    written = rubric_ids(session, requests)
    amounts: Amounts = defaultdict(Amount)
    for key, request in requests.items():
        for what, agent, model in (
            ("rubrics", "rubricer", request.owner_model),
            ("marks", "critic", bounds.utility),
        ):
            amount = amounts[Kind("w2-rubric", what, agent, model, request.scale_size)]
            amount.add(1, request, LONGEST_ANSWER)
            for prompt in bounds.rubric(agent, request):
                amount.bound(1, prompt, bounds.limit(model, LONGEST_ANSWER))
            amount.done += key in written
        if embeddings:
            amount = amounts[Kind("w2-rubric", _RUBRICS_EMBEDDED, EMBEDDER, embeddings)]
            for prompt in bounds.embedded_rubric(request):
                amount.add(1, request, 0)
                amount.bound(1, prompt, 0)
    if embeddings and requests:
        compared = rubric_texts_compared(session, requests, embeddings)
        amounts[Kind("w2-rubric", _RUBRICS_EMBEDDED, EMBEDDER, embeddings)].done = len(
            compared
        ) - len(rubric_texts_to_embed(session, requests, embeddings))
    return amounts


_RUBRICS_EMBEDDED = "embeddings of rubrics"
_JUDGING: Mapping[str, tuple[str, str]] = {
    SCORING: ("judgements", "scorer"),
    SWAP: ("swaps and shams", "scorer"),
    PROBE: ("probes", "prober"),
}
_JUDGED = (SCORING, SWAP)
_MARKS = "marks of reasoning"
ORDER = {
    what: place
    for place, what in enumerate(
        (
            "views",
            "embeddings",
            "rubrics",
            "marks",
            _RUBRICS_EMBEDDED,
            *(what for what, _ in _JUDGING.values()),
            _MARKS,
        )
    )
}


def judgements_to_make(
    session: Session,
    sweep: Sweep,
    groups: Sequence[Alike],
    documents: Mapping[str, int],
    known: Mapping[str, Identity],
    replicates: Mapping[str, int],
    bounds: PromptBounds,
) -> Amounts:
    """Count calls of groups; `replicates` are those of the stored experiments."""
    judged = samples_and_probes(session, replicates)
    amounts: Amounts = defaultdict(Amount)
    for group in groups:
        experiment = group.experiment
        own = group.count * items_of(experiment, documents) * experiment.replicates
        swapped = own * swapped_arms(group, sweep.swap)
        if not own:
            continue
        stored = judged.get(known[experiment.key].key, SampleProgress())
        to_come = max(0, own + swapped - stored.samples)
        # One sample in ten is probed twice.
        probes = stored.probes + round(to_come * 1.1)
        workflows = {SCORING: own, SWAP: swapped, PROBE: probes}
        for workflow, count in workflows.items():
            if count or workflow == PROBE:
                kind = _judging(workflow, experiment)
                amounts[kind].add(count, experiment, experiment.max_tokens)
        critic = Kind(CRITIC, _MARKS, "score_critic", sweep.score_critic)
        if sweep.score_critic:
            count = stored.scored + to_come
            amounts[critic].add(count, experiment, score_critics.LONGEST_ANSWER)
        _bound_judged(amounts, bounds, experiment, own, swapped, critic)
    _count_judged(session, amounts, replicates)
    return amounts


def _judging(workflow: str, experiment: Experiment) -> Kind:
    what, agent = _JUDGING[workflow]
    effort = resolve(experiment).of(Sampling).reasoning_effort
    return Kind(workflow, what, agent, experiment.model, experiment.scale_size, effort)


def _bound_judged(
    amounts: Amounts,
    bounds: PromptBounds,
    experiment: Experiment,
    own: int,
    swapped: int,
    critic: Kind,
) -> None:
    """Add what judgements, their probes and marks of their reasoning use at most.

    Every sample may be scored; those that are probed twice may be the longest.
    """
    answer = bounds.limit(experiment.model, experiment.max_tokens, experiment)
    amounts[_judging(SCORING, experiment)].bound(
        own, bounds.judging("scorer", experiment).mean, answer
    )
    for count, by_swap in ((own, False), (swapped, True)):
        if not count:
            continue
        if by_swap:
            scored = bounds.judging("scorer", experiment, swapped=True)
            amounts[_judging(SWAP, experiment)].bound(count, scored.mean, answer)
        probed = bounds.judging("prober", experiment, swapped=by_swap)
        probes = amounts[_judging(PROBE, experiment)]
        probes.bound(count, probed.mean, answer)
        probes.bound(second_probes(count), probed.longest, answer)
        if critic.model:
            marked = bounds.judging("score_critic", experiment, swapped=by_swap)
            limit = bounds.limit(critic.model, score_critics.LONGEST_ANSWER)
            amounts[critic].bound(count, marked.mean, limit)


def _count_judged(session: Session, amounts: Amounts, replicates: Mapping[str, int]) -> None:
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
