"""Estimates of calls, tokens and cost for judging and perturbing items, before any call."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from judge_gym.asking.budgeting import plan_warnings, spender_of
from judge_gym.asking.estimating import UsageEstimate, estimate, per_call
from judge_gym.judges import Judge, ModelJudge, RoutedJudge
from judge_gym.judges.calibrating import perturbing
from judge_gym.judges.calibrating.judging import Asked
from judge_gym.judges.calibrating.texts import Rewriting
from judge_gym.judges.delegated import DelegatedJudge
from judge_gym.judges.judging import AGENT
from judge_gym.judges.own_judges import HttpJudge
from judge_gym.llm.capabilities import taken_by, unsupported
from judge_gym.llm.keys import refusals
from judge_gym.llm.providers import Providers
from judge_gym.questions.perturber import longest_answer, perturb_prompt
from judge_gym.records.calls import Parameters
from judge_gym.records.items import distinct
from judge_gym.settings import Settings
from judge_gym.store.calls import past_answers
from judge_gym.store.judges import judged_times

_EXAMPLES = 20
"""How many items' prompts are rendered for an estimate, spread over all items to judge."""


@dataclass(frozen=True)
class JudgePlan:
    """One judge's judgements and their estimated use; `used` is None where it is not known.

    `calls` is the minimum: an unparseable answer is retried once.
    """

    judge: Judge
    done: int
    to_do: int
    calls: int
    used: UsageEstimate | None
    unapplied: tuple[str, ...] = ()
    """Its parameters that the model will not apply; sentences."""
    condition: str = ""
    """When it is asked, after its name; then its figures are the most that it may use."""


def plan_judging(
    session: Session,
    providers: Providers,
    settings: Settings,
    judgings: Sequence[Asked],
) -> list[JudgePlan]:
    """Return each judge's missing judgements and their estimated use; writes nothing.

    A judge of judges has a plan for each that answers for it, but none that stands there before.
    """
    plans, seen = [], set()
    for judge, condition, judging in _answering(judgings):
        items, repeats = distinct(judging.items), judging.repeats
        same = (judge.key, repeats, judging.review_day, tuple(item.key for item in items))
        if same in seen:
            continue
        seen.add(same)
        times = judged_times(session, judge.record, items, repeats, judging.review_day)
        left = [item for item in items if times.get(item.key, 0) < repeats]
        done = sum(times.values())
        to_do = len(items) * repeats - done
        calls, used = to_do, None
        unapplied: tuple[str, ...] = ()
        if isinstance(judge, DelegatedJudge):
            calls = to_do * judge.calls_per_item
            used = judge.estimated(session, providers, settings, left or items, to_do)
        if isinstance(judge, ModelJudge):
            examples = (left or items)[:: max(1, len(left) // _EXAMPLES)]
            prompts = [prompt for item in examples for prompt in judge.prompts(item, judge.key)]
            calls = to_do * len(prompts) // len(examples)
            past = past_answers(session, [judge.model])
            each = per_call(providers, judge.model, AGENT, prompts, judge.max_tokens, past)
            used = estimate(settings, providers.of(judge.model), [(calls, each)])
            asked = Parameters(judge.temperature, judge.top_p, judge.max_tokens, seed=0).asked()
            taken = taken_by(providers, judge.model)
            unapplied = tuple(map(str, unsupported(judge.model, [asked], taken)))
        plans.append(JudgePlan(judge, done, to_do, calls, used, unapplied, condition))
    return plans


def judging_warnings(
    session: Session, providers: Providers, plans: Sequence[JudgePlan]
) -> list[str]:
    """Return what keeps a run from making the calls of plans, or some of them; each once."""
    warnings: list[str] = []
    for plan in plans:
        judge, cost_usd = plan.judge, plan.used.cost_usd if plan.used else None
        if isinstance(judge, ModelJudge):
            spender = spender_of(judge)
            warnings += plan_warnings(session, providers, spender, plan.calls, cost_usd)
        elif plan.calls and isinstance(judge, HttpJudge):
            warnings += judge.refusals()
        elif plan.calls:
            warnings += refusals(providers, judge.models)
    return list(dict.fromkeys(warnings))


def _answering(judgings: Sequence[Asked]) -> Iterator[tuple[Judge, str, Asked]]:
    """Yield each judge that answers, when it is asked, and what it is to judge."""
    for judging in judgings:
        waiting: list[tuple[Judge, str]] = [(judging.judge, "")]
        while waiting:
            judge, condition = waiting.pop(0)
            of = condition or f", for {judge.name}"
            if not judge.made_of:
                yield judge, condition, judging
            elif isinstance(judge, RoutedJudge):
                first, second = judge.members
                waiting += [(first, of), (second, f"{of}, where {first.name} is in doubt")]
            else:
                waiting += [(member, of) for member in judge.made_of]


def plan_perturbing(
    session: Session, providers: Providers, settings: Settings, wanted: Sequence[Rewriting]
) -> tuple[int, UsageEstimate]:
    """Return how many of these texts are not perturbed yet, and the estimated use.

    `wanted` is not empty. Writes nothing. An unusable answer is retried once.
    """
    left, model = perturbing.missing(session, wanted), wanted[0].model
    examples = (left or wanted)[:: max(1, len(left) // _EXAMPLES)]
    prompts = [
        perturb_prompt(rewriting.text, rewriting.description, rewriting.severity, "")
        for rewriting in examples
    ]
    longest = max(longest_answer(rewriting.text) for rewriting in examples)
    past = past_answers(session, [model])
    each = per_call(providers, model, perturbing.AGENT, prompts, longest, past)
    return len(left), estimate(settings, providers.of(model), [(len(left), each)])
