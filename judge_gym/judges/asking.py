"""One judgement in the making: a model's calls, at most two for each prompt, and the row of it."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from judge_gym.asking.origin import origin
from judge_gym.judges.model_judge import ModelJudge
from judge_gym.prompts import Prompt
from judge_gym.records.calls import Answer, Call, Failure, Opened, Parameters, Row, is_simulated
from judge_gym.records.items import Item
from judge_gym.records.judgements import Reading
from judge_gym.runtime import Runtime
from judge_gym.store import tables as t

WORKFLOW, AGENT = "judging", "judge"


@dataclass(frozen=True)
class Unit:
    """One judgement that is missing."""

    item: Item
    item_id: int
    repeat: int
    occasion: str = ""
    """Why it is asked anew, such as the date of a review."""

    @property
    def turn(self) -> str:
        """What tells it from other judgements of the item by the same judge."""
        return f"{self.occasion}/{self.repeat}" if self.occasion else str(self.repeat)


class Asking:
    """Asks each prompt of a judgement in turn; the row is committed with the last answer.

    Interrupted, it is begun anew: answers that had come are in the ledger, and are not asked again.
    """

    def __init__(self, runtime: Runtime, judge: ModelJudge, judge_id: int, unit: Unit) -> None:
        self._runtime, self._judge, self._judge_id, self._unit = runtime, judge, judge_id, unit
        self._key = f"judge/{judge.key}/{unit.item.key}/{unit.turn}"
        drawn = origin(runtime.settings, self._key, unit.turn)
        prompts = judge.prompts(unit.item, drawn.key)
        self.calls = [self._call(str(order), prompt) for order, prompt in enumerate(prompts)]
        """What it asks first, a call for each prompt."""
        self._readings: list[Reading] = []
        self._call_ids: list[int] = []
        self._seconds: list[float | None] = []
        self._simulated = unit.item.simulated

    async def make(self, opened: Sequence[Opened]) -> None:
        """Ask; `opened` are the ledger rows of `calls`."""
        for order, (call, row) in enumerate(zip(self.calls, opened, strict=True)):
            last = order == len(self.calls) - 1
            reading, outcome = await self._ask(call, row, last=last, again=False)
            if reading.status == "unparseable" and isinstance(outcome, Answer):
                prompt = self._judge.prompt_again(
                    call.prompt.messages, outcome.text, reading.failure or ""
                )
                call = self._call(f"{order}/again", prompt)
                reading, _ = await self._ask(call, None, last=last, again=True)

    async def _ask(
        self, call: Call, row: Opened | None, *, last: bool, again: bool
    ) -> tuple[Reading, Answer | Failure]:
        started = time.perf_counter()
        read: list[Reading] = []

        def derive(call_id: int, outcome: Answer | Failure) -> list[Row]:
            reading = self._judge.read(outcome, self._unit.item.shown)
            read.append(reading)
            self._call_ids.append(call_id)
            self._seconds.append(_seconds(outcome, started))
            self._simulated |= is_simulated(call, outcome)
            if reading.status == "unparseable" and not again:
                return []
            self._readings.append(reading)
            return [Row(t.JudgeResult, self._values())] if last else []

        _, outcome = await self._runtime.gateway.ask(call, derive, row)
        return read[0], outcome

    def _call(self, part: str, prompt: Prompt) -> Call:
        """Return a call of this judgement; no two of them share a seed or a cached answer."""
        key, judge = f"{self._key}/{part}", self._judge
        replicate = f"{self._unit.turn}/{part}"
        drawn = origin(self._runtime.settings, key, replicate)
        parameters = Parameters(
            temperature=judge.temperature,
            top_p=judge.top_p,
            max_tokens=judge.max_tokens,
            seed=drawn.seed(judge.model, prompt),
            json_answer=True,
        )
        return Call(key, WORKFLOW, AGENT, judge.model, prompt, parameters, replicate=replicate)

    def _values(self) -> dict[str, Any]:
        known = [one for one in self._seconds if one is not None]
        return result_values(
            self._judge_id,
            self._unit,
            self._judge.combined(tuple(self._readings)),
            call_ids=self._call_ids,
            duration_s=sum(known) if len(known) == len(self._seconds) else None,
            simulated=self._simulated,
        )


def result_values(
    judge_id: int,
    unit: Unit,
    reading: Reading,
    *,
    call_ids: Sequence[int] = (),
    duration_s: float | None,
    simulated: bool,
) -> dict[str, Any]:
    """Return the row of a judgement."""
    return {
        "judge_id": judge_id,
        "item_id": unit.item_id,
        "repeat": unit.repeat,
        "occasion": unit.occasion,
        "status": reading.status,
        "score": reading.score,
        "subscores": dict(reading.subscores),
        "verdict": reading.verdict,
        "reason": reading.reason,
        "failure": reading.failure,
        "call_ids": list(call_ids),
        "duration_s": duration_s,
        "simulated": simulated,
    }


def _seconds(outcome: Answer | Failure, started: float) -> float | None:
    """Return what an answer took; a failure took from asking to giving up."""
    if isinstance(outcome, Failure):
        return time.perf_counter() - started
    return None if outcome.latency_ms is None else outcome.latency_ms / 1000
