"""Having a model change texts: what is still to be asked, asked twice at most, and what came of it.

Every answer is checked; one that is no changed text is never judged as if it were.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from sqlalchemy.orm import Session

from judge_gym.asking.engine import all_of
from judge_gym.asking.origin import origin
from judge_gym.calibration.design import Perturber
from judge_gym.judges.base import CONCURRENCY
from judge_gym.judges.budgeting import check_price, check_spent
from judge_gym.judges.calibrating.texts import Found, Rewriting
from judge_gym.planted.editing import Made, NothingToChange, NotMade, Perturbed, differences
from judge_gym.prompts import Prompt
from judge_gym.questions.perturber import (
    Rewritten,
    Unusable,
    longest_answer,
    perturb_again_prompt,
    perturb_prompt,
    read_rewritten,
)
from judge_gym.records.calls import Answer, Call, Failure, Opened, Parameters, Row, is_simulated
from judge_gym.runtime import Runtime
from judge_gym.store import perturbed as store
from judge_gym.store import tables as t

WORKFLOW, AGENT = "perturbing", "perturber"


def missing(
    session: Session, wanted: Sequence[Rewriting], *, retry_failed: bool = False
) -> list[Rewriting]:
    """Return what has not been asked yet; with `retry_failed` what failed is forgotten first."""
    keys = [one.key for one in wanted]
    if retry_failed:
        store.forget_failures(session, keys)
    known = store.perturbed_texts(session, keys)
    return [one for one in wanted if one.key not in known]


def found(session: Session, wanted: Sequence[Rewriting]) -> dict[str, Found]:
    """Return key → what came of a rewriting, of those that have been asked."""
    rows = store.perturbed_texts(session, [one.key for one in wanted])
    originals = {one.key: one.text for one in wanted}
    return {key: Found(_made(originals[key], row), row.simulated) for key, row in rows.items()}


def expected(session: Session, wanted: Sequence[Rewriting]) -> dict[str, Found]:
    """Return what came of each, and of one not asked yet the text itself, for plans to count."""
    # With a mark of its own, or it would be taken for its original, and not be counted.
    stand_ins = {one.key: Found(Perturbed(f"{one.text} {one.key}", ())) for one in wanted}
    return stand_ins | found(session, wanted)


async def perturb(
    runtime: Runtime, perturber: Perturber, wanted: Sequence[Rewriting]
) -> Counter[str]:
    """Have the model make these; returns how many ended in each status.

    Raises `ConfigError` for a model of no provider, `BudgetPassedError` once the budget is used up.
    """
    check_price(runtime, perturber)
    ends: Counter[str] = Counter()
    # Under a budget no more is begun at once than may be in progress: it is read in between.
    size = CONCURRENCY if perturber.budget else max(1, len(wanted))
    for start in range(0, len(wanted), size):
        check_spent(runtime, perturber)
        asked = [_Asking(runtime, perturber, one) for one in wanted[start : start + size]]
        calls = [one.call for one in asked]
        opened = await runtime.gateway.open(calls)
        with runtime.gateway.chunk(calls):
            pairs = zip(asked, opened, strict=True)
            ends.update(await all_of(one.make(row) for one, row in pairs))
    return ends


class _Asking:
    """One rewriting in the making; its row is committed with the last answer."""

    def __init__(self, runtime: Runtime, perturber: Perturber, wanted: Rewriting) -> None:
        self._runtime, self._wanted = runtime, wanted
        self._key = f"perturbed/{perturber.key}/{wanted.key}"
        drawn = origin(runtime.settings, self._key, "0")
        prompt = perturb_prompt(wanted.text, wanted.description, wanted.severity, drawn.key)
        self.call = self._call("0", prompt)
        """What is asked first."""
        self._call_ids: list[int] = []
        self._simulated = wanted.simulated
        self._status = ""

    async def make(self, opened: Opened) -> str:
        """Ask, once more if need be; returns the status it ended in."""
        outcome = await self._ask(self.call, opened, last=False)
        unusable = read_rewritten(self._wanted.text, outcome)
        if isinstance(unusable, Unusable) and isinstance(outcome, Answer):
            before = self.call.prompt.messages
            again = perturb_again_prompt(before, outcome.text, unusable.reason)
            await self._ask(self._call("again", again), None, last=True)
        return self._status

    async def _ask(self, call: Call, opened: Opened | None, *, last: bool) -> Answer | Failure:
        def derive(call_id: int, outcome: Answer | Failure) -> list[Row]:
            self._call_ids.append(call_id)
            self._simulated |= is_simulated(call, outcome)
            read = read_rewritten(self._wanted.text, outcome)
            if isinstance(read, Unusable) and not last:
                return []
            if isinstance(read, Rewritten):
                return [self._row("changed", text=read.text)]
            if isinstance(read, Unusable):
                return [self._row("unusable", failure=read.reason)]
            return [self._row(read.status, failure=read.failure)]

        _, outcome = await self._runtime.gateway.ask(call, derive, opened)
        return outcome

    def _row(self, status: str, *, text: str | None = None, failure: str | None = None) -> Row:
        self._status = status
        wanted = self._wanted
        values: dict[str, Any] = {
            "key": wanted.key,
            "perturbation": wanted.perturbation,
            "severity": wanted.severity,
            "seed": wanted.seed,
            "model": wanted.model,
            "status": status,
            "text": text,
            "failure": failure,
            "call_ids": list(self._call_ids),
            "simulated": self._simulated,
        }
        return Row(t.PerturbedText, values)

    def _call(self, part: str, prompt: Prompt) -> Call:
        key, model = f"{self._key}/{part}", self._wanted.model
        drawn = origin(self._runtime.settings, key, part)
        parameters = Parameters(
            temperature=1,
            top_p=1,
            max_tokens=longest_answer(self._wanted.text),
            seed=drawn.seed(model, prompt),
        )
        return Call(key, WORKFLOW, AGENT, model, prompt, parameters, replicate=part)


def _made(original: str, row: store.StoredPerturbation) -> Made:
    if row.text is not None:
        return Perturbed(row.text, differences(original, row.text))
    why = NotMade if row.status == "failed" else NothingToChange
    return why(row.failure or row.status)
