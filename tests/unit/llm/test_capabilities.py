"""What reaches the wire of what is asked, by the shipped providers file; no request is made."""

from pathlib import Path
from typing import Any

import pytest
from litellm.types.utils import CallTypes
from litellm.utils import return_raw_request

from judge_gym.errors import ConfigError
from judge_gym.llm.capabilities import Capabilities, fitted, taken_by, taught, unapplied
from judge_gym.llm.providers import Providers, load_providers
from judge_gym.records.calls import Parameters, Request
from judge_gym.settings import REPOSITORY

SHIPPED = load_providers(REPOSITORY / "deployments" / "providers.toml")
NAMES = {"topP": "top_p", "maxOutputTokens": "max_tokens", "max_output_tokens": "max_tokens",
         "random_seed": "seed", "num_predict": "max_tokens"}  # fmt: skip
ROOM = 16_384


def request(
    model: str, temperature: float, top_p: float, providers: Providers = SHIPPED
) -> Request:
    asked = Parameters(temperature, top_p, 1000, seed=7).asked()
    return fitted(model, asked, taken_by(providers, model))


def on_the_wire(model: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the sampling fields of the body that litellm would send, by our names."""
    provider, _, name = model.partition("/")
    messages = [{"role": "user", "content": "Hello?"}]
    given = {"model": f"{SHIPPED.by_name[provider].litellm or provider}/{name}", **parameters}
    raw = return_raw_request(CallTypes.completion, {**given, "messages": messages})
    assert "raw_request_body" in raw, raw
    body: dict[str, Any] = raw["raw_request_body"] or {}
    fields = {**body, **body.get("generationConfig", {}), **body.get("options", {})}
    renamed = {NAMES.get(key, key): value for key, value in fields.items()}
    return {key: renamed[key] for key in sorted(renamed) if key in
            ("temperature", "top_p", "seed", "max_tokens", "max_completion_tokens")}  # fmt: skip


@pytest.mark.parametrize(
    ("model", "asked", "sent", "not_applied"),
    [
        # Everything is taken, and nothing left out, though it may be a default.
        ("openai/gpt-4.1", (1, 1),
         {"temperature": 1, "top_p": 1, "seed": 7, "max_tokens": 1000}, ()),
        ("local/mine", (1, 1), {"temperature": 1, "top_p": 1, "seed": 7, "max_tokens": 1000}, ()),
        ("ollama/qwen3", (0, 1), {"temperature": 0, "top_p": 1, "seed": 7, "max_tokens": 1000}, ()),
        # Of two that exclude each other the one at its documented default is left out.
        ("anthropic/claude-sonnet-4-5", (0, 1), {"temperature": 0, "max_tokens": 1000}, ("seed",)),
        ("anthropic/claude-opus-4-1", (1, 0.9), {"top_p": 0.9, "max_tokens": 1000}, ("seed",)),
        ("anthropic/claude-sonnet-4-6", (1, 1), {"temperature": 1, "max_tokens": 1000}, ("seed",)),
        # A fixed value that is asked for is applied; any other is not.
        ("anthropic/claude-opus-4-7", (1, 1), {"max_tokens": 1000}, ("seed",)),
        ("anthropic/claude-opus-4-7", (0, 1), {"max_tokens": 1000}, ("seed", "temperature")),
        ("openai/gpt-5-mini", (1, 1), {"seed": 7, "max_completion_tokens": 1000 + ROOM}, ()),
        ("openai/gpt-5-mini", (0, 0.9), {"seed": 7, "max_completion_tokens": 1000 + ROOM},
         ("temperature", "top_p")),
        ("openai/o4-mini", (0, 1), {"seed": 7, "max_completion_tokens": 1000 + ROOM},
         ("temperature",)),
        ("gemini/gemini-2.5-flash", (0, 1),
         {"temperature": 0, "top_p": 1, "seed": 7, "max_tokens": 1000 + ROOM}, ()),
        ("gemini/gemini-2.5-flash-lite", (0, 1),
         {"temperature": 0, "top_p": 1, "seed": 7, "max_tokens": 1000}, ()),
        # litellm adds Gemini 3's own default.
        ("gemini/gemini-3.6-flash", (0, 1),
         {"temperature": 1, "seed": 7, "max_tokens": 1000 + ROOM}, ("temperature", "top_p")),
        ("deepseek/deepseek-reasoner", (0, 1), {"seed": 7, "max_tokens": 1000 + ROOM},
         ("temperature", "top_p")),
        ("mistral/magistral-medium-latest", (0, 1),
         {"temperature": 0, "top_p": 1, "seed": 7, "max_tokens": 1000 + ROOM}, ()),
    ],
)  # fmt: skip
def test_what_a_model_takes_is_sent_and_the_rest_is_named(
    model: str, asked: tuple[float, float], sent: dict[str, Any], not_applied: tuple[str, ...]
) -> None:
    made = request(model, *asked)
    assert on_the_wire(model, made.parameters) == sent
    assert made.not_applied == not_applied
    assert made.limit == max(sent.get("max_tokens", 0), sent.get("max_completion_tokens", 0))


def test_two_values_that_exclude_each_other_are_an_error_that_names_them() -> None:
    with pytest.raises(ConfigError, match=r"claude-sonnet-4-5 .*temperature 0.2 and top_p 0.9"):
        request("anthropic/claude-sonnet-4-5", 0.2, 0.9)
    # Older ones take both.
    assert "top_p" in request("anthropic/claude-3-7-sonnet-20250219", 0.2, 0.9).parameters


def test_a_users_file_corrects_the_list(tmp_path: Path) -> None:
    file = tmp_path / "providers.toml"
    file.write_text(
        "[anthropic]\ndefaults = {temperature = 1}\n"
        'models."claude-*" = {refuses = ["seed"], thinking_tokens = 500}\n'
        'models."claude-opus-9" = {refuses = ["seed", "temperature"], exclusive = ["top_p"]}\n'
    )
    mine = load_providers(file)
    assert request("anthropic/claude-sonnet-4-5", 0.2, 0.9, mine).parameters == {
        "temperature": 0.2, "top_p": 0.9, "max_tokens": 1500,
    }  # fmt: skip
    assert request("anthropic/claude-opus-9", 0, 0.9, mine).not_applied == ("seed", "temperature")
    file.write_text('[anthropic]\nmodels."x" = {refuses = ["temprature"]}\n')
    with pytest.raises(ConfigError, match=r"models\.x\.refuses\.0.*'temperature'"):
        load_providers(file)


def test_the_limit_stays_within_what_a_model_can_write() -> None:
    taken = Capabilities(thinking_tokens=16_000, longest_output=8_192)
    assert fitted("m", {"max_tokens": 1000}, taken).limit == 8_192
    assert fitted("m", {"max_tokens": 9_000}, taken).limit == 9_000


ASKED = {"temperature": 0, "top_p": 1, "max_tokens": 50, "seed": 7}
DEFAULTS = Capabilities(defaults={"temperature": 1, "top_p": 1})


@pytest.mark.parametrize(
    ("message", "named", "without", "not_applied"),
    [
        ("Unsupported value: 'temperature' does not support 0 with this model. Only the default "
         "(1) value is supported.", "temperature", {"temperature"}, ("temperature",)),
        ("`temperature` is deprecated for this model.", None, {"temperature"}, ("temperature",)),
        ("top_p: Extra inputs are not permitted", None, {"top_p"}, ()),
        ("`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
         None, {"top_p"}, ()),
        ('Unknown name "seed" at \'generation_config\': Cannot find field.', None, {"seed"},
         ("seed",)),
        ("Unsupported parameter: 'max_tokens' is not supported with this model. Use "
         "'max_completion_tokens' instead.", "max_tokens", {"max_tokens"}, ()),
    ],
)  # fmt: skip
def test_a_refusal_that_names_a_parameter_teaches(
    message: str, named: str | None, without: set[str], not_applied: tuple[str, ...]
) -> None:
    again = fitted("m", ASKED, taught(message, named, ASKED, DEFAULTS))
    assert ASKED.keys() - again.parameters.keys() == without
    assert again.not_applied == not_applied
    assert again.limit == 50


@pytest.mark.parametrize(
    "message",
    [
        "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens",
        "temperature: range: 0..1",
        "This model does not support images.",
        "An unknown error happened.",
    ],
)
def test_any_other_refusal_teaches_nothing(message: str) -> None:
    assert taught(message, None, ASKED, DEFAULTS) is DEFAULTS


def test_planning_names_model_parameter_and_values() -> None:
    model = "openai/gpt-5-mini"
    asked = [{"temperature": value, "top_p": 1, "max_tokens": 9} for value in (0.5, 1, 0)]
    (told,) = unapplied(model, asked, taken_by(SHIPPED, model))
    assert told == f"{model} does not apply temperature 0, 0.5: it uses its default, 1."
