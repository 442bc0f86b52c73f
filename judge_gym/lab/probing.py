"""W5: ask each judge what share of experts would choose the verdicts it gave."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from sqlalchemy.orm import Session

from judge_gym.asking.budgeting import Spender
from judge_gym.asking.engine import ask_all
from judge_gym.asking.questions import Outcome, Question, one_call, seed_source
from judge_gym.design.strategies import resolve
from judge_gym.design.strategies.probing import Probing
from judge_gym.lab.judging import must_apply, parameters
from judge_gym.lab.scored import ScoredUnit, scored_units
from judge_gym.questions.prober import probe_prompt, read_confidence
from judge_gym.records.calls import Call
from judge_gym.runtime import Runtime
from judge_gym.settings import Settings
from judge_gym.store.experiments import experiments_by_tag
from judge_gym.store.samples import ProbeUnit, missing_probes, save_probes


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
        samples = scored_units(session, {sample_id for sample_id, _ in units})
        probes = [_Probe(samples[sample_id], replicate) for sample_id, replicate in units]
        impossible = [probe.failed() for probe in probes if probe.conversation_is_gone]
        save_probes(session, impossible)
    questions = [
        probe.question(runtime.settings) for probe in probes if not probe.conversation_is_gone
    ]
    outcomes = await ask_all(runtime, questions, budget=budget)
    return outcomes.counts + Counter(row["status"] for row in impossible)


@dataclass(frozen=True)
class _Probe:
    """A sample and which of its probes is meant."""

    sample: ScoredUnit
    replicate: int

    @property
    def conversation_is_gone(self) -> bool:
        """Whether the probe would continue a conversation that was cleaned away or pruned."""
        continues = resolve(self.sample.experiment).of(Probing).continues_conversation
        return continues and self.sample.prompt_is_gone

    def question(self, settings: Settings) -> Question[None]:
        sample = self.sample
        experiment = sample.experiment
        call_key = f"probe/{sample.score_key}/{self.replicate}"
        # Two samples may look the same, and are asked about separately all the same.
        repetition = f"{sample.replicate}/{self.replicate}"
        source = seed_source(settings, call_key, repetition)
        prompt = probe_prompt(experiment, sample.scored, source.key)
        call = Call(
            key=call_key,
            workflow="w5-probe",
            agent="prober",
            model=experiment.model,
            prompt=prompt,
            parameters=replace(
                parameters(resolve(experiment), source.seed(experiment.model, prompt)),
                logprobs=False,
            ),
            experiment_id=sample.experiment_id,
            replicate=repetition,
            must_apply=must_apply(marked=sample.marked),
        )
        return one_call(call, "probes", self._read, about_simulated=sample.simulated)

    def failed(self) -> dict[str, Any]:
        """Return the row of a probe that cannot be made."""
        return {
            **self._of(),
            "status": "failed",
            "failure": "the conversation that it would continue was cleaned away",
            "simulated": self.sample.simulated,
        }

    def _read(self, outcome: Outcome) -> dict[str, Any]:
        return {**self._of(), **asdict(read_confidence(outcome))}

    def _of(self) -> dict[str, Any]:
        return {"sample_id": self.sample.sample_id, "replicate": self.replicate}
