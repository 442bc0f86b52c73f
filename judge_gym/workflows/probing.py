"""W5: ask each judge what share of experts would choose the verdicts it gave."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.agents.prober import ScoredSample, probe_prompt, read_confidence
from judge_gym.design.experiment import Experiment
from judge_gym.design.strategies import resolve
from judge_gym.llm.calls import Answer, Call, Failure
from judge_gym.runtime import Runtime
from judge_gym.store import samples as store
from judge_gym.store import tables as t
from judge_gym.store.experiments import experiments_by_id, experiments_by_tag
from judge_gym.store.rubrics import stored_rubric
from judge_gym.store.samples import ProbeUnit, missing_probes
from judge_gym.workflows.asking import Question, ask_all
from judge_gym.workflows.judging import parameters


def plan_probing(runtime: Runtime, tags: Sequence[str]) -> dict[str, list[ProbeUnit]]:
    """Return model → the probes that are missing for scored samples of every arm."""
    with runtime.session() as session:
        return missing_probes(session, list(experiments_by_tag(session, tags)))


async def probe(runtime: Runtime, units: Sequence[ProbeUnit]) -> Counter[str]:
    """Make these probes; returns how many ended in each probe status."""
    with runtime.session() as session:
        questions = _questions(session, units)
    return await ask_all(runtime.gateway, questions)


def _questions(session: Session, units: Sequence[ProbeUnit]) -> list[Question]:
    rows = session.execute(
        sa.select(t.Sample, t.Call.key, t.Call.messages, t.Call.answer)
        .outerjoin(t.Call, t.Call.id == t.Sample.call_id)
        .where(t.Sample.id.in_({sample_id for sample_id, _ in units}))
    )
    samples = {sample.id: (sample, key, messages, answer) for sample, key, messages, answer in rows}
    arms = store.arms_by_id(session, {sample.arm_id for sample, *_ in samples.values()})
    experiments = experiments_by_id(session, {arm.experiment_id for arm, _ in arms.values()})
    items = {sample.item_id for sample, *_ in samples.values()}
    shown = {
        view: store.shown_documents(session, items, view)
        for view in {experiment.evidence_view for experiment in experiments.values()}
    }
    questions = []
    for sample_id, replicate in units:
        sample, key, messages, answer = samples[sample_id]
        arm, rubric = arms[sample.arm_id]
        experiment = experiments[arm.experiment_id]
        scored = ScoredSample(
            rubric=stored_rubric(rubric),
            documents=shown[experiment.evidence_view][sample.item_id],
            presentation=store.presentation_of(sample),
            stages=sample.stages or 0,
            messages=tuple(messages or ()),
            answer=answer or "",
        )
        call_key = f"probe/{key or sample_id}/{replicate}"
        call = _call(experiment, arm.experiment_id, scored, call_key)
        questions.append(Question(call, t.Probe, _reader(sample_id, replicate)))
    return questions


def _call(experiment: Experiment, experiment_id: int, scored: ScoredSample, call_key: str) -> Call:
    return Call(
        key=call_key,
        workflow="w5-probe",
        agent="prober",
        model=experiment.model,
        prompt=probe_prompt(experiment, scored, call_key),
        parameters=parameters(resolve(experiment), call_key),
        experiment_id=experiment_id,
    )


def _reader(sample_id: int, replicate: int) -> Any:
    def read(outcome: Answer | Failure) -> dict[str, Any]:
        confidence = asdict(read_confidence(outcome))
        return {"sample_id": sample_id, "replicate": replicate, **confidence}

    return read
