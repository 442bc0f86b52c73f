"""Having a model change texts: what is still to be asked, asked twice at most, and what came of it.

Every answer is checked; one that is no changed text is never judged as if it were.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from sqlalchemy.orm import Session

from judge_gym.asking.budgeting import spender_of
from judge_gym.asking.engine import ask_all
from judge_gym.asking.questions import (
    End,
    Question,
    Turns,
    any_simulated,
    may_retry,
    seed_source,
)
from judge_gym.calibration.design import Perturber
from judge_gym.judges.calibrating.texts import Rewriting, RewrittenText
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
from judge_gym.records.calls import Answer, Call, DerivedRow, Parameters
from judge_gym.runtime import Runtime
from judge_gym.settings import Settings
from judge_gym.store import judges as store

WORKFLOW, AGENT = "perturbing", "perturber"


def missing(
    session: Session, wanted: Sequence[Rewriting], *, retry_failed: bool = False
) -> list[Rewriting]:
    """Return what has not been asked yet; with `retry_failed` what failed is forgotten first."""
    keys = [rewriting.key for rewriting in wanted]
    if retry_failed:
        store.forget_failed_perturbations(session, keys)
    stored = store.perturbed_texts(session, keys)
    return [rewriting for rewriting in wanted if rewriting.key not in stored]


def found(session: Session, wanted: Sequence[Rewriting]) -> dict[str, RewrittenText]:
    """Return key → what came of a rewriting, of those that have been asked."""
    rows = store.perturbed_texts(session, [rewriting.key for rewriting in wanted])
    originals = {rewriting.key: rewriting.text for rewriting in wanted}
    return {
        key: RewrittenText(_made(originals[key], row), row.simulated) for key, row in rows.items()
    }


def expected(session: Session, wanted: Sequence[Rewriting]) -> dict[str, RewrittenText]:
    """Return what came of each, and of one not asked yet the text itself, for plans to count."""
    # With a mark of its own, or it would be taken for its original, and not be counted.
    stand_ins = {
        rewriting.key: RewrittenText(Perturbed(f"{rewriting.text} {rewriting.key}", ()))
        for rewriting in wanted
    }
    return stand_ins | found(session, wanted)


async def perturb(
    runtime: Runtime, perturber: Perturber, wanted: Sequence[Rewriting], *, workers: int = 1
) -> Counter[str]:
    """Have the model make these, as one of `workers` at once.

    Returns how many ended in each status, `waiting` among them.

    Raises `ConfigError` for a model of no provider, `BudgetExceededError` once the budget is used
    up.
    """
    questions = (_question(runtime.settings, perturber, rewriting) for rewriting in wanted)
    return (await ask_all(runtime, questions, budget=spender_of(perturber, workers))).counts


def _question(settings: Settings, perturber: Perturber, wanted: Rewriting) -> Question[None]:
    key = f"perturbed/{perturber.key}/{wanted.key}"

    def call(part: str, prompt: Prompt) -> Call:
        source = seed_source(settings, f"{key}/{part}", part)
        parameters = Parameters(
            temperature=1,
            top_p=1,
            max_tokens=longest_answer(wanted.text),
            seed=source.seed(wanted.model, prompt),
        )
        return Call(
            f"{key}/{part}",
            WORKFLOW,
            AGENT,
            wanted.model,
            prompt,
            parameters,
            replicate=source.replicate,
        )

    def then(turns: Turns) -> Call | End[None]:
        last = turns[-1]
        read = read_rewritten(wanted.text, last.outcome)
        if isinstance(read, Rewritten):
            return _end(wanted, turns, "changed", text=read.text)
        if not isinstance(read, Unusable):
            return _end(wanted, turns, read.status, failure=read.failure)
        if not may_retry(turns):
            return _end(wanted, turns, "unusable", failure=read.reason)
        assert isinstance(last.outcome, Answer)
        messages, text = last.call.prompt.messages, last.outcome.text
        return call("again", perturb_again_prompt(messages, text, read.reason))

    mark_from = seed_source(settings, key, "0").key
    prompt = perturb_prompt(wanted.text, wanted.description, wanted.severity, mark_from)
    return Question((call("0", prompt),), then)


def _end(
    wanted: Rewriting,
    turns: Turns,
    status: str,
    *,
    text: str | None = None,
    failure: str | None = None,
) -> End[None]:
    """Return the end of a rewriting, with its row."""
    values: dict[str, Any] = {
        "key": wanted.key,
        "perturbation": wanted.perturbation,
        "severity": wanted.severity,
        "seed": wanted.seed,
        "model": wanted.model,
        "status": status,
        "text": text,
        "failure": failure,
        "call_ids": [turn.call_id for turn in turns],
        "simulated": wanted.simulated or any_simulated(turns),
    }
    return End(status, (DerivedRow("perturbed_texts", values),))


def _made(original: str, row: store.StoredPerturbation) -> Made:
    if row.text is not None:
        return Perturbed(row.text, differences(original, row.text))
    why = NotMade if row.status == "failed" else NothingToChange
    return why(row.failure or row.status)
