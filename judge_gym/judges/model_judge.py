"""Judges that ask a model: what they send, and how an answer is read."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

from pydantic import Field, field_validator, model_validator

from judge_gym.design.fields import Frozen, ModelName
from judge_gym.design.plans import Budget
from judge_gym.judges.answer_object import read_own
from judge_gym.judges.base import Judge
from judge_gym.prompts import Message, Prompt, continued, parts, render, template_hash
from judge_gym.questions.outcome import UNPRINTED, NoAnswer
from judge_gym.records.calls import Answer, Failure
from judge_gym.records.items import Item
from judge_gym.records.judgements import LONGEST_REASON, MalformedAnswer, Reading
from judge_gym.records.shown import ShownDocument, fence_mark
from judge_gym.seeds import digest

CANNOT_ASSESS = "cannot assess"
"""What a model answers in place of a mark, a decision or a winner."""
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_NEEDED = ("text", "answer")


class WorkedExample(Frozen):
    """A text with its right answer, shown in every prompt; a kind of judge adds the answer."""

    text: str = Field(min_length=1, max_length=50_000)
    """What was judged; of a pair the first."""
    second: str | None = Field(default=None, min_length=1, max_length=50_000)
    """The second text of a pair."""
    context: str = Field(default="", max_length=50_000)
    """What it was compared with."""
    reason: str = Field(default="", max_length=LONGEST_REASON)
    """Why the answer is right, in one or two sentences."""

    @property
    def shown(self) -> tuple[str, ...]:
        return tuple(part for part in (self.context, self.text, self.second) if part)


class ModelJudge(Judge):
    """A model, a task, and how the model is sampled."""

    model: ModelName
    """The model that judges, as provider/model."""
    task: str = Field(min_length=1, max_length=10_000)
    """What is judged, for whom and how, in the user's words; part of the prompt."""
    temperature: float = Field(default=1.0, ge=0, le=2)
    """0 to 2; 0 takes the likeliest answer."""
    top_p: float = Field(default=1.0, gt=0, le=1)
    """Tokens are drawn from the likeliest ones with this share of the probability."""
    max_tokens: int = Field(default=1024, ge=16, le=32_000)
    """Longest answer in tokens."""
    examples: tuple[WorkedExample, ...] = Field(default=(), max_length=50)
    """Worked examples with their right answers, in the order they are shown."""
    cannot_assess: bool = False
    """Whether the model may say that a text does not allow a judgement: status `cannot_assess`."""
    prompt: str | None = Field(default=None, max_length=20_000)
    """The user message in your own words. `{text}` stands for the fenced texts and `{answer}` for
    the form of the answer, both needed; `{task}`, `{criteria}` and `{examples}` for these parts."""
    budget: Budget | None = None
    """What this judge may use in all; no part of its identity."""

    @field_validator("prompt")
    @classmethod
    def _keeps_the_fence(cls, prompt: str | None) -> str | None:
        if prompt is None:
            return None
        used = _PLACEHOLDER.findall(prompt)
        if unknown := sorted(set(used) - set(cls.placeholders())):
            allowed = ", ".join(f"{{{name}}}" for name in cls.placeholders())
            raise ValueError(f"has {{{unknown[0]}}}. Use {allowed}")
        for name in _NEEDED:
            if used.count(name) != 1:
                raise ValueError(
                    f"has {{{name}}} {used.count(name)} times. Use it once: {{text}} stands for "
                    "the fenced texts, {answer} for the form of the answer"
                )
        return prompt

    @model_validator(mode="after")
    def _shows_its_examples(self) -> Self:
        if self.examples and self.prompt is not None and "{examples}" not in self.prompt:
            raise ValueError("prompt leaves out {examples}, and the judge has some. Add it")
        return self

    @classmethod
    def placeholders(cls) -> tuple[str, ...]:
        """The names in braces that `prompt` may have."""
        return ("task", "criteria", "examples", *_NEEDED)

    def answer_of(self, example: Any) -> str:
        """Return the right answer of an example as the JSON object that the prompt asks for."""
        raise NotImplementedError

    @property
    def noun(self) -> str:
        """What an answer has: a mark, a decision or a winner."""
        raise NotImplementedError

    def is_unassessable(self, given: Any) -> bool:
        """Whether an answer says that it cannot be given, where this is allowed."""
        words = str(given).strip().lower().replace("_", " ") if isinstance(given, str) else ""
        return self.cannot_assess and words == CANNOT_ASSESS

    def asked(self, index: int) -> "ModelJudge":
        """Return the judge whose form the prompt with this index asks for."""
        return self

    @property
    def answered_by(self) -> str:
        return self.model

    @property
    def models(self) -> tuple[str, ...]:
        return (self.model,)

    @property
    def asks_model(self) -> bool:
        return True

    @property
    def prompt_hash(self) -> str:
        return digest(template_hash(self.template), template_hash("judge_again"))

    @property
    def calls_per_item(self) -> int:
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
        try:
            found = read_own(outcome, shown, self.read_object)
        except MalformedAnswer as unfit:
            return Reading("unparseable", failure=str(unfit))
        return (
            Reading(found.status, failure=found.failure) if isinstance(found, NoAnswer) else found
        )

    def read_object(self, fields: dict[str, Any]) -> Reading:
        """Return what the object of an answer says; raises `MalformedAnswer`."""
        raise NotImplementedError

    def combined(self, readings: tuple[Reading, ...]) -> Reading:
        """Return what the readings of one item, one for each prompt, come to."""
        return readings[0]

    def _prompt(self, item: Item, texts: tuple[str, ...], mark_from: str) -> Prompt:
        documents = [ShownDocument("", text) for text in texts]
        context = [ShownDocument("", item.context)] if item.context else []
        worked = [ShownDocument("", text) for one in self.examples for text in one.shown]
        mark = fence_mark(mark_from, [*documents, *context, *worked])
        values = {"judge": self, "documents": documents, "context": context, "mark": mark}
        prompt = render(self.template, **values)
        if self.prompt is None:
            return prompt
        blocks = parts(
            self.template, (name for name in self.placeholders() if name != "task"), **values
        )
        given = {"task": self.task, **blocks}
        # In one pass: what a text says in braces stays as it is.
        user = _PLACEHOLDER.sub(lambda found: given[found[1]], self.prompt).strip()
        return replace(prompt, messages=(prompt.messages[0], {"role": "user", "content": user}))


def as_answer(example: WorkedExample, fields: Mapping[str, Any]) -> str:
    """Return an answer with these fields after the reason of an example, as JSON."""
    reason = {"reason": example.reason} if example.reason else {}
    return json.dumps(reason | dict(fields), ensure_ascii=False)


def field_of(fields: dict[str, Any], name: str) -> Any:
    """Return a field of an answer, whatever the case of its key.

    Raises `MalformedAnswer` without one.
    """
    for key, value in fields.items():
        if key.strip().lower() == name:
            return value
    raise MalformedAnswer(f"the object has no {name!r}")


def reason_of(fields: dict[str, Any]) -> str:
    """Return the reason an answer gives in one line, empty without one."""
    given = next((fields[key] for key in fields if key.strip().lower() == "reason"), "")
    return UNPRINTED.sub(" ", given)[:LONGEST_REASON] if isinstance(given, str) else ""
