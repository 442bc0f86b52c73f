"""W6: have a critic mark the reasoning behind the scored samples.

Marks are columns for a sensitivity analysis. No figure leaves a sample out for its marks, unless
its name says so.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy.orm import Session

from judge_gym.asking.budgeting import Spender
from judge_gym.asking.engine import ask_all
from judge_gym.asking.questions import Outcome, Question, one_call, seed_source
from judge_gym.lab.scored import ScoredUnit, scored_units
from judge_gym.questions.score_critic import (
    ScoreMarks,
    read_marks,
    reasoning_of,
    score_critic,
    score_critic_prompt,
)
from judge_gym.records.calls import Call, Parameters
from judge_gym.records.judgements import ScoreCritic
from judge_gym.runtime import Runtime
from judge_gym.settings import Settings
from judge_gym.store.experiments import experiments_by_tag
from judge_gym.store.score_marks import save_marks, unmarked_samples

LONGEST_ANSWER = 1000
"""Tokens that the marks of one sample may have; a critic may reason before them."""
_GONE = ScoreMarks("failed", failure="the answer that it would mark was cleaned away")


def plan_marking(
    session: Session, tags: Sequence[str], critic_model: str, sweep: str | None = None
) -> dict[str, list[int]]:
    """Return the critic → the scored samples of every arm that it has not marked.

    `sweep` limits them to the replicates that its file declares.
    """
    ids = list(experiments_by_tag(session, tags))
    samples = unmarked_samples(session, ids, score_critic(critic_model), sweep)
    return {critic_model: samples} if samples else {}


async def mark_reasoning(
    runtime: Runtime,
    sample_ids: Sequence[int],
    critic_model: str,
    budget: Spender | None = None,
) -> Counter[str]:
    """Have the reasoning of these samples marked; returns how many ended in each status.

    An answer that is a verdict alone has the status `no_reasoning`, without a call.
    """
    critic = score_critic(critic_model)
    with runtime.session() as session:
        stored = scored_units(session, sample_ids)
        units = [_Unit(stored[sample_id], critic) for sample_id in sample_ids]
        without_call = [row for unit in units if (row := unit.row_without_call())]
        save_marks(session, without_call)
    questions = [
        unit.question(runtime.settings) for unit in units if unit.row_without_call() is None
    ]
    outcomes = await ask_all(runtime, questions, budget=budget)
    return outcomes.counts + Counter(row["status"] for row in without_call)


@dataclass(frozen=True)
class _Unit:
    """A sample and its critic."""

    sample: ScoredUnit
    critic: ScoreCritic

    @property
    def reasoning(self) -> str:
        return reasoning_of(self.sample.experiment, self.sample.scored)

    def row_without_call(self) -> dict[str, Any] | None:
        """Return the row of a sample that no critic can mark; None for any other."""
        if self.sample.is_gone:
            return self._row(_GONE) | {"simulated": self.sample.simulated}
        if not self.reasoning:
            return self._row(ScoreMarks("no_reasoning")) | {"simulated": self.sample.simulated}
        return None

    def question(self, settings: Settings) -> Question[None]:
        sample, critic = self.sample, self.critic
        call_key = f"score_critic/{critic.model}/{critic.template}/{sample.score_key}"
        source = seed_source(settings, call_key, "0")
        prompt = score_critic_prompt(sample.experiment, sample.scored, self.reasoning, source.key)
        # Marks are an instrument, not a measurement: no sampling noise.
        parameters = Parameters(
            temperature=0.0,
            top_p=1.0,
            max_tokens=LONGEST_ANSWER,
            seed=source.seed(critic.model, prompt),
            json_answer=True,
        )
        call = Call(
            key=call_key,
            workflow="w6-critic",
            agent="score_critic",
            model=critic.model,
            prompt=prompt,
            parameters=parameters,
            experiment_id=sample.experiment_id,
            replicate=source.replicate,
        )
        return one_call(call, "score_marks", self._read, about_simulated=sample.simulated)

    def _read(self, outcome: Outcome) -> dict[str, Any]:
        return self._row(read_marks(outcome))

    def _row(self, marks: ScoreMarks) -> dict[str, Any]:
        return {
            "sample_id": self.sample.sample_id,
            "critic_model": self.critic.model,
            "template": self.critic.template,
            **asdict(marks),
        }
