"""What the calls of a candidate, or of the judge, will use."""

from collections.abc import Sequence
from dataclasses import dataclass

from judge_gym.asking.estimating import UsageEstimate, in_all
from judge_gym.judges import Judge
from judge_gym.judges.calibrating.judging import Asked
from judge_gym.judges.planning import judging_warnings, plan_judging
from judge_gym.runtime import Runtime


@dataclass(frozen=True)
class Use:
    """What somebody's calls will use: `model` is None where nobody is asked.

    It is empty for a custom judge, and may be several, as `joined`. `used` is None where nothing is
    asked, or what it takes is not known.
    """

    name: str
    model: str | None
    calls: int = 0
    used: UsageEstimate | None = None
    warnings: tuple[str, ...] = ()
    """What keeps a run from making the calls, or some of them."""


def use_of_judge(runtime: Runtime, name: str, judging: Asked) -> Use:
    """Return what judging will use, but for what is judged."""
    model = joined(models_of(judging.judge))
    if not judging.items:
        return Use(name, model)
    with runtime.session() as session:
        plans = plan_judging(session, runtime.providers, runtime.settings, [judging])
        warnings = judging_warnings(session, runtime.providers, plans)
    used = None
    if all(plan.used for plan in plans):
        used = in_all([plan.used for plan in plans if plan.used])
    return Use(name, model, sum(plan.calls for plan in plans), used, tuple(warnings))


def models_of(judge: Judge) -> tuple[str, ...]:
    """Return the models that a judge asks; none for one of one's own."""
    return tuple(dict.fromkeys(model for leaf in judge.leaves for model in leaf.models))


def joined(models: Sequence[str]) -> str:
    """Return models in one line."""
    return " + ".join(models)
