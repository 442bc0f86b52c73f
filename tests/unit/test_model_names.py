"""Names of models: which served name is that of the model asked for."""

import pytest

from judge_gym.model_names import Answered

EQUAL = {
    "openai/gpt-4.1-mini": ("gpt-4.1-mini", "gpt-4.1-mini-2025-04-14"),
    "openai/gpt-4": ("gpt-4-0613",),
    "anthropic/claude-3-5-haiku-latest": ("claude-3-5-haiku-20241022", "claude-3-5-haiku-latest"),
    "gemini/gemini-2.0-flash": ("gemini-2.0-flash-001", "models/gemini-2.0-flash"),
    "gemini/gemini-2.5-flash": ("gemini-2.5-flash-preview-05-20",),
    "vertex_ai/claude-sonnet-4": ("claude-sonnet-4@20250514",),
    "vllm/qwen2.5-7b-instruct": ("Qwen/Qwen2.5-7B-Instruct", "/models/qwen2.5-7b-instruct/"),
    "ollama/llama3": ("llama3:latest",),
}
OTHER = {
    "vllm/qwen2.5-7b-instruct": ("another-model", "qwen2.5-7b"),
    "openai/gpt-4": ("gpt-4.1", "gpt-4-32k", "gpt-4o-2024-08-06"),
    "openai/gpt-4.1-mini-2025-04-14": ("gpt-4.1-mini", "gpt-4.1-mini-2025-10-14"),
    "groq/llama-3": ("llama-3-70b", "llama-3-405b"),
}


@pytest.mark.parametrize(
    ("model", "served"), [(model, name) for model, names in EQUAL.items() for name in names]
)
def test_the_name_or_a_dated_version_of_it_is_no_other_model(model: str, served: str) -> None:
    assert str(Answered(model, [served])) == model
    assert Answered(model, [served]).note() == ""


@pytest.mark.parametrize(
    ("model", "served"), [(model, name) for model, names in OTHER.items() for name in names]
)
def test_any_other_name_is_told_with_the_one_asked_for(model: str, served: str) -> None:
    answered = Answered(model, [served])
    for text in (str(answered), answered.note()):
        assert model in text
        assert served in text


def test_two_versions_are_a_mixture_and_no_name_is_nothing_to_tell() -> None:
    both = Answered("openai/gpt-4", ["gpt-4-0314", "gpt-4-0613"])
    assert "gpt-4-0314 and gpt-4-0613" in both.note()
    assert "mixture" in both.note()
    assert not Answered("vllm/a").differs
