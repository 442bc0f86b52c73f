"""A call's parameters: what is asked, and what makes two requests the same."""

from judge_gym.prompts import Prompt
from judge_gym.records.calls import Call, Parameters

PROMPT = Prompt(({"role": "user", "content": "question"},), "probe", "0" * 16)
PLAIN = {"temperature": 0, "top_p": 1, "max_tokens": 50, "seed": 1}


def digest(**changes: object) -> str | None:
    parameters = Parameters(**(PLAIN | changes))  # type: ignore[arg-type]
    return Call("k", "w", "a", "real/m", PROMPT, parameters, replicate="r").request_digest


def test_parameters_at_their_defaults_are_not_asked() -> None:
    assert Parameters(0, 1, 50, 1).asked() == PLAIN
    asked = Parameters(0, 1, 50, 1, reasoning_effort="none", logprobs=True).asked()
    assert asked == PLAIN | {"reasoning_effort": "none", "logprobs": True}


def test_digests_of_earlier_versions_stay() -> None:
    """The first was computed before reasoning_effort and logprobs existed."""
    known = "0a2fa65f85f55944d2dec2c5281db30969e049f39903806defdca24756e861be"
    assert digest(json_answer=True) == known
    others = [
        digest(json_answer=True, reasoning_effort="low"),
        digest(json_answer=True, logprobs=True),
    ]
    assert len({known, *others}) == 3
