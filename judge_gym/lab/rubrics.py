"""W2: every rubric that experiments need, written once, validated, and rated by a critic."""

from collections.abc import Collection, Iterable
from dataclasses import asdict
from functools import partial
from typing import Any

from sqlalchemy.orm import Session

from judge_gym.design.experiment import Experiment, family_of
from judge_gym.design.rubric import Rubric
from judge_gym.design.strategies import resolve
from judge_gym.design.strategies.rubrics import Rubrics
from judge_gym.questions.critic import NoQuality, Quality, critic_prompt, read_quality
from judge_gym.questions.rubricer import (
    ASKED_AGAIN,
    Faults,
    RubricRequest,
    read_rubric,
    rubric_again_prompt,
    rubric_prompt,
)
from judge_gym.records.calls import Answer, Call, Failure, Parameters, Row, is_simulated
from judge_gym.runtime import Runtime
from judge_gym.seeds import derive_seed
from judge_gym.settings import Settings
from judge_gym.store import rubrics as store
from judge_gym.store import tables as t

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
    )


def requests_of(experiments: Iterable[Experiment], *, sham: bool = False) -> list[RubricRequest]:
    """Return the distinct rubrics that models write for these experiments.

    `sham` asks for the second rubric of each judge that writes its own: the same prompt, drawn at
    the temperature at which it judges.
    """
    requests: dict[str, RubricRequest] = {}
    for experiment in experiments:
        owner = resolve(experiment).of(Rubrics).owner
        if owner and not (sham and experiment.rubric.kind != "own"):
            request = _request(experiment, owner, store.SHAM if sham else 0)
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
    requests = {request_key(one): one for one in requests_of(experiments, sham=sham)}
    existing = store.rubric_ids(session, requests)
    return [request for key, request in requests.items() if key not in existing]


async def write_rubric(runtime: Runtime, request: RubricRequest, critic_model: str) -> str:
    """Have a rubric written and rated; returns its status: ready, refused or failed.

    A rubric with faults is asked for again, with the faults, at most twice; then it is a failed
    rubric, never a mended or truncated one.
    """
    key = request_key(request)
    prompt = rubric_prompt(request)
    for attempt in range(ASKED_AGAIN + 1):
        last = attempt == ASKED_AGAIN
        call = _call(
            f"rubric/{key}/{attempt}", "rubricer", request.owner_model, prompt, request.temperature
        )
        call_id, outcome = await runtime.gateway.ask(
            call, partial(_failed_rows, request, call, last)
        )
        read = read_rubric(request, outcome)
        if isinstance(read, Rubric):
            by = _by(call, call_id, outcome)
            return await _rate(runtime, request, read, {**by, "critic_model": critic_model})
        if read.final or last:
            break
        assert isinstance(outcome, Answer)  # a failure is final
        prompt = rubric_again_prompt(prompt.messages, outcome.text, read)
    return "failed"


def _failed_rows(
    request: RubricRequest, call: Call, last: bool, call_id: int, outcome: Answer | Failure
) -> list[Row]:
    """Return the row of a rubric that failed for good; none while it may still be mended."""
    read = read_rubric(request, outcome)
    if isinstance(read, Rubric) or not (read.final or last):
        return []
    return [Row(t.Rubric, {**_failed(request, read), **_by(call, call_id, outcome)})]


def _by(call: Call, call_id: int, outcome: Answer | Failure) -> dict[str, Any]:
    return {"call_id": call_id, "simulated": is_simulated(call, outcome)}


async def _rate(
    runtime: Runtime, request: RubricRequest, rubric: Rubric, by: dict[str, Any]
) -> str:
    key = f"critic/{request_key(request)}"
    prompt = critic_prompt(rubric, request.concept, request.country, key)

    def rated(outcome: Answer | Failure) -> dict[str, Any]:
        return _rated(runtime.settings, request, rubric, read_quality(outcome))

    def rows(_: int, outcome: Answer | Failure) -> list[Row]:
        return [Row(t.Rubric, {**rated(outcome), **by})]

    _, outcome = await runtime.gateway.ask(_call(key, "critic", by["critic_model"], prompt), rows)
    status: str = rated(outcome)["status"]
    return status


def _request(experiment: Experiment, owner: str, variant: int) -> RubricRequest:
    own = owner == experiment.model
    return RubricRequest(
        owner_model=owner,
        owner_family=experiment.family if own else family_of(owner),
        concept=experiment.concept,
        country=experiment.country,
        scale_size=experiment.scale_size,
        variant=variant,
        temperature=experiment.temperature if variant == store.SHAM else 0.0,
    )


def _call(key: str, agent: str, model: str, prompt: Any, temperature: float = 0.0) -> Call:
    # Rubrics and marks are instruments, not measurements: no sampling noise but in a sham, which
    # shows what that noise alone does.
    parameters = Parameters(
        temperature=temperature,
        top_p=1,
        max_tokens=LONGEST_ANSWER,
        seed=derive_seed("call", key),
        json_answer=True,
    )
    return Call(key, "w2-rubric", agent, model, prompt, parameters)


def _of(request: RubricRequest) -> dict[str, Any]:
    """Return the columns of a rubric that say which it is."""
    columns = asdict(request)
    del columns["temperature"]  # in the parameters of its call
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
