"""Small real calls that show what a model accepts: two per model, through gateway and ledger."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from judge_gym.answers.json_object import read_json_object
from judge_gym.answers.text import ParseFailure
from judge_gym.errors import JudgeGymError
from judge_gym.llm.capabilities import taken_by
from judge_gym.llm.gateway import Gateway
from judge_gym.llm.providers import Providers
from judge_gym.prompts import Prompt
from judge_gym.records.calls import Answer, Call, Failure, Parameters
from judge_gym.seeds import digest

_LONGEST_ANSWER = 64
_SCHEMA = {
    "type": "object",
    "properties": {"ready": {"type": "boolean"}},
    "required": ["ready"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Checked:
    """One call of a check and its outcome; without a call id nothing was sent."""

    call: Call
    call_id: int | None
    outcome: Answer | Failure

    @property
    def failed(self) -> bool:
        """Whether there is no answer, or none with the JSON that was asked for."""
        return isinstance(self.outcome, Failure) or self.lacks_json

    @property
    def lacks_json(self) -> bool:
        """Whether the answer lacks the JSON object that was asked for."""
        if isinstance(self.outcome, Failure) or not self.call.parameters.json_answer:
            return False
        answered = read_json_object(self.outcome.text)
        return isinstance(answered, ParseFailure) or not isinstance(answered.get("ready"), bool)


def check_calls(providers: Providers, model: str, at: datetime) -> list[Call]:
    """Return the calls that check a model: a plain answer, and one with all that it takes."""
    taken = taken_by(providers, model)
    effort = next((effort for effort in taken.efforts if effort != "none"), None)
    plain = Parameters(temperature=0, top_p=1, max_tokens=_LONGEST_ANSWER, seed=7)
    full = Parameters(
        temperature=plain.temperature if effort is None else taken.defaults.get("temperature", 1),
        top_p=plain.top_p if effort is None else taken.defaults.get("top_p", 1),
        max_tokens=_LONGEST_ANSWER,
        seed=7,
        json_answer=True,
        schema=_SCHEMA if taken.json_schema else None,
        reasoning_effort=effort,
        logprobs=taken.logprobs > 0 and (effort is None or not taken.sampling_only_at_none),
    )
    asked = (
        ("plain", plain, "Reply with the one word ready."),
        ("full", full, 'Reply with this JSON object and nothing else: {"ready": true}'),
    )
    return [
        Call(
            key=f"models-check/{model}/{at.isoformat()}/{name}",
            workflow="models-check",
            agent="checker",
            model=model,
            prompt=Prompt(({"role": "user", "content": text},), "models-check", digest(text)),
            parameters=parameters,
        )
        for name, parameters, text in asked
    ]


async def check_model(gateway: Gateway, calls: Sequence[Call]) -> list[Checked]:
    """Make the calls, one after the other; a refusal of the whole model ends them."""
    checked: list[Checked] = []
    for call in calls:
        try:
            call_id, outcome = await gateway.ask(call, lambda *_: ())
        except JudgeGymError as error:
            message = f"{error.message} {error.remedy}".strip()
            return [*checked, Checked(call, None, Failure("bad_request", message))]
        checked.append(Checked(call, call_id, outcome))
    return checked
