"""W3 and W4 judge alike: an arm's items, replicate by replicate, under the arm's rubric."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy.orm import Session

from judge_gym.asking.budgeting import Spender
from judge_gym.asking.engine import ask_all
from judge_gym.asking.questions import Outcome, Question, one_call, seed_source
from judge_gym.design.experiment import Experiment
from judge_gym.design.rubric import Rubric
from judge_gym.design.strategies import Strategies, resolve, sampling
from judge_gym.design.strategies.sampling import Sampling
from judge_gym.design.strategies.scoring import Scoring
from judge_gym.questions.scorer import read_judgement, scoring_prompt
from judge_gym.records.calls import Call, Parameters
from judge_gym.records.shown import Presentation, ShownDocument, present, shown_to
from judge_gym.runtime import Runtime
from judge_gym.settings import Settings
from judge_gym.store import samples as store
from judge_gym.store.experiments import experiments_by_id, marked_experiments
from judge_gym.store.rubrics import stored_rubric
from judge_gym.store.samples import SampleUnit


@dataclass(frozen=True)
class _Context:
    """Everything one judgement needs."""

    unit: SampleUnit
    arm: str
    experiment_id: int
    experiment: Experiment
    experiment_key: str
    rubric: Rubric
    rubric_key: str
    item_key: str
    documents: tuple[ShownDocument, ...]
    marked: bool
    """Whether it runs although its model does not apply some of its axes."""


async def judge(
    runtime: Runtime, units: Sequence[SampleUnit], budget: Spender | None = None
) -> Counter[str]:
    """Make these judgements; returns how many ended in each sample status."""
    with runtime.session() as session:
        contexts = _contexts(session, units)
        questions = [_question(context, runtime.settings) for context in contexts]
    return (await ask_all(runtime, questions, budget=budget)).counts


def _contexts(session: Session, units: Sequence[SampleUnit]) -> list[_Context]:
    arms = store.arms_by_id(session, {unit.arm_id for unit in units})
    experiments = experiments_by_id(session, {arm.experiment_id for arm, _ in arms.values()})
    rubrics = {rubric.id: stored_rubric(rubric) for _, rubric in arms.values()}
    keys = store.item_keys(session, {unit.item_id for unit in units})
    shown = {
        view: store.shown_documents(session, keys, *view)
        for view in {experiment.view for experiment in experiments.values()}
    }
    marked = marked_experiments(session, experiments)
    contexts = []
    for unit in units:
        arm, rubric = arms[unit.arm_id]
        experiment = experiments[arm.experiment_id]
        contexts.append(
            _Context(
                unit=unit,
                arm=arm.arm,
                experiment_id=arm.experiment_id,
                experiment=experiment,
                experiment_key=arm.experiment_key,
                rubric=rubrics[rubric.id],
                rubric_key=rubric.key,
                item_key=keys[unit.item_id],
                documents=shown_to(experiment, shown[experiment.view][unit.item_id]),
                marked=arm.experiment_id in marked,
            )
        )
    return contexts


def _question(context: _Context, settings: Settings) -> Question[None]:
    experiment = context.experiment
    sample_key = (
        context.experiment_key,
        context.rubric_key,
        context.arm,
        context.item_key,
        context.unit.replicate,
    )
    call_key = score_key(*sample_key)
    presentation = present(experiment, *sample_key)
    strategies = resolve(experiment)
    replicate = str(context.unit.replicate)
    source = seed_source(settings, call_key, replicate)
    prompt = scoring_prompt(experiment, context.rubric, context.documents, presentation, source.key)
    call = Call(
        key=call_key,
        workflow="w3-scoring" if context.arm == "own" else "w4-swap",
        agent="scorer",
        model=experiment.model,
        prompt=prompt,
        parameters=parameters(
            strategies,
            source.seed(experiment.model, prompt),
            json_answer=strategies.of(Scoring).structured,
        ),
        experiment_id=context.experiment_id,
        replicate=replicate,
        must_apply=must_apply(marked=context.marked),
    )
    return one_call(
        call,
        "samples",
        lambda outcome: _sample(context, presentation, outcome),
        about_simulated=any(document.simulated for document in context.documents),
    )


def score_key(experiment: str, rubric: str, arm: str, item: str, replicate: int) -> str:
    """Return the key of the call that makes a sample, from the sample's natural key."""
    return f"score/{experiment}/{rubric}/{arm}/{item}/{replicate}"


def must_apply(*, marked: bool) -> frozenset[str]:
    """Return the parameters without which a call of an experiment fails: its axes, or none."""
    return frozenset() if marked else frozenset(sampling.AXES)


def parameters(strategies: Strategies, seed: int, *, json_answer: bool = False) -> Parameters:
    """Return the experiment's sampling parameters with the seed of a call."""
    return Parameters(**asdict(strategies.of(Sampling)), seed=seed, json_answer=json_answer)


def _sample(context: _Context, presentation: Presentation, outcome: Outcome) -> dict[str, Any]:
    return {
        **asdict(context.unit),
        "scale_size": context.experiment.scale_size,
        "seed": presentation.seed,
        "letters": "".join(presentation.letters),
        "display_order": list(presentation.order),
        **asdict(read_judgement(context.experiment, presentation, outcome, context.documents)),
    }
