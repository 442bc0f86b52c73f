"""W2: every rubric that experiments need, written once, validated, and rated by a critic."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy.orm import Session

from judge_gym.asking.budgeting import Spender
from judge_gym.asking.engine import ask_all
from judge_gym.asking.questions import (
    End,
    Question,
    SeedSource,
    Turn,
    Turns,
    may_retry,
    seed_source,
)
from judge_gym.design.experiment import Experiment, family_of
from judge_gym.design.rubric import Rubric
from judge_gym.design.strategies import resolve
from judge_gym.design.strategies.rubrics import Rubrics
from judge_gym.prompts import Prompt
from judge_gym.questions.critic import NoQuality, Quality, critic_prompt, read_quality
from judge_gym.questions.rubricer import (
    ASKED_AGAIN,
    Faults,
    RubricRequest,
    read_rubric,
    rubric_again_prompt,
    rubric_prompt,
)
from judge_gym.records.calls import Answer, Call, DerivedRow, Parameters
from judge_gym.runtime import Runtime
from judge_gym.settings import Settings
from judge_gym.store import rubrics as store

LONGEST_ANSWER = 4000
"""Tokens that a rubric or its marks may have."""


def request_key(request: RubricRequest) -> str:
    """Return the natural key of the rubric that `request` asks for."""
    return store.generated_key(
        request.owner_model,
        request.concept,
        request.country,
        request.scale_size,
        request.variant,
        request.temperature,
        request.recipe,
    )


def requests_of(experiments: Iterable[Experiment], *, sham: bool = False) -> list[RubricRequest]:
    """Return the distinct rubrics that models write for these experiments.

    `sham` asks for the second rubric of each judge that writes its own: the same prompt, drawn at
    the temperature at which it judges.
    """
    requests: dict[str, RubricRequest] = {}
    for experiment in experiments:
        owned = resolve(experiment).of(Rubrics)
        if owned.owner and not (sham and experiment.rubric.kind != "own"):
            request = _request(experiment, owned, sham=sham)
            requests[request_key(request)] = request
    return list(requests.values())


def missing_rubrics(
    session: Session, experiments: Collection[Experiment], *, sham: bool = False
) -> list[RubricRequest]:
    """Return the rubrics that still have to be written; stores the provided ones."""
    for experiment in experiments:
        provided = resolve(experiment).of(Rubrics).provided
        if provided is not None:
            store.save_provided(session, provided, experiment.concept, experiment.country)
    requests = {request_key(request): request for request in requests_of(experiments, sham=sham)}
    existing = store.rubric_ids(session, requests)
    return [request for key, request in requests.items() if key not in existing]


async def write_rubrics(
    runtime: Runtime,
    requests: Sequence[RubricRequest],
    critic_model: str,
    budget: Spender | None = None,
) -> Counter[str]:
    """Have rubrics written and rated; returns counts by status: ready, refused or failed.

    A rubric with faults is returned to its author with the faults, at most twice; then it is a
    failed rubric, never a mended or truncated one.
    """
    settings = runtime.settings
    questions = [_question(settings, request, critic_model) for request in requests]
    return (await ask_all(runtime, questions, budget=budget)).counts


def _question(settings: Settings, request: RubricRequest, critic_model: str) -> Question[None]:
    key = request_key(request)

    def written(attempt: int, prompt: Prompt) -> Call:
        call_key = f"rubric/{key}/{attempt}"
        # A variant is another draw of the same prompt.
        source = seed_source(settings, call_key, f"{request.variant}/{attempt}")
        owner, temperature = request.owner_model, request.temperature
        return _call(call_key, "rubricer", owner, prompt, source, temperature)

    def rated(rubric: Rubric) -> Call:
        call_key = f"critic/{key}"
        source = seed_source(settings, call_key, "0")
        prompt = critic_prompt(rubric, request.concept, request.country, source.key)
        return _call(call_key, "critic", critic_model, prompt, source)

    def then(turns: Turns) -> Call | End[None]:
        *before, last = turns
        if last.call.agent == "critic":
            author = before[-1]
            rubric = read_rubric(request, author.outcome)
            assert isinstance(rubric, Rubric)
            values = _rated(settings, request, rubric, read_quality(last.outcome))
            return _end({**values, "critic_model": critic_model}, author)
        read = read_rubric(request, last.outcome)
        if isinstance(read, Rubric):
            return rated(read)
        if read.final or not may_retry(turns, ASKED_AGAIN):
            return _end(_failed(request, read), last)
        assert isinstance(last.outcome, Answer)
        messages = last.call.prompt.messages
        return written(len(turns), rubric_again_prompt(messages, last.outcome.text, read))

    return Question((written(0, rubric_prompt(request)),), then)


def _end(values: dict[str, Any], author: Turn) -> End[None]:
    """Return the end of a rubric whose row has these values; `author` is its last draft."""
    values |= {"call_id": author.call_id, "simulated": author.is_simulated}
    return End(values["status"], (DerivedRow("rubrics", values),))


def _request(experiment: Experiment, owned: Rubrics, *, sham: bool) -> RubricRequest:
    owner = owned.owner
    own = owner == experiment.model
    return RubricRequest(
        owner_model=owner,
        owner_family=experiment.family if own else family_of(owner),
        concept=experiment.concept,
        country=experiment.country,
        scale_size=experiment.scale_size,
        variant=store.SHAM if sham else store.variant_of(owned.draw),
        temperature=experiment.temperature if sham else store.temperature_of(owned.draw),
        expertise=experiment.expertise,
        recipe=experiment.rubric_recipe,
    )


def _call(
    key: str,
    agent: str,
    model: str,
    prompt: Prompt,
    source: SeedSource,
    temperature: float = 0.0,
) -> Call:
    # Rubrics and marks are instruments, not measurements: no sampling noise but in shams and
    # further draws, which show what that noise alone does.
    parameters = Parameters(
        temperature=temperature,
        top_p=1,
        max_tokens=LONGEST_ANSWER,
        seed=source.seed(model, prompt),
        json_answer=True,
    )
    return Call(key, "w2-rubric", agent, model, prompt, parameters, replicate=source.replicate)


def _of(request: RubricRequest) -> dict[str, Any]:
    """Return the columns of a rubric that say which it is."""
    columns = asdict(request)
    # These are in its call: in the parameters, and in the hash of the template.
    del columns["temperature"], columns["expertise"]
    return {**columns, "key": request_key(request)}


def _failed(request: RubricRequest, faults: Faults) -> dict[str, Any]:
    return {
        **_of(request),
        "source": "generated",
        "status": "failed",
        "failure": "; ".join(faults.reasons)[:2000],
    }


def _rated(
    settings: Settings, request: RubricRequest, rubric: Rubric, quality: Quality | NoQuality
) -> dict[str, Any]:
    floor = settings.min_rubric_quality
    marks = quality if isinstance(quality, Quality) else None
    flagged = marks is None or min(marks.observability, marks.discriminability) < floor
    refused = flagged and settings.refuse_flagged_rubrics
    why = quality.failure if isinstance(quality, NoQuality) else f"a mark is below {floor}"
    return {
        **_of(request),
        "source": "generated",
        "status": "refused" if refused else "ready",
        "stages": [stage.model_dump(mode="json") for stage in rubric.stages],
        "reasoning": rubric.reasoning,
        "observability": marks.observability if marks else None,
        "discriminability": marks.discriminability if marks else None,
        "critic_failure": quality.failure if isinstance(quality, NoQuality) else None,
        "flagged": flagged,
        "failure": f"flagged and refused: {why}" if refused else None,
    }
