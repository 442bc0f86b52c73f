"""W5: ask each judge what share of experts would choose the verdicts it gave."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from sqlalchemy.orm import Session

from judge_gym.asking.budgeting import Spender
from judge_gym.asking.engine import ask_all
from judge_gym.asking.questions import Outcome, Question, one_call, seed_source
from judge_gym.design.experiment import Experiment
from judge_gym.design.strategies import resolve
from judge_gym.design.strategies.probing import Probing
from judge_gym.lab.judging import must_apply, parameters, score_key
from judge_gym.questions.prober import ScoredSample, probe_prompt, read_confidence
from judge_gym.records.calls import Call
from judge_gym.runtime import Runtime
from judge_gym.settings import Settings
from judge_gym.store import samples as store
from judge_gym.store.experiments import (
    experiments_by_id,
    experiments_by_tag,
    marked_experiments,
)
from judge_gym.store.rubrics import stored_rubric
from judge_gym.store.samples import ProbeUnit, missing_probes


def plan_probing(
    session: Session, tags: Sequence[str], sweep: str | None = None
) -> dict[str, list[ProbeUnit]]:
    """Return model → the probes that are missing for scored samples of every arm.

    `sweep` limits them to the replicates that its file declares.
    """
    return missing_probes(session, list(experiments_by_tag(session, tags)), sweep)


async def probe(
    runtime: Runtime, units: Sequence[ProbeUnit], budget: Spender | None = None
) -> Counter[str]:
    """Make these probes; returns how many ended in each probe status."""
    with runtime.session() as session:
        probes = _probes(session, units)
        impossible = [probe.failed() for probe in probes if probe.conversation_is_gone]
        store.save_probes(session, impossible)
    questions = [
        probe.question(runtime.settings) for probe in probes if not probe.conversation_is_gone
    ]
    outcomes = await ask_all(runtime, questions, budget=budget)
    return outcomes.counts + Counter(row["status"] for row in impossible)


@dataclass(frozen=True)
class _Probe:
    """Everything one probe needs."""

    unit: ProbeUnit
    experiment_id: int
    experiment: Experiment
    score_key: str
    scored: ScoredSample
    sample_replicate: int
    simulated: bool
    """Whether the simulator made the sample or its evidence."""
    marked: bool
    """Whether it runs although its model does not apply some of its axes."""

    @property
    def conversation_is_gone(self) -> bool:
        """Whether the probe would continue a conversation that was cleaned away."""
        continues = resolve(self.experiment).of(Probing).continues_conversation
        return continues and not self.scored.messages

    def question(self, settings: Settings) -> Question[None]:
        sample_id, replicate = self.unit
        call_key = f"probe/{self.score_key}/{replicate}"
        # Two samples may look the same, and are asked about separately all the same.
        repetition = f"{self.sample_replicate}/{replicate}"
        source = seed_source(settings, call_key, repetition)
        prompt = probe_prompt(self.experiment, self.scored, source.key)
        call = Call(
            key=call_key,
            workflow="w5-probe",
            agent="prober",
            model=self.experiment.model,
            prompt=prompt,
            parameters=replace(
                parameters(resolve(self.experiment), source.seed(self.experiment.model, prompt)),
                logprobs=False,
            ),
            experiment_id=self.experiment_id,
            replicate=repetition,
            must_apply=must_apply(marked=self.marked),
        )
        return one_call(
            call, "probes", _reader(sample_id, replicate), about_simulated=self.simulated
        )

    def failed(self) -> dict[str, Any]:
        """Return the row of a probe that cannot be made."""
        sample_id, replicate = self.unit
        return {
            "sample_id": sample_id,
            "replicate": replicate,
            "status": "failed",
            "failure": "the conversation that it would continue was cleaned away",
            "simulated": self.simulated,
        }


def _probes(session: Session, units: Sequence[ProbeUnit]) -> list[_Probe]:
    samples = store.samples_by_id(session, {sample_id for sample_id, _ in units})
    arms = store.arms_by_id(session, {sample.arm_id for sample in samples.values()})
    experiments = experiments_by_id(session, {arm.experiment_id for arm, _ in arms.values()})
    items = store.item_keys(session, {sample.item_id for sample in samples.values()})
    shown = {
        view: store.shown_documents(session, items, *view)
        for view in {experiment.view for experiment in experiments.values()}
    }
    marked = marked_experiments(session, experiments)
    probes = []
    for unit in units:
        sample = samples[unit[0]]
        arm, rubric = arms[sample.arm_id]
        experiment = experiments[arm.experiment_id]
        scored = ScoredSample(
            rubric=stored_rubric(rubric),
            documents=shown[experiment.view][sample.item_id],
            presentation=sample.presentation,
            stages=sample.stages,
            messages=sample.messages,
            answer=sample.answer,
        )
        item = items[sample.item_id]
        key = score_key(arm.experiment_key, rubric.key, arm.arm, item, sample.replicate)
        probes.append(
            _Probe(
                unit=unit,
                experiment_id=arm.experiment_id,
                experiment=experiment,
                score_key=key,
                scored=scored,
                sample_replicate=sample.replicate,
                simulated=sample.simulated,
                marked=arm.experiment_id in marked,
            )
        )
    return probes


def _reader(sample_id: int, replicate: int) -> Any:
    def read(outcome: Outcome) -> dict[str, Any]:
        confidence = asdict(read_confidence(outcome))
        return {"sample_id": sample_id, "replicate": replicate, **confidence}

    return read
