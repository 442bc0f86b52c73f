"""Judges that ask a model: what they send, and how an answer is read."""

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from judge_gym.answers.verdict import ParseFailure
from judge_gym.design.plans import Budget
from judge_gym.judges.answer_object import own_object
from judge_gym.judges.base import Judge
from judge_gym.prompts import Message, Prompt, continued, render, template_hash
from judge_gym.questions.outcome import UNPRINTED, NoAnswer, readable, unreadable
from judge_gym.records.calls import Answer, Failure
from judge_gym.records.items import Item
from judge_gym.records.judgements import LONGEST_REASON, Reading, Unfit
from judge_gym.records.shown import ShownDocument, fence_mark
from judge_gym.seeds import digest


class ModelJudge(Judge):
    """A model, a task, and how the model is sampled."""

    model: str = Field(min_length=3, max_length=200)
    """The model that judges, as provider/model."""
    task: str = Field(min_length=1, max_length=10_000)
    """What is judged, for whom and how, in the user's words; part of the prompt."""
    temperature: float = Field(default=1.0, ge=0, le=2)
    """0 to 2; 0 takes the likeliest answer."""
    top_p: float = Field(default=1.0, gt=0, le=1)
    """Tokens are drawn from the likeliest ones with this share of the probability."""
    max_tokens: int = Field(default=1024, ge=16, le=32_000)
    """Longest answer in tokens."""
    budget: Budget | None = None
    """What this judge may use in all; no part of its identity."""

    @property
    def answered_by(self) -> str:
        return self.model

    @property
    def asks_model(self) -> bool:
        return True

    @property
    def prompt_hash(self) -> str:
        return digest(template_hash(self.template), template_hash("judge_again"))

    @property
    def calls_per_item(self) -> int:
        """Calls for one judgement of an item; an unparseable answer is retried once."""
        return 1

    @property
    def template(self) -> str:
        """The name of its template in `judge_gym/prompts`."""
        raise NotImplementedError

    @property
    def form(self) -> str:
        """The JSON object it asks for, as the prompt shows it."""
        raise NotImplementedError

    def prompts(self, item: Item, mark_from: str) -> tuple[Prompt, ...]:
        """Render what is asked of one item, a prompt each time it is asked.

        `mark_from` is what the mark of the fences is drawn from.
        """
        return (self._prompt(item, (item.text,), mark_from),)

    def prompt_again(self, before: tuple[Message, ...], answer: str, failure: str) -> Prompt:
        """Render the request to answer once more, as the next turn of the conversation."""
        again = render("judge_again", failure=failure, form=self.form)
        return continued(before, answer, again)

    def read(self, outcome: Answer | Failure, shown: Sequence[str] = ()) -> Reading:
        """Turn an outcome into a reading; what cannot be read is never a score.

        An object that the answer repeats of the texts `shown` is not the judge's.
        """
        answer = readable(outcome)
        if isinstance(answer, NoAnswer):
            return Reading(answer.status, failure=answer.failure)
        fields = own_object(answer.text, shown)
        if isinstance(fields, ParseFailure):
            failure = unreadable(answer, fields.reason, fields.detail)
            return Reading("unparseable", failure=failure)
        try:
            return self.read_object(fields)
        except Unfit as unfit:
            return Reading("unparseable", failure=unreadable(answer, "out_of_form", str(unfit)))

    def read_object(self, fields: dict[str, Any]) -> Reading:
        """Return what the object of an answer says; raises `Unfit`."""
        raise NotImplementedError

    def combined(self, readings: tuple[Reading, ...]) -> Reading:
        """Return what the readings of one item, one for each prompt, come to."""
        return readings[0]

    def _prompt(self, item: Item, texts: tuple[str, ...], mark_from: str) -> Prompt:
        documents = [ShownDocument("", text) for text in texts]
        context = [ShownDocument("", item.context)] if item.context else []
        return render(
            self.template,
            judge=self,
            documents=documents,
            context=context,
            mark=fence_mark(mark_from, [*documents, *context]),
        )


def field_of(fields: dict[str, Any], name: str) -> Any:
    """Return a field of an answer, whatever the case of its key; raises `Unfit` without one."""
    for key, value in fields.items():
        if key.strip().lower() == name:
            return value
    raise Unfit(f"the object has no {name!r}")


def reason_of(fields: dict[str, Any]) -> str:
    """Return the reason an answer gives in one line, empty without one."""
    given = next((fields[key] for key in fields if key.strip().lower() == "reason"), "")
    return UNPRINTED.sub(" ", given)[:LONGEST_REASON] if isinstance(given, str) else ""
