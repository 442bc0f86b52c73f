"""What the calls of a candidate, or of the judge, will use."""

from dataclasses import dataclass

from judge_gym.asking.budgeting import budget_warning, spender_of
from judge_gym.asking.estimating import UsageEstimate
from judge_gym.judges import Judge, ModelJudge
from judge_gym.judges.calibrating.judging import Asked
from judge_gym.judges.planning import plan_judging
from judge_gym.runtime import Runtime


@dataclass(frozen=True)
class Use:
    """What somebody's calls will use: `model` is as in `Candidate.asks`.

    `used` is None where nothing is asked, or what it takes is not known.
    """

    name: str
    model: str | None
    calls: int = 0
    used: UsageEstimate | None = None
    warning: str = ""
    """What to say of a budget that will not last."""


def use_of_judge(runtime: Runtime, name: str, judging: Asked) -> Use:
    """Return what judging will use, but for what is judged."""
    if not judging.items:
        return Use(name, model_of(judging.judge))
    with runtime.session() as session:
        [plan] = plan_judging(session, runtime.providers, runtime.settings, [judging])
        warning = ""
        if isinstance(judging.judge, ModelJudge) and plan.used:
            warning = budget_warning(
                session, spender_of(judging.judge), plan.calls, plan.used.cost_usd
            )
    return Use(name, model_of(judging.judge), plan.calls, plan.used, warning)


def model_of(judge: Judge) -> str:
    """Return the model that a judge asks, empty for one of one's own."""
    return judge.model if isinstance(judge, ModelJudge) else ""
